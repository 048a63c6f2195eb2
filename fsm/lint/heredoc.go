package lint

import (
	"slices"
	"strings"
)

// A heredocTag is a here-document that a line asks for.
type heredocTag struct {
	tag             string
	quoted, tabless bool
	program         *interpreter // reads it as its program; nil = none does
}

// An interpreter reads a program from its standard input.
type interpreter struct {
	name     string
	variable string // how a program reads an environment variable, with NAME for it
	inline   string // the flags behind which a program stands, so that it reads none from standard input
}

var interpreters = []interpreter{
	{"python", `os.environ["NAME"]`, "-c -m"},
	{"node", "process.env.NAME", "-e -p --eval --print"},
	{"ruby", `ENV["NAME"]`, "-e"},
	{"perl", "$ENV{NAME}", "-e -E -n -p"},
	{"php", `getenv("NAME")`, "-r"},
}

// programOf returns the interpreter that a command starts with its standard input as the program: python3,
// python3.12 -u -, not python3 convert.py.
func programOf(command string) *interpreter {
	words := strings.Fields(command)
	for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "env" || words[0] == "exec") {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	name := strings.TrimRight(words[0][strings.LastIndexByte(words[0], '/')+1:], "0123456789.")
	i := slices.IndexFunc(interpreters, func(p interpreter) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	for _, w := range words[1:] {
		switch {
		case w == "-":
			return &interpreters[i]
		case strings.HasPrefix(w, ">"), strings.HasPrefix(w, "2>"):
			return &interpreters[i]
		case !strings.HasPrefix(w, "-"), slices.Contains(strings.Fields(interpreters[i].inline), w):
			return nil
		}
	}
	return &interpreters[i]
}

// skipComment passes a comment; templates in it expand all the same.
func (s *scanner) skipComment() {
	end := len(s.text)
	if n := strings.IndexByte(s.text[s.i:], '\n'); n >= 0 {
		end = s.i + n
	}
	s.plain(end, comment, nil)
}

// plain marks the templates up to end, which bash takes as they are in one way.
func (s *scanner) plain(end int, q quoting, program *interpreter) {
	for len(s.refs) > 0 && s.refs[0].Offset < end {
		if s.refs[0].Offset >= s.i {
			s.marks = append(s.marks, mark{offset: s.refs[0].Offset, ref: &s.refs[0], quoting: q, program: program})
		}
		s.refs = s.refs[1:]
	}
	if q == heredoc {
		for i := s.i; i+1 < end; i++ {
			if s.text[i] == '$' && s.text[i+1] == '$' {
				s.marks = append(s.marks, mark{offset: i, quoting: q})
				i++
			}
		}
	}
	s.i, s.word = end, -1
}

var unquoter = strings.NewReplacer(`'`, "", `"`, "", `\`, "")

// redirect passes < and notes a here-document that begins on the next line.
func (s *scanner) redirect(f *frame) {
	rest := s.text[s.i:]
	switch {
	case strings.HasPrefix(rest, "<<<"):
		s.i += 3
		return
	case !strings.HasPrefix(rest, "<<") || f.kind == inArith:
		s.i++
		return
	}
	h := heredocTag{program: programOf(s.text[f.command:s.i])}
	s.i += 2
	if s.i < len(s.text) && s.text[s.i] == '-' {
		h.tabless = true
		s.i++
	}
	for s.i < len(s.text) && (s.text[s.i] == ' ' || s.text[s.i] == '\t') {
		s.i++
	}
	start := s.i
	for s.i < len(s.text) && !isBlank(s.text[s.i]) && strings.IndexByte(";&|()<>", s.text[s.i]) < 0 {
		s.i++
	}
	word := s.text[start:s.i]
	h.tag = unquoter.Replace(word)
	h.quoted = h.tag != word
	if h.tag != "" {
		s.pending = append(s.pending, h)
	}
}

// heredocs passes the here-documents that the line before asked for.
func (s *scanner) heredocs() {
	for _, h := range s.pending {
		end := s.i
		for end < len(s.text) {
			line, _, more := strings.Cut(s.text[end:], "\n")
			next := end + len(line)
			if more {
				next++
			}
			if h.tabless {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.tag {
				q := heredoc
				if h.quoted {
					q = literal
				}
				s.plain(end, q, h.program)
				s.i = next
				end = -1
				break
			}
			end = next
		}
		if end >= 0 { // no end: bash takes all that is left
			q := heredoc
			if h.quoted {
				q = literal
			}
			s.plain(len(s.text), q, h.program)
		}
	}
	s.pending = s.pending[:0]
}

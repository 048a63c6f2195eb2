package lint

import (
	"strings"

	"loops/fsm/expr"
)

// A quoting is how bash takes the text at a place of a script.
type quoting int

const (
	bare    quoting = iota // as code: in no quotes, or inside $(...) and `...`
	double                 // inside "..."
	single                 // inside '...' or $'...'
	heredoc                // in a here-document that bash expands
	literal                // in a here-document with a quoted delimiter
	comment
	arith // in $((...))
)

// A mark is a place of a script that rules care about: a template, or two dollar signs.
type mark struct {
	offset  int
	ref     *expr.Reference // nil for $$
	quoting quoting
	inline  bool         // inside a text that follows -c or -e: the program of an interpreter
	command bool         // the template is, or begins, the name of a command
	program *interpreter // of a here-document that an interpreter reads as its program; nil = it is another, or none
}

type frameKind int

const (
	inScript   frameKind = iota
	inParens             // (...) and $(...)
	inArith              // $((...))
	inBacktick           // `...`
	inParam              // ${...} of bash, which a loop file writes $${...}
	inDouble             // "..."
	inSingle             // '...'
	inDollar             // $'...'
)

type frame struct {
	kind   frameKind
	at     int  // where it begins
	quoted bool // a parameter inside double quotes
	inline bool
	// substituted distinguishes $(...) from (...), which may be a pattern of case.
	substituted bool
	cases       int // case without its esac: a closing parenthesis may end a pattern
	command     int // where the command begins whose words are read
}

// A piece is where a command begins, or what ends one, outside of all parentheses and quotations.
type piece struct {
	at int
	op byte // one of ; & | ( and a line end; 0 = a command begins
}

// A scanner reads a bash script far enough to know what is quoted. It never fails: what it cannot make sense of
// is code.
type scanner struct {
	text    string
	refs    []expr.Reference // of text, in order
	stack   []frame
	pending []heredocTag
	marks   []mark
	pieces  []piece
	i       int
	word    int  // where the word at i begins; -1 between words
	begun   bool // a command has begun: what comes next is an argument
	head    bool // the word is where a command begins
}

// scan returns the marks of a script, in order. The refs are those of the text.
func scan(text string, refs []expr.Reference) []mark { return scanAll(text, refs).marks }

// openQuote returns where the quotation begins that is open at the end of the script; -1 if none is.
func (s *scanner) openQuote() int {
	for _, f := range s.stack {
		if f.kind == inDouble || f.kind == inSingle || f.kind == inDollar {
			return f.at
		}
	}
	return -1
}

// scanAll reads a script to its end.
func scanAll(text string, refs []expr.Reference) *scanner {
	s := &scanner{text: text, refs: refs, stack: []frame{{}}, word: -1}
	for s.i < len(text) {
		if text[s.i] == '$' && s.template() {
			continue
		}
		f := &s.stack[len(s.stack)-1]
		switch f.kind {
		case inSingle:
			switch text[s.i] {
			case '\'':
				s.pop()
				s.i++
			case '$':
				s.i++
			default:
				s.skip("'$")
			}
		case inDollar:
			switch text[s.i] {
			case '\\':
				s.i++
			case '\'':
				s.pop()
			}
			s.i++
		case inDouble:
			s.inQuotes()
		case inParam:
			if text[s.i] == '}' {
				s.pop()
				s.i++
			} else if f.quoted {
				s.inQuotes()
			} else {
				s.inCode()
			}
		default:
			s.inCode()
		}
	}
	return s
}

func (s *scanner) push(k frameKind) {
	top := s.stack[len(s.stack)-1]
	f := frame{kind: k, at: s.i}
	switch k {
	case inParam:
		f.quoted = top.kind == inDouble || top.kind == inParam && top.quoted
		f.inline = top.inline
	case inDouble, inSingle, inDollar:
		f.inline = s.afterFlag()
	}
	s.stack = append(s.stack, f)
}

func (s *scanner) pop() { s.stack = s.stack[:len(s.stack)-1] }

// afterFlag reports whether the word before the one at i is -c or -e, with other letters before it.
func (s *scanner) afterFlag() bool {
	before := strings.TrimRight(s.text[max(0, s.i-64):s.i], " \t")
	if len(before) == 0 || s.i > 0 && s.text[s.i-1] != ' ' && s.text[s.i-1] != '\t' {
		return false
	}
	word := before[strings.LastIndexAny(before, " \t\n;|&(")+1:]
	return len(word) > 1 && len(word) < 5 && word[0] == '-' && word[1] != '-' &&
		(strings.HasSuffix(word, "c") || strings.HasSuffix(word, "e"))
}

func (s *scanner) quoting() (q quoting, inline bool) {
	f := s.stack[len(s.stack)-1]
	switch f.kind {
	case inDouble:
		return double, f.inline
	case inSingle, inDollar:
		return single, f.inline
	case inParam:
		if f.quoted {
			return double, f.inline
		}
	}
	for k := len(s.stack) - 1; k >= 0 && (s.stack[k].kind == inParens || s.stack[k].kind == inArith); k-- {
		if s.stack[k].kind == inArith {
			return arith, false
		}
	}
	return bare, false
}

// template passes a template, which expands before bash sees the script.
func (s *scanner) template() bool {
	for len(s.refs) > 0 && s.refs[0].Offset < s.i {
		s.refs = s.refs[1:]
	}
	if len(s.refs) == 0 || s.refs[0].Offset != s.i {
		return false
	}
	q, inline := s.quoting()
	s.marks = append(s.marks,
		mark{offset: s.i, ref: &s.refs[0], quoting: q, inline: inline, command: q == bare && !s.begun && s.word < 0})
	if s.word < 0 {
		s.beginWord()
	}
	s.i += len(s.refs[0].Text)
	return true
}

// dollar passes what a dollar sign begins, inside or outside of double quotes.
func (s *scanner) dollar() {
	rest := s.text[s.i:]
	switch {
	case strings.HasPrefix(rest, "$${"):
		s.i += 3
		s.push(inParam)
	case strings.HasPrefix(rest, "$$"):
		q, inline := s.quoting()
		s.marks = append(s.marks, mark{offset: s.i, quoting: q, inline: inline})
		s.i += 2
	case strings.HasPrefix(rest, "$(("):
		s.i += 3
		s.push(inArith)
	case strings.HasPrefix(rest, "$("):
		s.i += 2
		s.push(inParens)
		s.stack[len(s.stack)-1].substituted = true
		s.word, s.begun = -1, false
	case strings.HasPrefix(rest, "$'") && s.stack[len(s.stack)-1].kind != inDouble:
		s.push(inDollar)
		s.i += 2
	default:
		s.i++
	}
}

func (s *scanner) inQuotes() {
	switch s.text[s.i] {
	case '\\':
		s.i += 2
	case '"':
		if s.stack[len(s.stack)-1].kind == inDouble {
			s.pop()
		}
		s.i++
	case '`':
		s.i++
		s.push(inBacktick)
		s.word, s.begun = -1, false
	case '$':
		s.dollar()
	default:
		s.skip("\\\"`$}")
	}
}

// skip moves ahead to the next of these characters.
func (s *scanner) skip(until string) {
	if n := strings.IndexAny(s.text[s.i+1:], until); n >= 0 {
		s.i += 1 + n
	} else {
		s.i = len(s.text)
	}
}

func (s *scanner) inCode() {
	f := &s.stack[len(s.stack)-1]
	c := s.text[s.i]
	if class[c] != 0 {
		s.endWord(f)
		if class[c] == endsCommand && !s.duplicates() {
			s.begun = false
			if len(s.stack) == 1 {
				s.pieces = append(s.pieces, piece{s.i, c})
			}
		}
	} else if s.word < 0 {
		if c == '#' && f.kind != inArith && f.kind != inParam {
			s.skipComment()
			return
		}
		s.beginWord()
	}
	switch c {
	case '\\':
		s.i += 2
	case '\'':
		s.push(inSingle)
		s.i++
	case '"':
		s.push(inDouble)
		s.i++
	case '`':
		if f.kind == inBacktick {
			s.pop()
			s.begun = true
		} else {
			s.push(inBacktick)
		}
		s.i++
	case '$':
		s.dollar()
	case '(':
		s.push(inParens)
		s.i++
	case ')':
		switch {
		case f.kind == inParens && f.cases == 0:
			pattern := !f.substituted && len(s.stack) > 1 && s.stack[len(s.stack)-2].cases > 0
			s.pop()
			s.i++
			s.begun = !pattern // what was substituted is a word, or a part of one
		case f.kind == inArith:
			s.pop()
			if s.i++; s.i < len(s.text) && s.text[s.i] == ')' {
				s.i++
			}
			s.begun = true
		default:
			s.i++
		}
	case '<':
		s.redirect(f)
	case '\n':
		s.i++
		s.heredocs()
	default:
		s.i++
		for s.word >= 0 && s.i < len(s.text) && isWord(s.text[s.i]) {
			s.i++
		}
	}
}

const (
	endsWord    = 1
	endsCommand = 2
)

// class says which characters end a word, and which the command too.
var class = func() (t [256]byte) {
	for _, c := range []byte(" \t\r<>") {
		t[c] = endsWord
	}
	for _, c := range []byte("\n;&|()`") {
		t[c] = endsCommand
	}
	return t
}()

// isWord reports whether a character means nothing to bash inside a word.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' ||
		c == '/' || c >= 0x80
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// duplicates reports whether the character is the & of a redirection: of >&, <& or &>.
func (s *scanner) duplicates() bool {
	if s.text[s.i] != '&' {
		return false
	}
	before, after := byte(0), byte(0)
	if s.i > 0 {
		before = s.text[s.i-1]
	}
	if s.i+1 < len(s.text) {
		after = s.text[s.i+1]
	}
	return before == '>' || before == '<' || after == '>'
}

func (s *scanner) beginWord() {
	s.word, s.head, s.begun = s.i, !s.begun, true
	if s.head {
		s.stack[len(s.stack)-1].command = s.i
	}
	if s.head && len(s.stack) == 1 {
		s.pieces = append(s.pieces, piece{at: s.i})
	}
}

func (s *scanner) endWord(f *frame) {
	if s.word >= 0 && s.head {
		switch s.text[s.word:s.i] {
		case "case":
			f.cases++
		case "esac":
			f.cases = max(0, f.cases-1)
		case "if", "then", "else", "elif", "while", "until", "do", "!", "{":
			s.begun = false
		}
	}
	s.word = -1
}

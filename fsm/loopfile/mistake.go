package loopfile

import (
	"strings"
	"unicode/utf8"

	"loops/fsm/pyregexp"
)

// A mistake is what is wrong in a line that the YAML parser does not take. The parser says where the construct began
// that it could not finish; an author needs the character that made it so.
type mistake struct {
	line int // from 1
	at   int // byte in the line
	what string
}

// col is the column of the mistake in its line, from 1.
func (m *mistake) col(line string) int { return utf8.RuneCountInString(line[:m.at]) + 1 }

var (
	keyStart     = pyregexp.Lazy(`^[ ]*(?:- +)*[^\s'"\[\]{}#&*!|>%@,?:` + "`" + `-][^:#'"\[\]{}]*:(?: +|$)`)
	noSpace      = pyregexp.Lazy(`^[ ]*(?:- +)?[A-Za-z_][A-Za-z0-9_-]*(:)[^\s:/].*$`)
	blockHead    = pyregexp.Lazy(`(?:^|: +|- +)[|>][-+0-9]*\s*(?:#.*)?$`)
	blockStart   = pyregexp.Lazy(`^[|>][-+0-9]*`)
	afterBlock   = pyregexp.Lazy(`^\s*(?:#.*)?$`)
	anchorName   = pyregexp.Lazy(`^[A-Za-z0-9_-]+(?:[\s,\]}]|$)`)
	flowFollower = pyregexp.Lazy(`^\s*(?:[,\]}:]|#|$)`)
)

// mistakeIn looks for what is wrong with line number at, with a scanner of its own; nil if it finds nothing.
// The lines after it are looked at as far as they belong to the same brackets. The line is known not to go with
// those above it, which do parse.
func mistakeIn(lines []string, at int) *mistake {
	line := lines[at-1]
	if len(line) > maxLine {
		return nil
	}
	// What is below | must be deeper than its key.
	if above := lastText(lines, at-1); above > 0 && blockHead().MatchString(lines[above-1]) &&
		indentOf(line) <= indentOf(lines[above-1]) {
		return &mistake{at, indentOf(line), "the lines of a text after | or > must be indented deeper than its key"}
	}
	s := lineScanner{line: line}
	if start := keyStart().FindString(line); start != "" {
		s.value(len(start))
	} else {
		s.first()
	}
	row := at
	for ; s.what == "" && len(s.open) > 0 && row < len(lines) && len(lines[row]) <= maxLine; row++ {
		s.line = lines[row]
		s.flow(0)
	}
	if s.what != "" {
		return &mistake{row, s.at, s.what}
	}
	for n := at; n > 0 && n >= at-1; n-- {
		if m := noSpace().FindStringSubmatchIndex(lines[n-1]); m != nil && keyStart().FindString(lines[n-1]) == "" {
			return &mistake{n, m[2], "a space is missing after the colon"}
		}
	}
	return nil
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// lastText is the number of the last of the first n lines that is not empty, or 0.
func lastText(lines []string, n int) int {
	for n > 0 && len(lines[n-1]) <= maxLine && strings.TrimSpace(lines[n-1]) == "" {
		n--
	}
	return n
}

// mostRows is how many lines of one [...] or {...} are looked at.
const mostRows = 1000

// A lineScanner looks through one line up to the first mistake.
type lineScanner struct {
	line string
	at   int
	what string

	// Inside brackets, which may span lines:
	open  []byte // the brackets
	fresh bool   // at the start of an entry or of a value
	pair  bool   // behind the colon of an entry
}

func (s *lineScanner) fail(at int, what string) {
	if s.what == "" {
		s.at, s.what = at, what
	}
}

// first scans a line that does not begin with a plain key.
func (s *lineScanner) first() {
	i := indentOf(s.line)
	for strings.HasPrefix(s.line[i:], "- ") {
		i++
		i += indentOf(s.line[i:])
	}
	if i < len(s.line) && strings.IndexByte(`'"`, s.line[i]) >= 0 {
		end := s.quoted(i)
		if end > 0 && strings.HasPrefix(s.line[end:], ":") {
			end++
			s.value(end + indentOf(s.line[end:]))
			return
		}
	}
	if i < len(s.line) && strings.IndexByte("'\"{[*&@`%", s.line[i]) >= 0 {
		s.value(i)
	}
}

// value scans a value that begins at byte i and ends with the line.
func (s *lineScanner) value(i int) {
	if i >= len(s.line) || s.what != "" {
		return
	}
	switch c := s.line[i]; c {
	case '\'', '"':
		end := s.quoted(i)
		if end < 0 {
			return
		}
		if rest := strings.TrimLeft(s.line[end:], " \t"); rest != "" && rest[0] != '#' {
			s.goesOn(c, end, len(s.line)-len(rest))
		}
	case '{', '[':
		s.flow(i)
	case '|', '>':
		end := i + len(blockStart().FindString(s.line[i:]))
		if rest := s.line[end:]; !afterBlock().MatchString(rest) {
			s.fail(end+indentOf(rest),
				"the text after "+s.line[i:end]+" begins on the next line, indented; for a text in one "+
					"line leave the "+s.line[i:end]+" out, or put it all in quotes")
		}
	default:
		if s.plainStart(i) {
			s.plain(i)
		}
	}
}

// plainStart reports whether a plain text may begin at byte i.
func (s *lineScanner) plainStart(i int) bool {
	rest := s.line[i+1:]
	switch c := s.line[i]; {
	case (c == '*' || c == '&') && anchorName().MatchString(rest):
		return false // an alias or an anchor
	case c == '*':
		s.fail(i, "a plain text cannot begin with *, which makes an alias of it; put the text in quotes")
	case c == '&':
		s.fail(i, "a plain text cannot begin with &, which makes an anchor of it; put the text in quotes")
	case c == '@' || c == '`' || c == '%' || c == ',' || c == ']' || c == '}':
		s.fail(i, "a plain text cannot begin with "+string(c)+"; put the text in quotes")
	case c == '-' && strings.HasPrefix(rest, " "):
		s.fail(i, "a list cannot begin on the line of its key; begin a line with it, or put a text in quotes")
	case c == '!' || c == '#':
		return false
	default:
		return true
	}
	return false
}

// plain scans a plain text outside brackets.
func (s *lineScanner) plain(i int) {
	text := s.line[i:]
	if j := strings.Index(text, " #"); j >= 0 {
		text = text[:j]
	}
	j := strings.Index(text, ": ")
	if trimmed := strings.TrimRight(text, " \t"); j < 0 && strings.HasSuffix(trimmed, ":") {
		j = len(trimmed) - 1
	}
	if j >= 0 {
		s.fail(i+j, "a colon followed by a space is inside a plain text; put the text in quotes or use |")
	}
}

// quoted returns the byte after the quotation that begins at i, or -1 if it does not end in this line.
func (s *lineScanner) quoted(i int) int {
	quote := s.line[i]
	for j := i + 1; j < len(s.line); j++ {
		switch c := s.line[j]; {
		case c == '\\' && quote == '"':
			if j+1 < len(s.line) && strings.IndexByte("0abt\tnvfre \"/\\N_LPxuU", s.line[j+1]) < 0 {
				s.fail(j, "there is no escape "+clipEscape(s.line[j:])+" in double quotes; use single quotes or |")
				return -1
			}
			j++
		case c == quote && quote == '\'' && strings.HasPrefix(s.line[j+1:], "'"):
			j++
		case c == quote:
			return j + 1
		}
	}
	return -1
}

func clipEscape(s string) string {
	_, size := utf8.DecodeRuneInString(s[1:])
	return s[:1+size]
}

// goesOn reports that there is more after a quotation that ended before byte end.
func (s *lineScanner) goesOn(quote byte, end, next int) {
	if quote == '\'' {
		s.fail(end-1, "this ' ended the text; write '' for an apostrophe inside it, or use |")
		return
	}
	s.fail(next, `the text continues after the closing "; put all of it in single quotes or use |`)
}

// flow scans a list [...] or a mapping {...} that begins at byte i, or continues there. It forgets the brackets
// where it cannot determine what follows.
func (s *lineScanner) flow(i int) {
	for s.what == "" && i < len(s.line) {
		c := s.line[i]
		switch {
		case c == ' ' || c == '\t':
			i++
		case c == '#' && (i == 0 || s.line[i-1] == ' '):
			return
		case c == '{' || c == '[':
			s.open = append(s.open, c)
			s.fresh, s.pair = true, false
			i++
		case c == '}' || c == ']':
			opener := s.open[len(s.open)-1]
			if (c == '}') != (opener == '{') {
				s.fail(i, "this "+string(c)+" closes what a "+string(opener)+" opened")
				return
			}
			s.open = s.open[:len(s.open)-1]
			i++
			if len(s.open) == 0 {
				s.afterFlow(opener, i)
				return
			}
			s.fresh = false
		case c == ',':
			s.fresh, s.pair = true, false
			i++
		case c == '\'' || c == '"':
			end := s.quoted(i)
			if end < 0 {
				s.open = nil
				return
			}
			if !flowFollower().MatchString(s.line[end:]) {
				s.goesOn(c, end, end+indentOf(s.line[end:]))
			}
			s.fresh = false
			i = end
		case c == ':':
			if s.pair {
				s.fail(i, "a colon followed by a space is inside a plain text; put the text in quotes")
			}
			s.fresh, s.pair = true, true
			i++
		case s.fresh:
			if !s.plainStart(i) {
				s.open = nil
				return
			}
			i = s.flowPlain(i, s.open[len(s.open)-1] == '[')
			s.fresh = false
		default:
			s.open = nil
			return // nothing this scanner knows
		}
	}
}

// flowPlain scans a plain text inside brackets and returns where it ends.
func (s *lineScanner) flowPlain(start int, list bool) int {
	for i := start; i < len(s.line); i++ {
		switch c := s.line[i]; {
		case c == '{' || c == '[':
			at := i
			if i > start && s.line[i-1] == '$' {
				at--
			}
			s.fail(at, "inside {...} and [...] a "+string(c)+" begins a "+
				map[byte]string{'{': "mapping", '[': "list"}[c]+"; put the text in quotes")
			return i
		case c == '?' && list && i > start:
			s.fail(start, "inside [...] a text that holds ? must be put in quotation marks")
			return i
		case c == ',' || c == '}' || c == ']',
			c == ':' && (i+1 == len(s.line) || strings.IndexByte(" \t,[]{}", s.line[i+1]) >= 0),
			c == '#' && i > start && s.line[i-1] == ' ':
			return i
		}
	}
	return len(s.line)
}

// afterFlow reports what follows the closing bracket of a value.
func (s *lineScanner) afterFlow(opener byte, i int) {
	rest := strings.TrimLeft(s.line[i:], " \t")
	if rest == "" || rest[0] == '#' || rest[0] == ':' {
		return
	}
	s.fail(len(s.line)-len(rest), "the text continues after the closing bracket; put a text that begins with "+
		string(opener)+" in quotes or use |")
}

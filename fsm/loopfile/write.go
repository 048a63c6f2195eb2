package loopfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// A writer writes a document as YAML that means the same to this package. It has few forms: mappings and lists in
// block style, short lists of words in brackets, and scalars plain where that is safe beyond doubt.
type writer struct {
	origins
	out     bytes.Buffer
	comment func(fsm.Pos) string // nil: none
}

func (w *writer) full() bool { return w.out.Len() > maxShown }

// end ends a line, with the origin of what is in it.
func (w *writer) end(n *yaml.Node) {
	if w.comment != nil {
		w.out.WriteString(w.comment(w.pos(n)))
	}
	w.out.WriteByte('\n')
}

func (w *writer) indent(n int) { w.out.WriteString(strings.Repeat(" ", n)) }

// mapping writes the keys of a mapping, one a line.
func (w *writer) mapping(n *yaml.Node, indent int) {
	for i, e := range w.plainEntries(n) {
		if i > 0 {
			w.indent(indent)
		}
		w.entry(e, indent)
		if w.full() {
			return
		}
	}
}

// plainEntries returns what a mapping holds; what is wrong with it has been said.
func (w *writer) plainEntries(n *yaml.Node) []entry {
	d := newDecoder(w.main, nil)
	d.origins = w.origins
	return d.entries(n, "")
}

func (w *writer) entry(e entry, indent int) {
	key := quoted(e.name)
	if plainWord(e.name) && isText(e.name) && !isBool(&yaml.Node{Kind: yaml.ScalarNode, Value: e.name}) {
		key = e.name
	}
	// A key of more than 1024 characters needs the long form.
	if len(key) > 1000 {
		fmt.Fprintf(&w.out, "? %s\n", key)
		w.indent(indent)
		key = ""
	}
	w.out.WriteString(key + ":")
	w.value(e.key, e.val, indent+2)
}

// value writes what comes after a key or a dash. A block has its origin in that of the key.
func (w *writer) value(key, n *yaml.Node, indent int) {
	n = deref(n)
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		w.out.WriteString(" {}")
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		w.out.WriteString(" []")
	case n.Kind == yaml.MappingNode:
		w.end(key)
		w.indent(indent)
		w.mapping(n, indent)
		return
	case n.Kind == yaml.SequenceNode:
		if words, ok := shortList(n); ok {
			w.out.WriteString(" [" + strings.Join(words, ", ") + "]")
			break
		}
		w.end(key)
		w.list(n, indent)
		return
	case blockText(n):
		w.block(n, indent)
		return
	default:
		w.out.WriteString(" " + scalarText(n))
	}
	w.end(n)
}

func (w *writer) list(n *yaml.Node, indent int) {
	for _, c := range n.Content {
		if w.full() {
			return
		}
		w.indent(indent)
		w.out.WriteByte('-')
		c = deref(c)
		if c.Kind == yaml.MappingNode && len(c.Content) > 0 {
			w.out.WriteByte(' ')
			w.mapping(c, indent+2)
			continue
		}
		w.value(c, c, indent+2)
	}
}

// shortList returns the entries of a list of a few plain words or numbers.
func shortList(n *yaml.Node) ([]string, bool) {
	length := 0
	var words []string
	for _, c := range n.Content {
		c = deref(c)
		if c.Kind != yaml.ScalarNode || len(c.Value) > 40 {
			return nil, false
		}
		s := scalarText(c)
		if length += len(s) + 2; length > 80 || s[0] == '!' {
			return nil, false
		}
		words = append(words, s)
	}
	return words, true
}

// block writes a text of several lines after |.
func (w *writer) block(n *yaml.Node, indent int) {
	body, chomp := strings.TrimSuffix(n.Value, "\n"), ""
	switch {
	case body == n.Value:
		chomp = "-"
	case strings.HasSuffix(body, "\n"):
		chomp = "+"
	}
	w.out.WriteString(" |" + chomp)
	w.end(n)
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.indent(indent)
			w.out.WriteString(line)
		}
		w.out.WriteByte('\n')
	}
}

// blockText reports whether a text can be written line by line.
func blockText(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" ||
		!strings.Contains(strings.TrimRight(n.Value, "\n"), "\n") {
		return false
	}
	if first := n.Value[0]; first == ' ' || first == '\t' || first == '\n' {
		return false
	}
	for line := range strings.SplitSeq(n.Value, "\n") {
		if line != "" && strings.TrimLeft(line, " \t") == "" {
			return false
		}
		for _, r := range line {
			if r != '\t' && !safeRune(r) {
				return false
			}
		}
	}
	return true
}

func safeRune(r rune) bool {
	return r == ' ' || r != unicode.ReplacementChar && r != '\ufeff' && unicode.IsPrint(r)
}

// scalarText writes a scalar on one line.
func scalarText(n *yaml.Node) string {
	tag := n.ShortTag()
	if n.Style == 0 {
		if tag != "!!str" && n.Value != "" {
			return n.Value
		}
		if plainWord(n.Value) && isText(n.Value) {
			return n.Value
		}
	}
	switch {
	case tag == "!!null" && n.Value == "":
		return "null"
	case tag == "!!str":
		return quoted(n.Value)
	case strings.HasPrefix(tag, "!"):
		return tag + " " + quoted(n.Value)
	}
	return "!<" + tag + "> " + quoted(n.Value)
}

// isText reports whether YAML takes what is there without quotation marks for a text.
func isText(s string) bool {
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: s}).ShortTag() == "!!str"
}

// plainWord reports whether a text means itself in YAML without quotation marks wherever it is, if it is a text.
func plainWord(s string) bool {
	if len(s) > 80 {
		return false
	}
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '/'
		if !letter && (i == 0 || c != ' ' && c != '.' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && s[len(s)-1] != ' '
}

// quoted writes a text in quotation marks.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case safeRune(r) || r == unicode.ReplacementChar:
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

package loopfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

const (
	maxDepth   = 100      // of mappings and lists, aliases followed
	maxNodes   = 200_000  // that aliases may stand for
	maxAliased = 64 << 20 // bytes of text that aliases may stand for
)

// document returns the mapping the text consists of. It reports what is no YAML, and YAML that would be too
// large or too deep with its aliases written out.
func (d *decoder) document() (*yaml.Node, bool) {
	if !utf8.Valid(d.main.data) {
		line, col := 1, 1
		for i := 0; i < len(d.main.data); {
			r, size := utf8.DecodeRune(d.main.data[i:])
			if r == utf8.RuneError && size <= 1 {
				break
			}
			if i += size; r == '\n' {
				line, col = line+1, 0
			}
			col++
		}
		d.errorf(fsm.Pos{File: d.main.name, Line: line, Col: col}, "", "encoding",
			"this is not UTF-8; save the file as UTF-8 text")
		return nil, false
	}
	start := fsm.Pos{File: d.main.name, Line: 1, Col: 1}
	if crowded(d.main.data) {
		d.errorf(start, "", "too-large", "this file may hold more than %d values; a loop file is some "+
			"kilobytes of YAML", maxValues)
		return nil, false
	}
	dec := yaml.NewDecoder(bytes.NewReader(d.main.data))
	var doc, second yaml.Node
	err := decode(dec, &doc)
	if errors.Is(err, io.EOF) {
		d.errorf(start, "", "empty", "the file is empty; expected %s", d.wanted())
		return nil, false
	}
	if err == nil {
		if err = decode(dec, &second); err == nil {
			pos := d.pos(&second)
			if len(second.Content) > 0 {
				pos = d.pos(second.Content[0])
			}
			d.errorf(pos, "", "yaml", "a second YAML document begins here; a loop file holds one loop")
			return nil, false
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		d.syntaxError(err, linesRead(d.main.data))
		return nil, false
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		d.errorf(start, "", "empty", "the file is empty; expected %s", d.wanted())
		return nil, false
	}
	if root.Kind != yaml.MappingNode {
		d.errorf(d.pos(root), "", "wrong-type", "expected %s, found %s", d.wanted(), describe(root))
		return nil, false
	}
	if !d.affordable(root) {
		return nil, false
	}
	d.tags(root)
	d.bodies(root)
	return root, true
}

// wanted returns what a file has to hold.
func (d *decoder) wanted() string {
	if IsSuite(d.main.name) {
		return "a mapping with cases"
	}
	return "a mapping with name, initial and states"
}

// decode reads one document. The parser reports misuse of itself by panicking; to a user a file that makes it
// do so is one that cannot be read.
func decode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return dec.Decode(n)
}

// linesRead returns how many lines a parser reads before it finds a mistake.
func linesRead(data []byte) int {
	reader := &lineReader{rest: data}
	dec := yaml.NewDecoder(reader)
	for {
		var n yaml.Node
		if decode(dec, &n) != nil {
			return reader.lines
		}
	}
}

// A lineReader hands out one line at a time, so that lines counts how far a parser had to read.
type lineReader struct {
	rest  []byte
	lines int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 || len(p) == 0 {
		return 0, io.EOF
	}
	line := r.rest[:min(len(p), len(r.rest))]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i+1]
		r.lines++
	}
	n := copy(p, line)
	if r.rest = r.rest[n:]; len(r.rest) == 0 && line[n-1] != '\n' {
		r.lines++
	}
	return n, nil
}

// syntaxError reports an error of the YAML parser. Its own positions are those of the construct it was in;
// what an author needs is the first line that does not go with those above it. That is the line after the
// longest run of lines that still parses.
func (d *decoder) syntaxError(err error, read int) {
	const tries = 400
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if _, after, found := strings.Cut(rest, ": "); found {
			text = after
		}
	}
	all := bytes.SplitAfter(d.main.data, []byte("\n"))
	at := max(1, min(read, len(all)))
	budget := 1 << 20 // bytes to parse again
	end := 0
	for _, l := range all[:at] {
		end += len(l)
	}
	for n := at; n > 0 && at-n < tries && budget > 0; n-- {
		end -= len(all[n-1])
		budget -= end
		var node yaml.Node
		if e := decode(yaml.NewDecoder(bytes.NewReader(d.main.data[:end])), &node); e == nil || errors.Is(e, io.EOF) {
			at = n
			break
		}
	}
	lines := make([]string, min(at+mostRows, len(all)))
	for i, l := range all[:len(lines)] {
		lines[i] = strings.TrimRight(string(l), "\r\n")
	}
	line := lines[at-1]
	if !unindentable(line) && !strings.Contains(text, "exceeded max depth") &&
		!strings.Contains(text, "control characters") {
		if m := mistakeIn(lines, at); m != nil {
			d.errorf(fsm.Pos{File: d.main.name, Line: m.line, Col: m.col(lines[m.line-1])}, "", "yaml", "%s", m.what)
			return
		}
	}
	d.errorf(fsm.Pos{File: d.main.name, Line: at, Col: faulty(text, line) + 1}, "", "yaml", "%s", explain(text, line))
}

// unindentable reports whether the line is wrong before its first word.
func unindentable(line string) bool {
	body := strings.TrimLeft(line, " ")
	return strings.HasPrefix(body, "\t") || strings.HasPrefix(line, "<<<<<<<") ||
		strings.HasPrefix(line, "=======") || strings.HasPrefix(line, ">>>>>>>")
}

// faulty is the byte of a line at which its value begins, for messages about the value, or its key.
func faulty(text, line string) int {
	if start := keyStart().FindString(line); !unindentable(line) && len(start) < len(line) {
		for _, about := range []string{
			"unexpected end of stream", "unknown anchor", "expected ',' or",
			"cannot start any token",
		} {
			if strings.Contains(text, about) {
				return utf8.RuneCountInString(line[:len(start)])
			}
		}
	}
	return indentOf(line)
}

// explain returns in plain language what a message of the YAML parser usually means.
func explain(text, line string) string {
	body := strings.TrimLeft(line, " ")
	what := ""
	switch {
	case strings.HasPrefix(body, "\t"):
		what = "a tab indents this line; YAML wants spaces"
	case strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, "=======") || strings.HasPrefix(line, ">>>>>>>"):
		what = "this is a mark of an unfinished merge"
	case strings.Contains(text, "mapping values are not allowed"):
		if _, after, _ := strings.Cut(line, ": "); strings.Contains(after+" ", ": ") {
			what = "a colon followed by a space is inside a plain text; put the text in quotes"
		} else {
			what = "this line does not fit the one above, which may lack a colon; or the indentation is wrong"
		}
	case strings.Contains(text, "unexpected end of stream"):
		what = "a quotation that begins here is never closed"
	case strings.Contains(text, "unknown anchor"):
		what = "an alias refers to an anchor that is not defined above"
	case strings.Contains(text, "cannot start any token"):
		what = "a plain text cannot begin with this character; put the text in quotes"
	case strings.Contains(text, "expected ',' or ']'") && strings.Contains(line, "?"):
		what = "inside [...] a text that holds ? must be put in quotation marks"
	case strings.Contains(text, "expected ',' or '}'") && strings.Contains(line, "??"):
		what = "inside {...} an expression with ?? must be put in quotation marks"
	case strings.Contains(text, "expected ',' or '}'") && strings.Contains(line, "?"):
		what = "inside {...} a text that holds ? must be put in quotation marks"
	case strings.Contains(text, "expected ',' or ']'"), strings.Contains(text, "expected ',' or '}'"):
		what = "a list [...] or mapping {...} that begins here has no end or lacks a comma"
	case strings.Contains(text, "could not find expected ':'"):
		what = "a key without a colon"
	case strings.Contains(text, "exceeded max depth"):
		return "lists and mappings are nested too deep"
	case strings.Contains(text, "did not find expected"):
		what = "this line does not fit the lines above; look for wrong indentation, a missing colon or a missing " +
			"quotation mark"
	case strings.Contains(text, "control characters"):
		what = "the line contains a control character"
	default:
		what = "this line cannot be read"
	}
	return fmt.Sprintf("%s (YAML: %s)", what, clip(text))
}

// affordable counts what the document comes to with its aliases written out.
func (d *decoder) affordable(root *yaml.Node) bool {
	c := counter{seen: map[*yaml.Node]extent{}}
	e := c.count(root, 1)
	switch {
	case c.loop != nil:
		d.errorf(d.pos(c.loop), "", "alias", "the alias *%s is inside what it refers to", clip(c.loop.Value))
	case e.depth > maxDepth:
		at := root
		if c.deep != nil {
			at = c.deep
		}
		d.errorf(d.pos(at), "", "too-deep", "mappings and lists are nested more than %d deep", maxDepth)
	case e.aliased > maxNodes || e.aliasedText > maxAliased:
		at, what := root, fmt.Sprintf("%d values", maxNodes)
		if c.alias != nil {
			at = c.alias
		}
		if e.aliased <= maxNodes {
			what = fmt.Sprintf("%d MiB of text", maxAliased>>20)
		}
		d.errorf(d.pos(at), "", "alias", "aliases make this document too large: more than %s", what)
	default:
		return true
	}
	return false
}

// An extent is the size of a subtree with its aliases written out.
type extent struct {
	nodes, aliased    int // aliased: those that stand there by alias
	text, aliasedText int // bytes
	depth             int
}

type counter struct {
	seen  map[*yaml.Node]extent // of what has an anchor; zero while it is being counted
	loop  *yaml.Node            // an alias inside its own anchor
	sum   extent                // of the aliases so far
	alias *yaml.Node            // the first that passed the limit
	deep  *yaml.Node            // the first node that passed it
}

func (c *counter) count(n *yaml.Node, depth int) extent {
	if depth > maxDepth+1 {
		return extent{nodes: 1, text: len(n.Value), depth: 1}
	}
	if n.Kind == yaml.AliasNode {
		e, known := c.seen[n.Alias]
		if known && e.depth == 0 {
			c.loop = n
			return extent{nodes: 1, depth: 1}
		}
		if !known {
			e = c.count(n.Alias, depth)
		}
		e.aliased += e.nodes
		e.aliasedText += e.text
		c.mark(n, &e)
		return e
	}
	if n.Anchor != "" {
		c.seen[n] = extent{}
	}
	e := extent{nodes: 1, text: len(n.Value), depth: 1}
	for _, child := range n.Content {
		s := c.count(child, depth+1)
		e.nodes = min(e.nodes+s.nodes, 1<<40)
		e.aliased = min(e.aliased+s.aliased, 1<<40)
		e.text = min(e.text+s.text, 1<<50)
		e.aliasedText = min(e.aliasedText+s.aliasedText, 1<<50)
		if s.depth+1 > e.depth {
			e.depth = s.depth + 1
		}
	}
	if depth == maxDepth+1 && c.deep == nil {
		c.deep = n
	}
	if n.Anchor != "" {
		c.seen[n] = e
	}
	return e
}

// mark remembers the alias at which a document becomes too large.
func (c *counter) mark(n *yaml.Node, e *extent) {
	c.sum.nodes = min(c.sum.nodes+e.nodes, 1<<40)
	c.sum.text = min(c.sum.text+e.text, 1<<50)
	if c.alias == nil && (max(c.sum.nodes, e.aliased) > maxNodes || max(c.sum.text, e.aliasedText) > maxAliased) {
		c.alias = n
	}
}

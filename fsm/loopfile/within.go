package loopfile

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// within returns the place of a byte of a scalar's value in its file; where that is not known, the place of
// the scalar.
func (o *origins) within(n *yaml.Node, offset int) fsm.Pos {
	if n.Style&yaml.LiteralStyle != 0 {
		return o.inLiteral(n, offset)
	}
	c := cursor{src: o.source(n), line: n.Line, style: n.Style}
	if c.style&yaml.FoldedStyle != 0 {
		c.line++
	}
	c.rest = c.src.line(c.line)
	if len(c.rest) > maxLine {
		return o.pos(n)
	}
	if c.style&yaml.FoldedStyle == 0 {
		for c.col < n.Column-1 && len(c.rest) > 0 {
			c.step()
		}
		c.begin()
	}
	if len(n.Value) > maxWalk || !c.to(n.Value, offset) {
		return o.pos(n)
	}
	return fsm.Pos{File: c.src.name, Line: c.line, Col: c.col + 1}
}

// maxWalk is the size of the longest text that is compared with its source to find a place in it.
const maxWalk = 1 << 20

// inLiteral is within for a text after |, which is in its file line by line.
func (o *origins) inLiteral(n *yaml.Node, offset int) fsm.Pos {
	pos := o.pos(n)
	before := n.Value[:offset]
	row := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	content, _, _ := strings.Cut(n.Value[start:], "\n")
	raw := o.source(n).line(n.Line + 1 + row)
	if len(raw) > maxLine || !bytes.HasSuffix(raw, []byte(content)) {
		return pos
	}
	pos.Line = n.Line + 1 + row
	pos.Col = utf8.RuneCount(raw) - utf8.RuneCountInString(content) + utf8.RuneCountInString(n.Value[start:offset]) + 1
	return pos
}

// A cursor walks through the source of a scalar.
type cursor struct {
	src   *source
	style yaml.Style
	line  int
	col   int    // runes before rest in its line
	rest  []byte // of the line
}

func (c *cursor) step() {
	_, size := utf8.DecodeRune(c.rest)
	c.rest = c.rest[size:]
	c.col++
}

// begin steps over an anchor, a tag and an opening quotation mark.
func (c *cursor) begin() {
	for len(c.rest) > 0 && (c.rest[0] == '&' || c.rest[0] == '!') {
		for len(c.rest) > 0 && c.rest[0] != ' ' && c.rest[0] != '\t' {
			c.step()
		}
		c.space()
	}
	if c.style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && len(c.rest) > 0 {
		c.step()
	}
}

// space steps over white space, line ends included, and the escapes that stand for some.
func (c *cursor) space() {
	for {
		switch {
		case len(c.rest) == 0:
			next := c.src.line(c.line + 1)
			if next == nil || len(next) > maxLine {
				return
			}
			c.line, c.col, c.rest = c.line+1, 0, next
		case c.rest[0] == ' ' || c.rest[0] == '\t':
			c.step()
		case c.style&yaml.DoubleQuotedStyle != 0 && c.rest[0] == '\\' &&
			(len(c.rest) == 1 || strings.IndexByte("ntr ", c.rest[1]) >= 0):
			c.step()
			if len(c.rest) > 0 {
				c.step()
			}
		default:
			return
		}
	}
}

// to walks to a byte of the value, comparing as it goes; any white space equals any other. It reports whether the
// source was what it expected.
func (c *cursor) to(value string, offset int) bool {
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRuneInString(value[i:])
		if r == ' ' || r == '\t' || r == '\n' || r == '\r' {
			if i >= offset {
				return true
			}
			i += size
			continue
		}
		c.space()
		if len(c.rest) > 0 &&
			(c.style&yaml.DoubleQuotedStyle != 0 && c.rest[0] == '\\' || c.style&yaml.SingleQuotedStyle != 0 &&
				c.rest[0] == '\'') {
			if i >= offset {
				return true
			}
			c.step()
		}
		if s, _ := utf8.DecodeRune(c.rest); s != r || len(c.rest) == 0 {
			return false
		}
		if i >= offset {
			return true
		}
		c.step()
		i += size
	}
	return true
}

package loopfile

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/expr"
)

// expression reads an expression, nil if it is not one.
func (d *decoder) expression(n *yaml.Node, path, name string) *expr.Program {
	text, ok := d.text(n, path, name)
	if !ok {
		return nil
	}
	p, err := expr.Compile(text)
	if err == nil {
		from, project := d.origins, d.project()
		p.SetPlace(func(offset int) expr.Place { return from.sourcePlace(n, offset, project) })
		return p
	}
	wrong, _ := errors.AsType[*expr.Error](err)
	hint := ""
	switch {
	case strings.Contains(text, "${"):
		hint = "; in an expression a name is written by itself: write " + quote(bare().ReplaceAllString(text, "$1"))
	case word().MatchString(text):
		hint = "; a text has quotation marks of its own: " + quote("'"+text+"'")
	}
	d.errorf(d.within(n, wrong.Offset(text)), path, "bad-expression", "%s is no expression: %s%s", name,
		wrong.Message, hint)
	return nil
}

var (
	bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^}:?]*)[^}]*\}`) })
	word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_ -]*$`) })
)

// project returns the directory of the project, "" if it is not known.
func (d *decoder) project() string {
	if d.loader == nil || d.loader.Loops == "" {
		return ""
	}
	return filepath.Dir(filepath.Clean(d.loader.Loops))
}

// sourcePlace returns where a byte of a text is in its file, with the line of the file and a caret under the
// place. The name of a file in the project is relative to the project.
func (o *origins) sourcePlace(n *yaml.Node, offset int, project string) expr.Place {
	pos := o.within(n, offset)
	if name, err := filepath.Rel(project, pos.File); project != "" && err == nil && filepath.IsLocal(name) {
		pos.File = name
	}
	at := expr.Place{File: pos.File, Line: pos.Line, Col: pos.Col}
	line := o.source(n).line(pos.Line)
	if len(line) <= maxLine && len(bytes.TrimSpace(line)) > 0 {
		text, caret := excerpt(strings.ToValidUTF8(string(line), "\ufffd"), pos.Col)
		at.Source = fmt.Sprintf("%5d | %s\n      | %s^", pos.Line, text, caret)
	}
	return at
}

// assignments reads set.
func (d *decoder) assignments(b *block) []fsm.Assignment {
	f, ok := b.fields["set"]
	if !ok || isNull(f.node) {
		return nil
	}
	path := join(b.path, "set")
	if f.node.Kind != yaml.MappingNode {
		d.errorf(d.pos(f.node), path, "wrong-type", "set must be a mapping of context keys to expressions, found %s",
			describe(f.node))
		return nil
	}
	entries := d.entries(f.node, path)
	if len(entries) == 0 {
		d.errorf(d.pos(f.node), path, "missing-key", "set is empty; expected keys of the context with expressions: "+
			"{tries: context.tries + 1}")
	}
	var all []fsm.Assignment
	for _, e := range entries {
		at := join(path, e.name)
		name := e.name
		switch {
		case strings.TrimSpace(name) == "":
			d.errorf(d.pos(e.key), at, "bad-value", "set needs the name of a key of the context")
			continue
		case strings.HasPrefix(name, "context."):
			d.errorf(d.pos(e.key), at, "bad-value", "set gives keys of the context: write %s",
				quote(strings.TrimPrefix(name, "context.")))
			continue
		case strings.ContainsAny(name, ".${}"):
			d.errorf(d.pos(e.key), at, "bad-value", "set sets whole keys of the context, and %s is not one",
				quote(name))
			continue
		case isNull(e.val):
			d.errorf(d.pos(e.key), at, "null", "%s has no value; expected an expression, which is nil for null",
				quote(name))
			continue
		}
		if p := d.expression(e.val, at, "the value of "+name); p != nil {
			all = append(all, fsm.Assignment{Key: name, Value: p, Pos: d.pos(e.val)})
		}
	}
	return all
}

// cases reads a route that is a list.
func (d *decoder) cases(n *yaml.Node, path string) []fsm.Case {
	all := []fsm.Case{}
	if len(n.Content) == 0 {
		d.errorf(d.pos(n), path, "no-transition", "route is empty; expected {when: EXPRESSION, to: STATE}")
	}
	for i, row := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		b := d.block(deref(row), InCase, at)
		if deref(row).Kind != yaml.MappingNode {
			continue
		}
		for _, e := range b.other { // a condition that is not looked at would hold in any case
			d.errorf(d.pos(e.key), join(at, e.name), "unknown-key",
				"%s is not a key of a row of route; expected when and to", quote(e.name))
		}
		b.need(d.pos(row), "to", "a row of route")
		c := fsm.Case{To: b.text("to"), Pos: d.pos(row)}
		if f, ok := b.fields["to"]; ok && c.To != "" {
			d.targets = append(d.targets, target{false, c.To, d.pos(f.node), join(at, "to")})
		}
		c.When, _ = b.get("when").(*expr.Program)
		if !b.has("when") && len(b.other) == 0 && i < len(n.Content)-1 {
			d.errorf(d.pos(row), at, "bad-value", "a row without when holds in any case, so those after it are "+
				"never looked at; put it last")
		}
		all = append(all, c)
	}
	return all
}

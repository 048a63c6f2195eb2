package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// A decoder walks the nodes of a file and notes every mistake.
type decoder struct {
	layer    layer
	key      string // the first name of the setting that is being read; "" = none is
	problems Problems
}

func (d *decoder) say(n *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems,
		Problem{File: d.layer.file, Line: n.Line, Col: n.Column, Text: fmt.Sprintf(format, args...), Key: d.key})
}

// config reads the whole file.
func (d *decoder) config(n *yaml.Node, c *Config) {
	d.section(n, "the file", "", c)
}

// section reads the settings whose names begin with prefix.
func (d *decoder) section(n *yaml.Node, what, prefix string, c *Config) {
	var rows []row
	for _, k := range keys() {
		rest, in := strings.CutPrefix(k.Name, prefix)
		name, _, deeper := strings.Cut(rest, ".")
		if !in || slices.ContainsFunc(rows, func(r row) bool { return r.key == name }) {
			continue
		}
		rows = append(rows, row{name, func(n *yaml.Node) {
			if prefix == "" {
				d.key = name
				defer func() { d.key = "" }()
			}
			switch {
			case deeper && n.Tag == "!!null": // everything there is commented out
			case deeper:
				d.section(n, prefix+name, prefix+name+".", c)
			case k.Form == FormHosts || k.Form == FormNotify || k.Form == FormEvents || k.Form == FormTypes ||
				k.Form == FormWebhooks || k.Form == FormSecrets:
				if n.Tag != "!!null" {
					k.read(d, n, c)
				}
			default:
				before := len(d.problems)
				if k.read(d, n, c); len(d.problems) == before {
					c.at(k.Name, d.layer.file, n.Line)
				}
			}
		}})
	}
	d.mapping(n, what, rows)
}

// at notes where a setting is.
func (c *Config) at(name, file string, line int) {
	if c.At == nil {
		c.At = map[string]Place{}
	}
	c.At[name] = Place{file, line}
}

// A row is one key of a map and how its value is read.
type row struct {
	key  string
	read func(n *yaml.Node)
}

// mapping reads a map whose keys are known.
func (d *decoder) mapping(n *yaml.Node, what string, rows []row) {
	var names []string
	for _, r := range rows {
		names = append(names, r.key)
	}
	d.pairs(n, what, func(key, value *yaml.Node) {
		i := slices.Index(names, key.Value)
		if i < 0 {
			hint := humanize.DidYouMean(key.Value, names)
			if hint == "" {
				hint = "; the keys are " + strings.Join(names, ", ")
			}
			if d.key == "" {
				d.key = cmp.Or(humanize.Nearest(key.Value, names), key.Value)
				defer func() { d.key = "" }()
			}
			d.say(key, "%s has no key %s%s", what, humanize.Quote(key.Value), hint)
			return
		}
		rows[i].read(value)
	})
}

// pairs calls do with the keys of a map and their values.
func (d *decoder) pairs(n *yaml.Node, what string, do func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.say(n, "%s must be a map of keys and values, found %s", what, kind(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch line := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.say(key, "a key of %s must be a text, found %s", what, kind(key))
		case line > 0:
			d.say(key, "%s has the key %s twice: the other is in line %d", what, humanize.Quote(key.Value), line)
		default:
			seen[key.Value] = key.Line
			do(key, value)
		}
	}
}

// text reads a value that is one text; numbers and the like are taken as they are written.
func (d *decoder) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.say(n, "%s must be a text, found %s", what, kind(n))
		return ""
	}
	return n.Value
}

func (d *decoder) flag(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		d.say(n, "%s must be true or false, found %s", what, kind(n))
		return false
	}
	var b bool
	if err := n.Decode(&b); err != nil {
		d.say(n, "%s must be true or false, found %s", what, humanize.Quote(n.Value))
	}
	return b
}

// list calls do with the elements of a list.
func (d *decoder) list(n *yaml.Node, what string, do func(i int, n *yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		d.say(n, "%s must be a list, found %s", what, kind(n))
		return
	}
	for i, e := range n.Content {
		do(i, e)
	}
}

func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias, which is not supported here"
	case n.Tag == "!!null":
		return "nothing"
	}
	return humanize.Quote(n.Value)
}

package loopfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"loops/fsm/value"
)

// WithCase returns the text of a file of tests with one more case, the last one. What is in the text stays as it is,
// with its comments; an empty text is a new file. The error explains why the case cannot be added.
func WithCase(path string, text []byte, c *Case) ([]byte, error) {
	indent := 2
	from, before := newSource(path, nil, text), &Suite{}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("cases:\n")
	} else {
		if before, _ = parseSuite(from); before == nil {
			return nil, errors.New("it has mistakes, which loops test shows")
		}
		if slices.ContainsFunc(before.Cases, func(x *Case) bool { return x.Name == c.Name }) {
			return nil, fmt.Errorf("it has a case that is called %s", quote(c.Name))
		}
	}
	at := len(text)
	if root := from.root; root != nil && root.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(root.Content); i += 2 {
			cases := root.Content[i+1]
			if root.Content[i].Value != "cases" || cases.Kind != yaml.MappingNode {
				continue
			}
			if cases.Style&yaml.FlowStyle != 0 || root.Style&yaml.FlowStyle != 0 {
				return nil, errors.New("its cases are in braces; write one a line first")
			}
			indent = cases.Content[0].Column - 1
			if i+2 < len(root.Content) {
				at = lineStart(text, root.Content[i+2].Line)
			}
		}
	}
	w := writer{origins: origins{main: from}}
	if at > 0 && text[at-1] != '\n' {
		w.out.WriteByte('\n')
	}
	w.indent(indent)
	w.mapping(mappingNode(c.Name, caseNode(c)), indent)
	text = slices.Concat(text[:at], w.out.Bytes(), text[at:])
	// What was added has to be read as it was meant, and nothing else may have changed.
	after, _ := parseSuite(newSource(path, nil, text))
	if after == nil || len(after.Cases) != len(before.Cases)+1 || after.Cases[len(before.Cases)].Name != c.Name {
		return nil, errors.New("a case cannot be added at its end")
	}
	return text, nil
}

// lineStart returns where a line begins, from 1; comments at the margin just above belong to it.
func lineStart(text []byte, line int) int {
	lines := slices.Collect(bytes.Lines(text))
	n := min(line-1, len(lines))
	for n > 0 && (lines[n-1][0] == '#' || len(bytes.TrimSpace(lines[n-1])) == 0) {
		n--
	}
	size := 0
	for _, l := range lines[:n] {
		size += len(l)
	}
	return size
}

// mappingNode returns a mapping of pairs of a name and a node; those with nil are left out.
func mappingNode(pairs ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		if n, _ := pairs[i+1].(*yaml.Node); n != nil {
			m.Content = append(m.Content, textNode(pairs[i].(string)), n)
		}
	}
	return m
}

func listNode(list []*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: list}
}

func textNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// textNodeOf returns nil for the empty text.
func textNodeOf(s string) *yaml.Node {
	if s == "" {
		return nil
	}
	return textNode(s)
}

// valueNode returns a value of the context.
func valueNode(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		n := textNode(v)
		if isBool(&yaml.Node{Kind: yaml.ScalarNode, Value: v}) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	case *value.Map:
		if v == nil {
			return nil
		}
		m := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range v.Keys() {
			m.Content = append(m.Content, textNode(k), valueNode(v.Value(k)))
		}
		return m
	case []any:
		list := make([]*yaml.Node, len(v))
		for i, x := range v {
			list[i] = valueNode(x)
		}
		return listNode(list)
	}
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("null")
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(text)}
}

func wordNodes(words []Word) *yaml.Node {
	if words == nil {
		return nil
	}
	n := listNode(nil)
	for _, w := range words {
		n.Content = append(n.Content, textNode(w.Text))
	}
	return n
}

// caseNode returns a case as a file of tests has it.
func caseNode(c *Case) *yaml.Node {
	files, answers := mappingNode(), mappingNode()
	for _, f := range c.Files {
		files.Content = append(files.Content, textNode(f.Name.Text), textNode(f.Text))
	}
	for _, s := range c.Answers {
		list := make([]*yaml.Node, len(s.List))
		for i := range s.List {
			list[i] = answerNode(&s.List[i])
		}
		n := listNode(list)
		if s.Every {
			n = list[0]
		}
		answers.Content = append(answers.Content, textNode(s.State.Text), n)
	}
	var input *yaml.Node
	if c.Input != nil {
		input = textNode(*c.Input)
	}
	return mappingNode("description", textNodeOf(c.Description), "input", input, "context", valueNode(c.Context),
		"files", notEmpty(files), "from", textNodeOf(c.From.Text), "answers", notEmpty(answers), "expect",
		expectNode(&c.Expect))
}

func notEmpty(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

func answerNode(a *Answer) *yaml.Node {
	number := func(v any, given bool) *yaml.Node {
		if !given {
			return nil
		}
		return valueNode(v)
	}
	verdict := textNodeOf(a.Verdict)
	m := mappingNode("verdict", verdict, "exit_code", number(a.ExitCode, a.ExitCode != nil), "output",
		textNodeOf(a.Output), "stderr", textNodeOf(a.Stderr),
		"timeout", textNodeOf(a.Timeout), "status", number(a.Status, a.Status != 0), "failure",
		textNodeOf(string(a.Failure)),
		"cost_usd", number(a.Cost, a.Cost != nil), "tokens", number(a.Tokens, a.Tokens != 0), "details",
		valueNode(a.Details))
	if len(m.Content) == 2 && verdict != nil {
		return verdict
	}
	return m
}

func expectNode(x *Expectation) *yaml.Node {
	verdicts := mappingNode()
	for _, v := range x.Verdicts {
		list := listNode(nil)
		for _, name := range v.List {
			list.Content = append(list.Content, textNode(name))
		}
		verdicts.Content = append(verdicts.Content, textNode(v.State.Text), list)
	}
	var message, cost *yaml.Node
	if x.Message != nil {
		message = textNode(*x.Message)
	}
	if x.MaxCost != nil {
		cost = valueNode(*x.MaxCost)
	}
	return mappingNode("path", wordNodes(x.Path), "verdicts", notEmpty(verdicts), "captures", valueNode(x.Captures),
		"context", valueNode(x.Context),
		"outcome", textNodeOf(x.Outcome), "state", textNodeOf(x.State.Text), "message", message, "never",
		wordNodes(x.Never),
		"guarded", wordNodes(x.Guarded), "sandboxed", wordNodes(x.Sandboxed), "max_cost_usd", cost)
}

package expr

import (
	"strings"

	"loops/fsm/value"
)

// The filters of a reference; [Expand] describes what they do.
const (
	filterTrim  = "trim"
	filterLines = "lines"
	filterFirst = "first"
	filterLast  = "last"
	filterJSON  = "json"
	filterShell = "shell"
)

func isFilter(name string) bool {
	switch name {
	case filterTrim, filterLines, filterFirst, filterLast, filterJSON, filterShell:
		return true
	}
	return false
}

// unknownFilter ends the message about a path that was not found, where its end looks like a filter.
func unknownFilter(path string) string {
	i := strings.LastIndexByte(path, ':')
	if i < 0 || i == len(path)-1 {
		return ""
	}
	for _, c := range []byte(path[i+1:]) {
		if !isLetter(c) {
			return ""
		}
	}
	return "; there is no filter " + path[i:] + ", only :trim, :lines, :first, :last, :json and :shell"
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// lineList is what :lines makes of a value.
type lineList []string

// render filters a value and returns the text to insert.
func (r *reference) render(v any) string {
	for _, f := range r.filters {
		v = filter(f, v)
	}
	switch v := v.(type) {
	case nil:
		return ""
	case lineList:
		return strings.Join(v, "\n")
	}
	return value.Text(v)
}

func filter(name string, v any) any {
	switch name {
	case filterTrim:
		return templateTrimmed(v)
	case filterLines:
		return linesOf(v, lineList{})
	case filterFirst:
		return pick(v, func(int) int { return 0 })
	case filterLast:
		return pick(v, func(n int) int { return n - 1 })
	case filterJSON:
		if l, ok := v.(lineList); ok {
			v = []string(l)
		}
		return string(value.AppendJSON(nil, v))
	case filterShell:
		return shellWords(v)
	}
	return v
}

func templateTrimmed(v any) any {
	switch v := v.(type) {
	case string:
		return value.TrimSpace(v)
	case lineList:
		l := make(lineList, len(v))
		for i, s := range v {
			l[i] = value.TrimSpace(s)
		}
		return l
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = e
			if s, ok := e.(string); ok {
				l[i] = value.TrimSpace(s)
			}
		}
		return l
	}
	return v
}

// linesOf appends the lines of v that are not blank to l.
func linesOf(v any, l lineList) lineList {
	switch v := v.(type) {
	case nil:
		return l
	case lineList:
		return append(l, v...)
	case []any:
		for _, e := range v {
			l = linesOf(e, l)
		}
		return l
	}
	for _, s := range value.Lines(value.Text(v)) {
		if value.TrimSpace(s) != "" {
			l = append(l, s)
		}
	}
	return l
}

// pick returns the item of a list or the line of a text that index chooses, given how many there are.
func pick(v any, index func(n int) int) any {
	switch t := v.(type) {
	case string:
		v = linesOf(t, nil)
	case []any:
		if len(t) == 0 {
			return ""
		}
		return t[index(len(t))]
	}
	if l, ok := v.(lineList); ok {
		if len(l) == 0 {
			return ""
		}
		return l[index(len(l))]
	}
	return v
}

// shellWords quotes a value; null stays nothing.
func shellWords(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case lineList:
		words := make([]string, len(v))
		for i, s := range v {
			words[i] = value.ShellQuote(s)
		}
		return strings.Join(words, " ")
	}
	return value.ShellQuote(value.Text(v))
}

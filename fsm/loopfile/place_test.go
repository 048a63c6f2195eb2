package loopfile

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"loops/fsm"
)

// TestPlace asks for places in a loop of several files. ^ marks them in the text: the mark is taken out, and what
// followed it is where the place must be.
func TestPlace(t *testing.T) {
	// Not parallel: the test changes the working directory.
	marked := map[string]string{
		"main.yaml": `name: n
description: d
^1from: lib/base
import: [^2lib/gates.yaml]
labels: [a, ^3b]
context: {k: &k {x: ^4v}, l: *k}
states:
  own:
    action: |
      first
        sec^5ond ${x}
    ^6on_success: ^7done
    timeout: 5
  folded:
    action: >
      some words
      go o^8n here
    next: done
  plain:
    action: some words
      that go o^9n
    next: done
  ^agate:
    fragment: ^bgate
    with: {n: ^c4}
    on_yes: done
  'quoted one':
    action: 'it''s ^dhere'
    append_to_messages: "a \"b\" ${^ex}\
      \n ${^fy}"
    next: done
  deep: {<<: {capture: ^hc}, next: done}
`,
		"lib/base.yaml": `initial: own
^imax_iterations: 9
states:
  ^jdone: {^kterminal: ^ltrue}
  own:
    capture: ^mout
`,
		"lib/gates.yaml": `fragments:
  gate:
    parameters: {n: {type: integer}}
    ^naction: |-
      echo ^o${param.n}
    evaluate: {type: exit_code}
`,
	}
	files, marks := map[string]string{}, map[byte]fsm.Pos{}
	for name, text := range marked {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			for {
				at := strings.IndexByte(line, '^')
				if at < 0 {
					break
				}
				marks[line[at+1]] = fsm.Pos{File: name, Line: i + 1, Col: len([]rune(line[:at])) + 1}
				line = line[:at] + line[at+2:]
			}
			lines[i] = line
		}
		files[name] = strings.Join(lines, "\n")
	}
	dir := tree(t, files)
	t.Chdir(dir)
	loop := load(t, &Loader{Loops: "."}, "main.yaml")
	value := func(state, key string) string {
		s := loop.States[state]
		return map[string]string{"action": s.Action, "append_to_messages": s.Append}[key]
	}
	// The offset is that of a text in the value, or fsm.KeyPlace for "key".
	tests := []struct{ mark, at, path string }{
		{"i", "key", "max_steps"}, // under its older name
		{"3", "", "labels 1"},
		{"4", "", "context k x"},
		{"4", "", "context l x"},
		{"5", "ond", "states own action"},
		{"6", "key", "states own on_yes"},
		{"7", "", "states own on_yes"},
		{"8", "n here", "states folded action"},
		{"9", "n", "states plain action"},
		{"a", "key", "states gate"},
		{"a", "", "states gate nothing"},
		{"b", "", "states gate fragment"},
		{"c", "", "states gate with n"},
		{"d", "here", "states quoted_one action"},
		{"e", "x}", "states quoted_one append_to_messages"},
		{"f", "y}", "states quoted_one append_to_messages"},
		{"h", "", "states deep capture"},
		{"j", "key", "states done"},
		{"k", "key", "states done terminal"},
		{"l", "", "states done terminal"},
		{"m", "", "states own capture"},
		{"n", "key", "states gate action"},
		{"o", "${", "states gate action"},
	}
	for _, tt := range tests {
		path := strings.Split(tt.path, " ")
		for i := range path {
			path[i] = strings.ReplaceAll(path[i], "quoted_one", "quoted one")
		}
		offset := 0
		switch {
		case tt.at == "key":
			offset = fsm.KeyPlace
		case tt.at != "":
			offset = strings.LastIndex(value(path[1], path[2]), tt.at)
		}
		if got := loop.Place(offset, path...); got != marks[tt.mark[0]] {
			t.Errorf("%s %q: %v, want %v", tt.path, tt.at, got, marks[tt.mark[0]])
		}
	}
	for path, want := range map[string]string{
		"": "main.yaml:1:1", "nothing": "main.yaml:1:1",
		"labels 7": "main.yaml:5:1",
	} {
		if got := loop.Place(0, strings.Fields(path)...); got.String() != want {
			t.Errorf("%q: %v, want %s", path, got, want)
		}
	}
	if got := loop.States["done"].Pos; got != marks['j'] {
		t.Errorf("an inherited state stands at %v", got)
	}
}

// TestPlaceOfMany looks into a long mapping, by an index, and finds what a walk finds.
func TestPlaceOfMany(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("name: n\ndescription: d\ninitial: s0\nstates:\n  more: &more {next: s0}\n")
	for i := range 100 {
		b.WriteString("  s" + strconv.Itoa(i) + ": {next: done}\n")
	}
	b.WriteString("  done: {terminal: true}\n  last: {<<: *more}\n")
	dir := tree(t, map[string]string{"x.yaml": b.String()})
	loop := load(t, &Loader{}, filepath.Join(dir, "x.yaml"))
	for i := range 100 {
		if got := loop.Place(0, "states", "s"+strconv.Itoa(i), "next"); got.Line != 6+i {
			t.Errorf("s%d: %v", i, got)
		}
	}
	if got := loop.Place(fsm.KeyPlace, "states", "last"); got.Line != 107 {
		t.Error(got)
	}
	if got := loop.Place(0, "states", "last", "next"); got.Line != 5 {
		t.Error(got)
	}
	if got := loop.Place(0, "states", "none"); got.Line != 4 {
		t.Error(got)
	}
}

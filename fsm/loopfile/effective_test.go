package loopfile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// TestEffective shows loops: testdata/effective/NAME/main.yaml, and in NAME.out what is shown of it.
func TestEffective(t *testing.T) {
	// Not parallel: the test changes the working directory.
	entries, err := os.ReadDir("testdata/effective")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			out, err := filepath.Abs("testdata/effective/" + e.Name() + ".out")
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir("testdata/effective/" + e.Name())
			got, problems, err := (&Loader{Loops: "."}).Effective("main.yaml", true)
			if err != nil || got == nil {
				t.Fatal(err, Render(problems, fileText, false))
			}
			testenv.Golden(t, out, string(got))
		})
	}
}

// content is a loop without the places of things, to compare it with another one.
func content(l *fsm.Loop) *fsm.Loop {
	c := *l
	c.Place, c.SHA256, c.File = nil, "", ""
	forgetPlaces(reflect.ValueOf(&c))
	return &c
}

var programs sync.Map // text of an expression -> *expr.Program

func forgetPlaces(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if p, ok := v.Interface().(*expr.Program); ok && p != nil { // two of one text are not equal, but one is
			one, _ := programs.LoadOrStore(p.String(), p)
			v.Set(reflect.ValueOf(one))
			return
		}
		if !v.IsNil() && v.Type() != reflect.TypeFor[*value.Map]() {
			forgetPlaces(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[fsm.Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				forgetPlaces(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			forgetPlaces(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			forgetPlaces(v.MapIndex(k))
		}
	}
}

// checkEffective reports whether the file holds a loop, and checks that what is shown of it loads to the same one.
func checkEffective(t *testing.T, l *Loader, path string) bool {
	t.Helper()
	loop, _, err := l.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, origins := range []bool{false, true} {
		text, _, err := l.Effective(path, origins)
		if err != nil {
			t.Fatal(err)
		}
		if loop == nil {
			if text != nil {
				// It may be wrong, but it must be YAML.
				if err := yaml.Unmarshal(text, new(yaml.Node)); err != nil {
					t.Errorf("%s: %v\n%s", path, err, text)
				}
			}
			continue
		}
		again, problems := Parse("shown.yaml", text, nil)
		if again == nil {
			t.Errorf("%s: what is shown does not load:\n%s\n%s", path,
				Render(problems, func(string) []byte { return text }, false), text)
			continue
		}
		if !reflect.DeepEqual(content(again), content(loop)) {
			t.Errorf("%s: what is shown is another loop:\n%s", path, text)
		}
	}
	return loop != nil
}

// TestEffectiveLoads shows every loop there is.
func TestEffectiveLoads(t *testing.T) {
	t.Parallel()
	n := 0
	for _, dir := range []string{
		"testdata", "../lint/testdata", "../testdata", "../../.loops.example",
		conformanceCases(t), catalog,
	} {
		l := &Loader{Catalog: catalog + "/catalog"}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil && dir == catalog {
				return nil // not part of this repository
			}
			if err == nil && filepath.Ext(path) == ".yaml" && !IsSuite(path) && e.Type().IsRegular() &&
				checkEffective(t, l, path) {
				n++
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if n < 300 {
		t.Errorf("only %d loops", n)
	}
}

// TestEffectiveRandom shows random loops that inherit, import and use fragments.
func TestEffectiveRandom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loops := 0
	for seed := range 300 {
		r := &randomLoop{rand.New(rand.NewPCG(uint64(seed), 1))}
		for name, n := range r.files() {
			data, err := yaml.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if checkEffective(t, &Loader{Loops: dir}, filepath.Join(dir, "main.yaml")) {
			loops++
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, fileText(filepath.Join(dir, "main.yaml")))
		}
	}
	if loops < 250 {
		t.Errorf("only %d of the files hold a loop", loops)
	}
}

// A randomLoop makes definitions that are right, out of texts that are odd.
type randomLoop struct{ *rand.Rand }

func (r *randomLoop) oneOf(words ...string) string { return words[r.IntN(len(words))] }

var oddTexts = []string{
	"plain", "two words", "yes", "NO", "null", "~", "", " ", "5", "0x1f", "1e3", "1_000", "010", "08", ".inf",
	"2024-01-02", "12:30", "<<", "=", "-", "- a", "a: b", "a:", ": a",
	"# no comment", "a # comment", "a#b", "'", "\"", "\\", "it's", "${context.x}", "$${x}", "{a}", "[a]", "a, b",
	"&a", "*a", "!a", "|", ">", "%x", "@x", "`x`", "?", "? a", "---", "...",
	"one\ntwo", "one\ntwo\n", "one\n\n\ntwo\n\n", "\none", "  indented\nless", "\ttab\nx", "trailing \nx", "a\n \nb",
	"a\n\t\nb", "x\n  deeper\n", "\n", "\n\n", "cr\r\nlf", "nel\u0085x", "ls\u2028x", "bom\ufeffx",
	"bell\x07", "\x00", "\x1b[0m", "\u00a0nbsp", "e\u0301", "日本語", "😀\n😀", "\u200b", "\ufffd",
	strings.Repeat("long ", 300), strings.Repeat("x\n", 200) + "end",
}

func (r *randomLoop) text() string {
	if r.IntN(3) == 0 {
		return r.oneOf(oddTexts...) + r.oneOf(oddTexts...)
	}
	return r.oneOf(oddTexts...)
}

func (r *randomLoop) scalar() *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch r.IntN(10) {
	case 0:
		n.Value = r.oneOf("5", "-3", "1.50", "1e3", ".inf", "true", "no", "On", "~", "null", "0o17",
			"123456789012345678901234567890", "2024-01-02", "08")
		return n
	case 1:
		n.Style = yaml.LiteralStyle
	case 2:
		n.Style = yaml.FoldedStyle
	case 3:
		n.Style = yaml.SingleQuotedStyle
	default:
		return str(r.text())
	}
	n.Tag, n.Value = "!!str", r.oneOf("one\ntwo", "one\ntwo\n", "one\n\n\ntwo\n\n", "it's\n# not a comment\n",
		"a: b\n- c\n  d: ${x}\n", "tab\there\n", "long "+strings.Repeat("words ", 40)+"\nend")
	return n
}

func (r *randomLoop) value(depth int) *yaml.Node {
	switch k := r.IntN(6); {
	case depth > 3 || k < 3:
		return r.scalar()
	case k < 5:
		n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.Style(r.IntN(2)) * yaml.FlowStyle}
		for i := range r.IntN(4) {
			n.Content = append(n.Content, str(r.text()+fmt.Sprint(i)), r.value(depth+1))
		}
		return n
	default:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.Style(r.IntN(2)) * yaml.FlowStyle}
		for range r.IntN(4) {
			n.Content = append(n.Content, r.value(depth+1))
		}
		return n
	}
}

// str makes a text in a style that the encoder can write: it is not to be trusted with odd ones in blocks.
func str(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// node makes a mapping of keys and values: nodes, texts, or anything that the encoder takes.
func node(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		var v *yaml.Node
		switch p := pairs[i+1].(type) {
		case *yaml.Node:
			v = p
		case string:
			v = str(p)
		default:
			v = new(yaml.Node)
			if err := v.Encode(p); err != nil {
				panic(err)
			}
		}
		n.Content = append(n.Content, str(pairs[i].(string)), v)
	}
	return n
}

func (r *randomLoop) state(names []string) *yaml.Node {
	to := func() string { return r.oneOf(names...) }
	body := node("next", to())
	switch r.IntN(7) {
	case 0:
		body = node("action", r.scalar(), "on_yes", to(), "on_no", to(), "on_error", to())
	case 1:
		body = node("action", r.text(), "route", node(r.text()+"x", to(), "_", to()))
	case 2:
		body = node("action", r.text(), "evaluate", node("type", "output_contains", "pattern", r.text()+"p", "negate",
			r.IntN(2) == 0), "on_success", to())
	case 3:
		body = node("loop", "${context.child}", "with", node("v", r.value(1)), "on_yes", to())
	case 4:
		body = node("fragment", r.oneOf("gate", "own"), "with", node("n", 4), "next", to())
	case 5:
		body = node("fragment", "gate", "loop", "${context.child}", "with", node("n", 4, "free", r.value(1)),
			"on_yes", to())
	}
	for _, k := range []string{"capture", "model", "agent", "description"} {
		if r.IntN(4) == 0 {
			body.Content = append(body.Content, str(k), str(r.text()+"c"))
		}
	}
	if r.IntN(5) == 0 {
		body.Content = append(body.Content, str("tools"), r.strings())
	}
	return body
}

func (r *randomLoop) strings() *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for range r.IntN(4) {
		n.Content = append(n.Content, str(r.text()))
	}
	return n
}

// files makes main.yaml, which inherits from base.yaml and imports lib.yaml.
func (r *randomLoop) files() map[string]*yaml.Node {
	names := []string{"done"}
	for i := range 1 + r.IntN(6) {
		names = append(names, fmt.Sprintf("%s%d", r.oneOf("s", "yes ", "a.b", "- ", "${", "é\n", "# "), i))
	}
	for i, n := range names {
		names[i] = strings.ReplaceAll(n, "${", "$")
	}
	states := func() *yaml.Node {
		out := node("done", node("terminal", true))
		for _, n := range names[1:] {
			if r.IntN(4) > 0 {
				over := node("description", r.text(), "capture", r.text()+"c")
				if r.IntN(3) == 0 {
					over = node("on_error", r.oneOf(names...))
				}
				out.Content = append(out.Content, str(n), over)
			}
		}
		return out
	}
	all := node("done", node("terminal", true))
	for _, n := range names[1:] {
		all.Content = append(all.Content, str(n), r.state(names))
	}
	gate := node("parameters", node("n", node("type", "integer", "default", r.IntN(9))), "timeout", r.IntN(100),
		"description", r.text())
	main := node("name", r.text()+"n", "from", "base", "description", r.text(), "import", []string{"lib.yaml"},
		"context", node("child", "c", "v", r.value(0)), "fragments", node("own", gate))
	base := node("initial", r.oneOf(names...), "context", node("b", r.value(0), "v", r.value(0)), "max_steps",
		1+r.IntN(9), "labels", r.strings(), "states", all)
	switch r.IntN(4) {
	case 0: // as inherited
	case 1:
		var flow []string
		defs := node()
		for _, n := range names[1:] {
			if !strings.ContainsAny(n, "?:") {
				flow = append(flow, n)
				defs.Content = append(defs.Content, str(n), node("action", r.text()))
			}
		}
		if len(flow) > 1 {
			flow = append(flow, flow[0]+"q?"+flow[0]+":done")
		}
		main.Content = append(main.Content, node("flow", append(flow, "done"), "state_defs", defs).Content...)
	default:
		main.Content = append(main.Content, str("states"), states())
	}
	return map[string]*yaml.Node{
		"main.yaml": main, "base.yaml": base,
		"lib.yaml": node("fragments", node("gate", gate, "own", node("action", "never"))),
	}
}

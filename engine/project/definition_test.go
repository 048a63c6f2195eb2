package project

import (
	"strings"
	"testing"

	"loops/fsm/loopfile"
	"loops/fsm/value"
)

func TestParseDefinition(t *testing.T) {
	t.Parallel()
	l, problems := loopfile.Parse("/p/a.yaml", []byte("name: a\ninitial: x\nstates: {x: {terminal: true}}\n"), nil)
	if l == nil {
		t.Fatal(problems)
	}
	d := &Definition{Project: &Project{}, Loops: []*RecordedLoop{
		{
			File: "/p/a.yaml", Sha256: "ab", names: value.NewMap("b", "/p/b.yaml"),
			text: []byte("name: a\ninitial: x\nstates: {x: {terminal: true}}\n"),
		},
		{File: "/p/b \"\n.yaml", Sha256: "cd", names: value.NewMap(), text: []byte("--- # {\nno loop")},
	}}
	text := string(d.Encode())
	again, err := ParseDefinition([]byte(text), &Project{})
	if err != nil || string(again.Encode()) != text {
		t.Errorf("%v\n%s\nis not\n%s", err, again.Encode(), text)
	}
	d.Project.Dir = "/p" // a run whose project is /q now
	if moved, err := ParseDefinition(d.Encode(), &Project{Dir: "/q"}); err != nil ||
		moved.Of("/q/a.yaml").Meant("b") != "/q/b.yaml" {
		t.Errorf("%v: %s", err, d.Encode())
	}
	if again.Of("/p/a.yaml").Meant("b") != "/p/b.yaml" || again.Of("/p/b.yaml") != nil || again.Main().Sha256 != "ab" {
		t.Errorf("%+v", again.Loops)
	}
	if _, err := again.Loops[1].Load(); err == nil || !strings.Contains(err.Error(), "is not valid for this version") {
		t.Errorf("a text that is no loop: %v", err)
	}
	for n := range len(text) {
		if d, err := ParseDefinition([]byte(text[:n]), &Project{}); err == nil && len(d.Loops) == 2 {
			t.Errorf("cut off at %d: it is taken for whole", n)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"name: a\n", "it does not say which loop it is"},
		{"--- # {\"file\": \"a\"", "it does not say which loop it is"},
		{"--- # {\"file\": \"a\", \"bytes\": -1}\n", "it is cut off"},
		{"--- # {\"file\": \"a\", \"bytes\": 9}\nname", "it is cut off"},
	} {
		if _, err := ParseDefinition([]byte(c.text), &Project{}); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

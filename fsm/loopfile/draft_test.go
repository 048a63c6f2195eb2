package loopfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDraft makes sure that what is right about a broken loop can be looked at.
func TestDraft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	l := &Loader{}
	broken := write("broken.yaml", "name: n\ndescription: d\ninitial: b\nstates:\n  a: {action: echo, next: c}\n"+
		"  c: {terminal: ture}\n")
	if loop, problems, err := l.Load(broken); loop != nil || len(problems) != 2 || err != nil {
		t.Fatalf("%v, %v, %v", loop, problems, err)
	}
	draft := l.Draft(broken)
	if draft == nil || draft.States["a"].Action != "echo" || draft.Place(0, "states", "a", "action").Col != 15 {
		t.Errorf("%+v", draft)
	}
	if got := l.Draft(write("list.yaml", "- a\n")); got != nil {
		t.Errorf("a list is %+v", got)
	}
	if got := l.Draft(dir + "/missing.yaml"); got != nil {
		t.Errorf("a missing file is %+v", got)
	}
}

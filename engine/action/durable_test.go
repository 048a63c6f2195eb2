package action

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
)

// A long output and a long variable are in folders that are new: all of it is durable before a record can name it. What
// cannot be made durable ends the action with an error about the disk. cmd/loops.TestPowerCut cuts the power.
func TestDurableFiles(t *testing.T) {
	t.Parallel()
	r := &Runner{RunDir: t.TempDir(), Durable: true}
	defer r.Close()
	long := strings.Repeat("x", longVar+1)
	a := fsm.Action{
		Kind: fsm.KindShell, State: "a", Step: 1,
		Text: `printf %0100000d 7; cat "$LOOPS_CAPTURED_A_FILE"`,
		Vars: []fsm.Var{{Name: "LOOPS_CAPTURED_A", Value: long}},
	}
	res, err := r.Run(t.Context(), a, nil)
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if b, err := os.ReadFile(res.File); err != nil || len(b) != 100000+len(long) {
		t.Errorf("the file has %d bytes, %v", len(b), err)
	}
	for _, dir := range []string{"env", "output"} {
		if !r.settle.done[filepath.Join(r.RunDir, dir)] {
			t.Errorf("the name of the folder %s was not made durable", dir)
		}
	}
	short := a
	short.Text, short.Vars, short.Step = "echo", nil, 2
	lazy := &Runner{RunDir: t.TempDir(), Durable: true}
	defer lazy.Close()
	if _, err := lazy.Run(t.Context(), short, nil); err != nil || len(lazy.settle.done) > 0 {
		t.Errorf("a short output: %v, made durable %v", err, lazy.settle.done)
	}
	none := &Runner{RunDir: t.TempDir()}
	defer none.Close()
	if _, err := none.Run(t.Context(), a, nil); err != nil || none.settle != nil {
		t.Errorf("nothing is to be durable, %v, %v", none.settle, err)
	}
	k := keeper{settle: &settler{runDir: filepath.Join(t.TempDir(), "gone"), done: map[string]bool{}}}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	k.file, k.path = f, f.Name()
	if err := k.end(false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that cannot be made durable: %v", err)
	}
}

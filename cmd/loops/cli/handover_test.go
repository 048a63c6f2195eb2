package cli

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loops/internal/worker"

	"github.com/spf13/pflag"
)

// notHanded are the flags that mean nothing to the process of a run, because they are done when it is started,
// and those that are looked at apart.
var notHanded = []string{
	"background", "dry-run", "help", "color", "output", "items", "builtin", "clear", "follow",
	"jq", "template",
}

// flagValues are values that flags take, where a text does not do.
var flagValues = map[string]string{
	"sandbox": "strict", "snapshots": "git", "store": "sqlite:x.db", "budget": "cost=3", "permissions": "skip",
	"durability": "none", "extend": "steps=2", "format": "json", "context": "a=b", "set": "a=b",
	"definition": "recorded", "queue-timeout": "90s", "worktree-end": "merge", "at": "3",
}

// flagNeeds are flags without which another one is refused.
var flagNeeds = map[string][]string{"queue-timeout": {"--queue"}, "worktree-end": {"--worktree"}}

// A flag of run, resume or fork that was not handed to the process of a run in the background would do nothing with -b.
func TestEveryFlagIsHandedOver(t *testing.T) {
	for _, line := range [][]string{{"run", "fix"}, {"resume", "fix"}, {"fork", "fix", "--at=2"}} {
		without := func(args ...string) []string { return append(append(slices.Clone(line), "-b"), args...) }
		var flags []*pflag.Flag
		for _, cmd := range newRootCommand(&program{}, "").Commands() {
			if cmd.Name() == line[0] {
				cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
			}
		}
		if len(flags) < 20 {
			t.Fatalf("%s has %d flags", line[0], len(flags))
		}
		for _, f := range flags {
			if slices.Contains(notHanded, f.Name) || strings.Contains(f.Usage, "has no effect") {
				continue
			}
			arg := "--" + f.Name + "=" + flagValues[f.Name]
			switch {
			case f.Value.Type() == "bool":
				arg = "--" + f.Name
			case flagValues[f.Name] == "" && strings.Contains("int float64", f.Value.Type()):
				arg += "7"
			case flagValues[f.Name] == "":
				arg += "word"
			}
			needs := flagNeeds[f.Name]
			with, without := handed(t, without(append(slices.Clone(needs), arg)...)), handed(t, without(needs...))
			if reflect.DeepEqual(with, without) {
				t.Errorf("%s -b: %s is not handed over: %+v", line[0], arg, with)
			}
		}
	}
	if h := handed(t, []string{"run", "fix", "-b", "the input"}); h.Request.Start == nil ||
		h.Request.Start.Input == nil || *h.Request.Start.Input != "the input" {
		t.Errorf("the input is not handed over: %+v", h)
	}
	if h := handed(t, []string{"run", "fix", "-b", "--color=always"}); h.View.Color != "always" {
		t.Errorf("--color is not handed over: %+v", h)
	}
	if h := handed(t, []string{"run", "fix", "-b", "--format=junit", "-o", "x.xml"}); h.View.Format != "junit" ||
		h.View.File != "x.xml" {
		t.Errorf("-o is not handed over: %+v", h)
	}
	if h := handed(t, []string{"-C", ".", "run", "fix", "-b"}); h.Project != "." {
		t.Errorf("-C is not handed over: %+v", h)
	}
}

// handed is what a command line hands to the process of its run, as that reads it, without the words that only
// messages quote.
func handed(t *testing.T, args []string) worker.Handover {
	t.Helper()
	var wire []byte
	stop := errors.New("far enough")
	var said strings.Builder
	a := &program{IO: IO{In: strings.NewReader(""), Out: io.Discard, Err: &said, Dir: t.TempDir(), Env: []string{}}}
	a.spawn = func(h worker.Handover) (*worker.ChildProcess, error) {
		h.Dir = ""
		wire, _ = json.Marshal(h)
		return nil, stop
	}
	a.execute(t.Context(), args)
	if wire == nil {
		t.Fatalf("loops %s hands nothing over, and says: %s", strings.Join(args, " "), said.String())
	}
	h, err := worker.ReadHandover(strings.NewReader(string(wire)))
	if err != nil {
		t.Fatal(err)
	}
	h.Words = nil
	return h
}

package git

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A step that changes, adds, removes and ignores files starts no process of git: those of the first step stay
// alive. All else is what git would have done: it has each object, and an index that git makes of the same
// files has the same tree.
func TestWalkOfAStepStartsNoProcess(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := newPlot(t, false)
			p.sh("git init -q -b main --object-format=" + format + "\n" + start +
				"echo '* -text -filter' > .git/info/attributes; git add -A; git commit -qm start")
			trace := filepath.Join(t.TempDir(), "started")
			env := append(environ(), "GIT_TRACE2_EVENT="+trace)
			p.walk = NewWalk(env, 0, p.dir, filepath.Join(t.TempDir(), "walk"))
			defer p.walk.Close()
			chain, err := OpenChain(t.Context(), Command(env, 0), p.dir, "run")
			if err != nil {
				t.Fatal(err)
			}
			chain.Batch(env, 0)
			defer chain.Close()
			step := func(n int) {
				before := p.tree()
				p.sh(fmt.Sprintf("echo %d >> src/a; mkdir -p new/%d; echo n > new/%d/f; ln -sf %d link; echo l > "+
					"%d.log; rm -f new/%d/f; chmod %s run.sh",
					n, n, n, n, n, n-1, []string{"+x", "-x"}[n%2]))
				after := p.tree()
				if p.changes(before, after) == "" {
					t.Fatal("nothing changed")
				}
				if _, err := chain.Add(t.Context(), after, Snapshot{Step: fmt.Sprint(n), When: After}); err != nil {
					t.Fatal(err)
				}
			}
			step(1)
			step(2)
			was := len(started(t, trace))
			for n := range 5 {
				step(3 + n)
			}
			if got := started(t, trace)[was:]; len(got) > 0 {
				t.Errorf("the steps started %d processes of git:\n%s", len(got), strings.Join(got, "\n"))
			}
			p.run("git", "fsck", "--strict", "--no-dangling")
			p.sh("git add -A")
			if tree := strings.TrimSpace(p.run("git", "write-tree")); tree != p.tree() {
				t.Errorf("git names the files %s, a walk %s: %s", tree, p.tree(), p.changes(tree, p.tree()))
			}
		})
	}
}

// started returns the commands of git that were started with a trace.
func started(t *testing.T, trace string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var event struct {
			Event string
			Argv  []string
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		if event.Event == "start" {
			all = append(all, strings.Join(event.Argv, " "))
		}
	}
	return all
}

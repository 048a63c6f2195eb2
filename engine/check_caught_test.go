package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/engine/action"
	"loops/fsm"
	"loops/fsm/glob"
	"loops/internal/testenv"
)

// A verifier does the script of a check, and looks at its files while it does.
type verifier struct {
	*action.Runner
	look func()
}

func (v verifier) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	v.look()
	return v.Runner.Run(ctx, a, out)
}

// A hundred agents make random changes to the tests, make them pass, and end with exit code 0. The check of
// each has the files with which the run began, fails, and leaves the files as the agent left them.
func TestCheckCatchesEachAgent(t *testing.T) {
	t.Parallel()
	testenv.Command(t, "git")
	const agents = 100
	p := newLifeProject(t, "")
	p.Env = gitEnv()
	shell(t, p.Dir, "git init -q && mkdir -p tests/a src && echo 'grep -q good src/a && sh tests/a/more.sh' > "+
		"tests/run.sh && echo 'test -e src/done' > tests/a/more.sh && echo bad > src/a && git add . && git "+
		"commit -q -m one")
	pattern, err := glob.Compile("tests/**")
	if err != nil {
		t.Fatal(err)
	}
	patterns := []glob.Pattern{pattern}
	place := t.TempDir()
	w := newWalks(p, undoEnv(p, Options{}), "caught-1", place)
	w.below = gitPatterns(patterns)
	defer w.close()
	c := &checks{folders: w, needed: true}
	begin, err := c.start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(p.Dir, "tests")
	want := filesOfTree(t, tests)
	r := &action.Runner{Dir: p.Dir, Env: gitEnv(), RunDir: t.TempDir(), Grace: time.Second}
	defer r.Close() //nolint:errcheck // what it leaves is temporary
	caught := 0
	for n := range agents {
		change := rand.New(rand.NewPCG(39, uint64(n)))
		shell(t, p.Dir, "rm -rf tests src .gitignore && git reset -q --hard && git clean -fdxq -e .loops")
		for range 3 {
			if _, err := (scribbles{tests, change}).Run(t.Context(), fsm.Action{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		cheat := []string{
			"echo 'exit 0' > tests/run.sh", "rm -rf tests; mkdir tests; echo 'exit 0' > tests/run.sh",
			"echo tests >> .gitignore; echo 'exit 0' > tests/run.sh",
			"rm -rf tests; mkdir -p other; echo 'exit 0' > other/run.sh; ln -s other tests",
			"rm -rf tests/run.sh; ln -s /dev/null tests/run.sh",
			"git rm -rqf --cached tests; echo 'exit 0' > tests/run.sh",
			"git -C tests init -q; echo 'exit 0' > tests/run.sh",
			"echo 'exit 0' > tests/run.sh; git add -A; git commit -qm ok",
		}[change.IntN(8)]
		shell(t, p.Dir, cheat+"; sh tests/run.sh; echo ok")
		left := filesOfTree(t, p.Dir)
		v := verifier{r, func() { sameFiles(t, fmt.Sprintf("agent %d (%s): the check", n, cheat), tests, want) }}
		res, err := c.over(t.Context(), v, fsm.Action{
			Kind: fsm.KindShell, Text: "sh tests/run.sh", State: "test", Step: n + 1, Attempt: 1,
			Check: &fsm.CheckRun{Start: patterns, Begin: begin},
		}, nil)
		if err != nil {
			t.Fatalf("agent %d (%s): %v", n, cheat, err)
		}
		if res.ExitCode != 0 {
			caught++
		} else {
			t.Errorf("agent %d is not caught: %s", n, cheat)
		}
		sameFiles(t, fmt.Sprintf("agent %d (%s): after the check", n, cheat), p.Dir, left)
		if _, err := os.Lstat(c.file()); err == nil {
			t.Errorf("agent %d: files are still laid over others", n)
		}
		shell(t, p.Dir, "rm -rf tests/.git; git reset -q --soft $(git rev-list --max-parents=0 HEAD)")
	}
	if caught != agents {
		t.Errorf("%d of %d agents are caught", caught, agents)
	}
}

package main_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"loops/internal/testenv"
)

var readOfJournal = regexp.MustCompile(`(?m)(?:read|pread64)\(\d+<[^>]*\.events\.jsonl>.* = (\d+)$`)

// TestFollowersReadOnFromAByte: a command that follows a run reads what it recorded before once, however often
// something is added.
func TestFollowersReadOnFromAByte(t *testing.T) {
	t.Parallel()
	strace := testenv.Command(t, "strace")
	testenv.Tracing(t)
	for _, args := range []string{"events -f --json grow", "attach --all --json grow"} {
		t.Run(strings.Fields(args)[0], func(t *testing.T) {
			t.Parallel()
			dir, env := watchProject(t, "dir", `name: grow
initial: print
max_steps: 10000
states:
  print: {action: "seq -f %0100.0f 20000", next: tick}
  tick: {action: "touch ticked; sleep 0.05; test -e enough", on_yes: end, on_no: tick}
  end: {terminal: true}
`)
			waitForFile(t, filepath.Join(dir, "ticked"))
			ctx, stop := context.WithTimeout(t.Context(), testenv.Patience)
			defer stop()
			trace := filepath.Join(t.TempDir(), "trace")
			cmd := exec.CommandContext(ctx, strace,
				append([]string{"-f", "-y", "-e", "trace=read,pread64", "-o", trace, binary(t)},
					strings.Fields(args)...)...)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			// for a test that fails before
			t.Cleanup(func() { _ = os.WriteFile(filepath.Join(dir, "enough"), nil, 0o644) })
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 16<<20)
			ticks := 0
			for lines.Scan() {
				if strings.Contains(lines.Text(), `"event": "route"`) {
					if ticks++; ticks == 40 {
						must(t, os.WriteFile(filepath.Join(dir, "enough"), nil, 0o644))
					}
				}
			}
			must(t, cmd.Wait())
			if ticks < 40 {
				t.Fatalf("there are %d routes", ticks)
			}
			text, err := os.ReadFile(trace)
			must(t, err)
			read, calls := 0, 0
			for _, m := range readOfJournal.FindAllStringSubmatch(string(text), -1) {
				n, err := strconv.Atoi(m[1])
				must(t, err)
				read, calls = read+n, calls+1
			}
			journals, err := filepath.Glob(filepath.Join(dir, ".loops/.history/*/events.jsonl"))
			must(t, err)
			if len(journals) != 1 {
				t.Fatalf("there are the journals %s", journals)
			}
			st, err := os.Stat(journals[0])
			must(t, err)
			t.Logf("%d bytes in %d calls, of %d", read, calls, st.Size())
			if st.Size() < 1_000_000 || read == 0 {
				t.Errorf("%d bytes were read of a journal of %d", read, st.Size())
			}
			if int64(read) > 2*st.Size() {
				t.Errorf("%d bytes were read of a journal of %d", read, st.Size())
			}
		})
	}
}

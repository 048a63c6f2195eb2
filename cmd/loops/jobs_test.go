package main_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A job is one that loop authors used to write in bash: an example of at most 15 lines.
type job struct {
	name  string
	asks  bool              // it needs an answer
	files map[string]string // in the folder of the run, in the end; "" = whatever is in them
}

// jobs are also run by TestExamples, but for the one that asks.
func jobs() []job {
	thirty := map[string]string{}
	for i := 101; i <= 130; i++ {
		n := fmt.Sprint(i)
		thirty[n+".in"] = n + "\n"
		thirty[n+".in.log"] = "" // an item that was killed is done again
		thirty[n+".out"] = strings.Map(func(r rune) rune { return r - '0' + 'a' }, n) + "\n"
	}
	return []job{
		{name: "thirty", files: thirty},
		{name: "backoff", files: map[string]string{"ordered": "", "used": "it came\n"}},
		{
			name: "approval", asks: true,
			files: map[string]string{"package": "version 1.4.2\n", "shipped": "shipped: it's green\n"},
		},
	}
}

// TestJobsSurviveKills kills the program at random moments of each job, resumes it until it has ended, and
// compares what is left with what a run that was never killed leaves, in each store. Without -torture one
// database has every other job.
func TestJobsSurviveKills(t *testing.T) {
	t.Parallel()
	rounds := 1
	if *torture {
		rounds = max(1, *crashes/50)
	}
	t.Logf("again with: go test ./cmd/loops -run TestJobsSurviveKills -crash-seed %d", *crashSeed)
	server := startPostgres(t)
	for n, store := range []string{"dir", "sqlite:runs.db", "postgres"} {
		for k, j := range jobs() {
			place := func(round int) string {
				if store == "postgres" {
					return server.URL(fmt.Sprintf("j%d_%d_%d", n, k, round))
				}
				return store
			}
			if n > 0 && (n+k)%2 != 0 && !*torture {
				continue
			}
			t.Run(storeName(store)+"/"+j.name, func(t *testing.T) {
				t.Parallel()
				whole := newJobDir(t, place(0), j)
				begin := time.Now()
				if kills := j.toEnd(t, whole, nil, 0); kills != 0 {
					t.Fatalf("the unbroken run was killed %d times", kills)
				}
				length := time.Since(begin)
				want := whole.left(t)
				j.check(t, whole)
				for round := 1; round <= rounds; round++ {
					dir := newJobDir(t, place(round), j)
					kills := j.toEnd(t, dir, rand.New(rand.NewPCG(*crashSeed, uint64(100*n+10*k+round))), length)
					got := dir.left(t)
					want.captured, got.captured = nil, nil // times, and who answered; what was said is in the files
					if d := compareLeft(want, got); d != "" {
						t.Errorf("killed %d times: %s\nevents:\n%s", kills, d, tail(got.events, 30))
					}
					j.check(t, dir)
				}
			})
		}
	}
}

func newJobDir(t *testing.T, store string, j job) crashDir {
	t.Helper()
	d := crashDir{t.TempDir(), store}
	must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
	text := readText(t, "../../"+examples+"/"+j.name+".yaml")
	if n := strings.Count(text, "\n"); n > 16 || !strings.HasPrefix(text, "#") { // the first line says how it is run
		t.Errorf("%s has %d lines, and 15 are enough for it", j.name, n-1)
	}
	must(t, os.WriteFile(filepath.Join(d.cwd, ".loops", j.name+".yaml"), []byte(text), 0o644))
	must(t, os.WriteFile(filepath.Join(d.cwd, "log.txt"), nil, 0o644)) // see left
	return d
}

// toEnd runs the job, kills it one to three times if rnd is set, resumes it until it ends, and answers what it
// asks. It returns how often it was killed.
func (j job) toEnd(t *testing.T, d crashDir, rnd *rand.Rand, length time.Duration) (kills int) {
	t.Helper()
	planned := 0
	if rnd != nil {
		planned = 1 + rnd.IntN(maxKillsPerRun)
	}
	verb, answered := "run", !j.asks
	for range 4 * maxKillsPerRun {
		var after time.Duration
		if kills < planned {
			after = time.Duration(rnd.Int64N(int64(length))) + time.Millisecond
		}
		p := d.start(t, verb, j.name, "--quiet")
		code := j.end(t, d, p, after, &answered)
		switch {
		case code == -float64(syscall.SIGKILL):
			kills++
			verb = "resume"
		case code == 0:
			return kills
		case code == 4 && verb == "resume": // see crashDir.runToEnd
			d.sweep(t)
			if d.status(t, j.name) == "completed" {
				return kills
			}
			verb = "run"
		default:
			t.Fatalf("%s after %d kills exits with %v: %s", verb, kills, code, d.said(t))
		}
	}
	t.Fatalf("the run did not come to its end after %d kills", kills)
	return 0
}

// end waits for the end of a process, answers what it asks meanwhile, and kills it after a while if that is not 0.
func (j job) end(t *testing.T, d crashDir, p crashProcess, after time.Duration, answered *bool) float64 {
	t.Helper()
	begin, code := time.Now(), 0.0
	ended := testenv.Within(testenv.Patience, func() bool {
		select {
		case <-p.done:
			code = exitCode(p.cmd.ProcessState)
			return true
		default:
		}
		if after > 0 && time.Since(begin) > after {
			code = p.end(t, time.Nanosecond)
			return true
		}
		if !*answered {
			*answered = d.startInto(t, "answer.out", "answer", j.name, "approve", "--field", "reason=it's green").end(
				t, 0) == 0
		}
		return false
	})
	if !ended {
		t.Fatalf("%v did not end: %s", p.cmd.Args, d.said(t))
	}
	return code
}

// check compares the files in the folder of the run with what they are to be.
func (j job) check(t *testing.T, d crashDir) {
	t.Helper()
	got := map[string]string{}
	for _, path := range visible(d.cwd, ".loops/runs/*/*") {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() &&
			filepath.Base(path) != "definition.loop" {
			got[filepath.Base(path)] = readText(t, path)
		}
	}
	for name, want := range j.files {
		if text, ok := got[name]; !ok || want != "" && text != want {
			t.Errorf("%s of %s is %q (there: %v), want %q", name, j.name, text, ok, want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("%s also left %v", j.name, slices.Sorted(maps.Keys(got)))
	}
}

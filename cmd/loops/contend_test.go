package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"

	"loops/persistence"
	"loops/persistence/dirstore"
)

// contendLoop locks two paths, and says in a log that all share when it begins to act, on which, and when it
// has done so. Lines are appended whole, so their order is what happened.
const contendLoop = `name: contend
description: acts on two paths for a moment
scope: ["${context.one}", "${context.two}"]
context: {id: "", one: "", two: "", for: 0}
initial: act
states:
  act:
    action: |
      echo "b ${context.id} ${context.one} ${context.two}" >> log.txt
      sleep ${context.for}
      echo "e ${context.id}" >> log.txt
    on_yes: done
    on_no: failed
  done: {terminal: true}
  failed: {terminal: true}
`

// A contender is a process that wants to act on two paths.
type contender struct {
	id       string
	paths    [2]string
	process  crashProcess
	killedAt time.Duration // after its start; 0 = never
}

// newContender chooses paths of a small tree: mostly its leaves, so that many can act at once, sometimes all of it.
func newContender(rnd *rand.Rand, i int) *contender {
	path := func() string {
		switch n := rnd.IntN(20); {
		case n == 0:
			return "t"
		case n < 4:
			return fmt.Sprintf("t/%d", rnd.IntN(4))
		default:
			return fmt.Sprintf("t/%d/%d", rnd.IntN(4), rnd.IntN(4))
		}
	}
	return &contender{id: fmt.Sprint("c", i), paths: [2]string{path(), path()}}
}

func (c *contender) start(t *testing.T, d crashDir, rnd *rand.Rand) {
	t.Helper()
	c.process = d.startInto(t, "said."+c.id, "run", "contend", "--quiet", "--queue", "--context", "id="+c.id,
		"--context", "one="+c.paths[0], "--context", "two="+c.paths[1], "--context",
		fmt.Sprintf("for=0.0%02d", rnd.IntN(40)))
}

// checkContenders goes through the log and says where two that overlap acted at once. A killed one acts until the next
// that overlaps begins: it must not say anything after that.
func checkContenders(log string, killed func(id string) bool) error {
	type acting struct {
		id    string
		paths []string
	}
	var now []acting
	over := map[string]string{} // a contender that was killed -> the one that began after it
	for n, line := range strings.Split(strings.TrimSpace(log), "\n") {
		words := strings.Fields(line)
		if len(words) < 2 {
			return fmt.Errorf("line %d of the log is %q", n+1, line)
		}
		id := words[1]
		if after := over[id]; after != "" {
			return fmt.Errorf("line %d: %s acts although it was killed and %s began after that", n+1, id, after)
		}
		if words[0] == "e" {
			i := slices.IndexFunc(now, func(a acting) bool { return a.id == id })
			if i < 0 {
				return fmt.Errorf("line %d: %s ends and did not begin", n+1, id)
			}
			now = slices.Delete(now, i, i+1)
			continue
		}
		for _, a := range now {
			if a.id == id {
				return fmt.Errorf("line %d: %s begins twice", n+1, id)
			}
			if _, both := persistence.Overlap(a.paths, words[2:]); !both {
				continue
			}
			if !killed(a.id) {
				return fmt.Errorf("line %d: %s acts on %v while %s acts on %v", n+1, id, words[2:], a.id, a.paths)
			}
			over[a.id] = id
		}
		now = slices.DeleteFunc(now, func(a acting) bool { return over[a.id] != "" })
		now = append(now, acting{id, words[2:]})
	}
	for _, a := range now {
		if !killed(a.id) {
			return fmt.Errorf("%s began and did not end", a.id)
		}
	}
	return nil
}

// TestContenders: many want to act on paths that overlap, some are killed while they wait or act, and no two
// that overlap ever act at once. All come to their end, and no process waits when it is over. `make torture`
// does it more often.
func TestContenders(t *testing.T) {
	t.Parallel()
	t.Logf("again with: go test ./cmd/loops -run TestContenders -crash-seed %d", *crashSeed)
	rounds := 1
	if *torture {
		rounds = 8
	}
	for _, c := range []struct {
		store string
		many  int
	}{{"dir", 40}, {"sqlite:runs.db", 24}, {"postgres", 12}} {
		t.Run(storeName(c.store), func(t *testing.T) {
			store, many := c.store, c.many
			if store == "postgres" {
				store = startPostgres(t).URL("contend")
			}
			if *torture {
				many = max(many, 100)
			}
			for round := range rounds {
				contend(t, store, many, rand.New(rand.NewPCG(*crashSeed, uint64(round))))
			}
		})
	}
}

func contend(t *testing.T, store string, many int, rnd *rand.Rand) {
	t.Helper()
	d := contendDir(t, store)
	var all []*contender
	killed := map[string]bool{}
	for i := range many {
		c := newContender(rnd, i)
		if i%6 == 3 && runtime.GOOS == "linux" { // elsewhere an action outlives its runner for a while
			c.killedAt = time.Duration(rnd.Int64N(int64(many) * int64(50*time.Millisecond)))
			killed[c.id] = true
		}
		c.start(t, d, rnd)
		if c.killedAt > 0 {
			time.AfterFunc(c.killedAt, func() { _ = c.process.cmd.Process.Kill() }) // it may have ended
		}
		all = append(all, c)
	}
	ended := 0
	for _, c := range all {
		switch code := c.process.end(t, 0); {
		case code == 0:
			delete(killed, c.id)
			ended++
		case code != -float64(syscall.SIGKILL) || c.killedAt == 0:
			t.Errorf("%s on %v exits with %v: %s", c.id, c.paths, code, readText(t, filepath.Join(d.cwd, "said."+c.id)))
		}
	}
	log := readText(t, filepath.Join(d.cwd, "log.txt"))
	if err := checkContenders(log, func(id string) bool { return killed[id] }); err != nil {
		t.Errorf("%v\nlog:\n%s", err, log)
	}
	if n := strings.Count(log, "\ne "); n < ended || n > ended+len(killed) {
		t.Errorf("%d have ended, %d say so:\n%s", ended, n, log)
	}
	line, err := persistence.ProjectQueue(filepath.Join(d.cwd, ".loops")).Waiters()
	if err != nil || len(line) > 0 {
		t.Errorf("%v, who waits when all is over: %+v", err, line)
	}
	if !t.Failed() {
		t.Logf("%d of %d ended, %d were killed", ended, many, len(killed))
	}
}

func contendDir(t *testing.T, store string) crashDir {
	t.Helper()
	d := crashDir{t.TempDir(), store}
	must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(d.cwd, ".loops/contend.yaml"), []byte(contendLoop), 0o644))
	return d
}

// TestFairOrder: contenders that came one after the other act in that order, also where the first of them could begin
// and the others be quicker.
func TestFairOrder(t *testing.T) {
	t.Parallel()
	d := contendDir(t, "dir")
	rnd := rand.New(rand.NewPCG(1, 2))
	queue := persistence.ProjectQueue(filepath.Join(d.cwd, ".loops"))
	holder, err := dirstore.Open(filepath.Join(d.cwd, ".loops"))
	must(t, err)
	lock, err := holder.Create(t.Context(),
		persistence.Spec{Loop: "holder", Scope: []string{d.cwd}, Owner: persistence.Owner{PID: os.Getpid()}})
	must(t, err)
	var all []*contender
	want := ""
	for i, paths := range [][2]string{
		{"t", "u"},
		{"t/1", "u/1"},
		{"u", "t/1/2"},
		{"t", "t"},
		{"t/1", "v"},
		{"u", "t/1"},
		{"t/1/2/3", "t"},
	} {
		c := &contender{id: fmt.Sprint("c", i), paths: paths}
		c.start(t, d, rnd)
		all = append(all, c)
		want += "e " + c.id + "\n"
		waits := func() bool { line, err := queue.Waiters(); return err == nil && len(line) == i+1 }
		if !testenv.Within(testenv.Patience, waits) {
			t.Fatalf("%s does not wait: %s", c.id, readText(t, filepath.Join(d.cwd, "said."+c.id)))
		}
	}
	must(t, lock.Close(t.Context()))
	for _, c := range all {
		if code := c.process.end(t, 0); code != 0 {
			t.Errorf("%s exits with %v: %s", c.id, code, readText(t, filepath.Join(d.cwd, "said."+c.id)))
		}
	}
	got := ""
	for line := range strings.Lines(readText(t, filepath.Join(d.cwd, "log.txt"))) {
		if strings.HasPrefix(line, "e ") {
			got += line
		}
	}
	if got != want {
		t.Errorf("they ended in the order\n%swant\n%s", got, want)
	}
}

// The checker finds what it looks for.
func TestContendersAreChecked(t *testing.T) {
	for log, want := range map[string]string{
		"b a t/1 t/2\ne a\nb b t t\ne b":             "",
		"b a t/1 t/2\nb b t/3 u\ne b\ne a":           "",
		"b a t/1 t/2\nb b u t/2/x\ne b\ne a":         "b acts on",
		"b a t/1 t/2\nb b t t/9\ne a\ne b":           "b acts on",
		"b k t t\nb a t t\ne a":                      "",
		"b k t t\nb a t t\ne k\ne a":                 "acts although it was killed",
		"b a t t":                                    "did not end",
		"b k t t":                                    "",
		"e a":                                        "did not begin",
		"b a t t\nb a t t":                           "begins twice",
		"b a t t\ne a\nb":                            "line 3",
		"b k t/1 t/1\nb a t/2 t/2\ne k\ne a":         "",
		"b k t/1 t/1\nb a t/1 t/1\nb b t/1 u\ne a\n": "b acts on",
	} {
		err := checkContenders(log, func(id string) bool { return id == "k" })
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", log, err, want)
		}
	}
}

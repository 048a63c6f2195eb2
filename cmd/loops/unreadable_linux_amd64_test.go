package main_test

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"loops/internal/testenv"
)

// readCalls read a file.
var readCalls = map[uint64]bool{
	unix.SYS_OPENAT: true, unix.SYS_READ: true, unix.SYS_PREAD64: true, unix.SYS_READV: true, unix.SYS_PREADV: true,
	unix.SYS_GETDENTS64: true,
}

// unreadableLoop is capped, and its process dies when it is resumed: its journal has two whole memories, so that it can
// be split in two parts.
const unreadableLoop = `name: LOOP
description: has a journal in two parts
initial: a
states:
  a: {action: 'seq 300', capture: a, next: b}
  b: {action: 'seq 300', capture: b, next: c}
  c: {action: 'echo c; test -e survive || kill -9 $PPID', next: done}
  done: {terminal: true}
`

// looksAtRuns are commands that read what is recorded of a run.
var looksAtRuns = []string{
	"history ID", "history ID -v -n 0 --json", "events ID --json", "explain ID --json", "status ID --json",
	"list --running", "logs ID",
	"graph ID", "stats LOOP --json", "cost LOOP --json", "status", "report ID -o -", "report ID --format junit -o -",
	"export ID -o run.tar.gz --force",
	"store copy dir sqlite:other.db", "fork ID --at 2 --dry-run",
}

// TestUnreadableJournal: where the disk cannot read what is recorded of a run, a view ended in the middle and
// exited with 0, as if that were all there is. Each read of each view fails once: the view says which file it
// is and exits with 74, or shows all. `make torture` does so with each view of each record; otherwise a view
// meets two of the six records, and some of its reads fail.
func TestUnreadableJournal(t *testing.T) {
	t.Parallel()
	testenv.Tracing(t)
	for i, c := range []struct{ store, file string }{
		{"dir", "events"},
		{"dir", "state.json"},
		{"sqlite:runs.db", "runs.db"},
	} {
		for j, loop := range []string{"ended", "open"} {
			t.Run(storeName(c.store)+"/"+c.file+"/"+loop, func(t *testing.T) {
				t.Parallel()
				d, id := newUnreadable(t, c.store, loop)
				in := interference{calls: readCalls, opens: true, below: c.file, errno: syscall.EIO}
				looks, told := looksAtRuns, 0
				if loop == "open" {
					looks = append(looks, "resume ID --quiet")
				}
				for k, look := range looks {
					if (i+j+k)%3 != 0 && !*torture && !strings.HasPrefix(look, "events ") {
						continue
					}
					if c.store != "dir" && strings.HasPrefix(look, "store copy") {
						look = "store copy " + c.store + " sqlite:other.db"
					}
					told += d.unreadable(t, in, strings.NewReplacer("ID", id, "LOOP", loop).Replace(look))
				}
				// Most failed reads of state.json need not be reported, for it follows from the journal: one chosen for
				// each view may miss all others.
				if told == 0 && (*torture || c.file != "state.json") {
					t.Error("nothing was told")
				}
				t.Logf("%d reads were refused and told", told)
			})
		}
	}
}

// newUnreadable is a project with a run that has ended, or can be resumed. Of its files the journal is in two parts.
func newUnreadable(t *testing.T, store, loop string) (d crashDir, id string) {
	d = crashDir{t.TempDir(), store}
	must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(d.cwd, ".loops", loop+".yaml"),
		[]byte(strings.ReplaceAll(unreadableLoop, "LOOP", loop)), 0o644))
	do := func(code float64, args ...string) {
		t.Helper()
		if got := d.start(t, args...).end(t, 0); got != code {
			t.Fatalf("%v exits with %v: %s", args, got, d.said(t))
		}
	}
	do(5, "run", loop, "-n", "1", "--quiet")
	survive := filepath.Join(d.cwd, "survive")
	if loop == "ended" {
		must(t, os.WriteFile(survive, nil, 0o644))
		do(0, "resume", loop, "-n", "9", "--quiet")
	} else {
		do(-9, "resume", loop, "-n", "9", "--quiet")
		must(t, os.WriteFile(survive, nil, 0o644))
	}
	if store != "dir" {
		return d, d.newest(t, loop)
	}
	id = d.newest(t, loop)
	events, parts := filepath.Join(d.cwd, ".loops/.running", id+".events.jsonl"),
		filepath.Join(d.cwd, ".loops/.running", id+".events")
	if loop == "ended" {
		events = globOne(t, filepath.Join(d.cwd, ".loops/.history/*/events.jsonl"))
		parts = strings.TrimSuffix(events, ".jsonl")
	}
	text := readText(t, events)
	at := strings.LastIndex(text, "\"loop_resume\"")
	if at < 0 {
		t.Fatal("no resume is recorded")
	}
	at = strings.LastIndex(text[:at], "\n") + 1
	must(t, os.Mkdir(parts, 0o700))
	must(t, os.WriteFile(filepath.Join(parts, "000001.jsonl"), []byte(text[:at]), 0o600))
	must(t, os.WriteFile(events, []byte(text[at:]), 0o600))
	return d, id
}

var numbers = regexp.MustCompile(`[0-9]+`)

// unreadable refuses a command one read after the other, and returns how often it reported that.
func (d crashDir) unreadable(t *testing.T, in interference, look string) (told int) {
	t.Helper()
	whole := d.again(t)
	code, _, calls := whole.interfere(t, in, 0, strings.Fields(look)...)
	want := numbers.ReplaceAllString(whole.said(t), "N")
	if code != 0 {
		t.Errorf("%s exits with %v: %s", look, code, want)
		return 0
	}
	first, step := 1, 1
	if !*torture {
		step = max(1, calls)
		// of one view several reads fail, or none might be one that has to be reported
		if strings.HasPrefix(look, "events ") {
			step = max(1, calls/6)
		}
		first += rand.New(rand.NewPCG(*crashSeed, 0)).IntN(step)
	}
	for n := first; n <= calls; n += step {
		d := d.again(t)
		code, hit, _ := d.interfere(t, in, n, strings.Fields(look)...)
		said := d.said(t)
		switch {
		case hit == "":
			return told
		case code == 74 && strings.Contains(said, in.below):
			told++
		case code == 0 && in.below == "state.json" && strings.Contains(said, "state.json: input/output error"):
			told++
		case code == 0:
			for line := range strings.Lines(want) {
				if in.below == "state.json" && strings.Contains(line, "pdated") {
					continue // it is a view of the journal, but for when the run was recorded last
				}
				if !strings.Contains(numbers.ReplaceAllString(said, "N"), line) {
					t.Errorf("%s, read %d of %d, %s: it exits with 0 and does not print %q, but\n%s", look, n, calls,
						hit, line, cut(said, 800))
					break
				}
			}
		default:
			t.Errorf("%s, read %d of %d, %s: it exits with %v: %s", look, n, calls, hit, code, cut(said, 800))
		}
		must(t, os.RemoveAll(d.cwd))
	}
	return told
}

// again is a copy of a project.
func (d crashDir) again(t *testing.T) crashDir {
	t.Helper()
	root := filepath.Join(filepath.Dir(d.cwd), "again")
	must(t, os.RemoveAll(root))
	must(t, os.CopyFS(root, os.DirFS(d.cwd)))
	if d.store != "dir" {
		db, err := sql.Open("sqlite", filepath.Join(root, "runs.db")+"?_pragma=busy_timeout(10000)")
		must(t, err)
		ownRuns(t, db, root)
		must(t, db.Close())
	}
	return crashDir{root, d.store}
}

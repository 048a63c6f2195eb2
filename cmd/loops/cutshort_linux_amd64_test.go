package main_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/sqlstore"
	"loops/reconcile"
)

const cutLoop = `name: good
description: leaves a file and a large text
initial: a
states:
  a: {action: 'mkdir -p "${context.run_dir}/out"; echo kept > "${context.run_dir}/out/kept"; head -c 70000 /dev/zero | tr "\\0" x', capture: big, next: done}
  done: {terminal: true}
`

const cutOpen = `name: open
description: can be resumed
initial: a
states:
  a: {action: 'echo one', next: b}
  b: {action: 'echo two', next: done}
  done: {terminal: true}
`

// dead kills its runner in its first action.
const cutDead = `name: dead
description: its process dies
initial: a
states:
  a: {action: 'test -e survive || kill -9 $PPID', next: done}
  done: {terminal: true}
`

// A cutProject is a project with recorded runs, of which copies are made for commands to be cut short in.
type cutProject struct {
	crashDir
	ids  map[string]string       // of its runs, by what the cases call them
	live map[string]crashProcess // commands that continue, by their loop

	server *cutServer // of PostgreSQL, on which its database is; nil = it records elsewhere
}

func newCutProject(t *testing.T, store string) cutProject {
	t.Helper()
	p := cutProject{crashDir: crashDir{t.TempDir(), store}, ids: map[string]string{}}
	if store == "postgres" {
		// no power is lost
		p.server = &cutServer{PostgresServer: ownPostgres(t, "fsync = off", "full_page_writes = off",
			"autovacuum = off")}
		p.store = p.server.database(t, "template1")
	}
	must(t, os.Mkdir(filepath.Join(p.cwd, ".loops"), 0o755))
	for name, text := range map[string]string{
		"good": cutLoop, "open": cutOpen, "dead": cutDead, "hold": cutHold,
		"waiter": cutWaiter, "backoff": cutBackoff,
	} {
		must(t, os.WriteFile(filepath.Join(p.cwd, ".loops", name+".yaml"), []byte(text), 0o644))
	}
	do := func(code float64, args ...string) {
		t.Helper()
		if got := p.start(t, args...).end(t, 0); got != code {
			t.Fatalf("%v exits with %v: %s", args, got, p.said(t))
		}
	}
	do(0, "run", "good", "--quiet")
	away := p.newest(t, "good")
	do(0, "export", away, "-o", "away.tar.gz")
	do(0, "rm", away)
	nextSecond(t) // no other run has its id
	do(0, "run", "good", "--quiet")
	p.ids["first"], p.ids["away"] = p.newest(t, "good"), away
	do(0, "run", "-b", "good")
	do(0, "attach", "good")
	p.ids["good"] = p.newest(t, "good")
	do(5, "run", "open", "-n", "1", "--quiet")
	p.ids["open"] = p.newest(t, "open")
	if code := p.start(t, "run", "dead", "--quiet").end(t, 0); code == 0 {
		t.Fatal("its process did not die")
	}
	p.ids["dead"] = p.newest(t, "dead")
	must(t, os.WriteFile(filepath.Join(p.cwd, "survive"), nil, 0o644))
	return p
}

func (d crashDir) newest(t *testing.T, loop string) string {
	t.Helper()
	var run struct {
		ID string `json:"instance_id"`
	}
	if code := d.start(t, "status", loop, "--json").end(t, 0); code != 0 ||
		json.Unmarshal([]byte(d.said(t)), &run) != nil || run.ID == "" {
		t.Fatalf("status of %s exits with %v: %s", loop, code, d.said(t))
	}
	return run.ID
}

// copied is another project with the same.
func (p cutProject) copied(t *testing.T, dir string) cutProject {
	t.Helper()
	must(t, os.CopyFS(dir, os.DirFS(p.cwd)))
	p.cwd, p.ids, p.live = dir, maps.Clone(p.ids), map[string]crashProcess{}
	if p.server != nil {
		u, err := url.Parse(p.store)
		must(t, err)
		p.store = p.server.database(t, strings.TrimPrefix(u.Path, "/"))
	}
	if p.store != "dir" { // the runs of the copy are those of its project
		db := p.query(t)
		defer db.Close()
		ownRuns(t, db, dir)
	}
	return p
}

// ownRuns makes the runs of a database those of the project in dir, a copy of their own.
func ownRuns(t *testing.T, db *sql.DB, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	must(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE runs SET project = '"+dir+"' WHERE project <> ''")
	must(t, err)
}

// discard removes a copy.
func (p cutProject) discard(t *testing.T) {
	t.Helper()
	testenv.RemoveSoon(t, p.cwd)
	if p.server != nil {
		p.server.drop(t, p.store)
	}
}

// cutLease is that of runs there. A connection may take its time where the machine has much to do.
const cutLease = "lease=2s&connect_timeout=30"

// A cutServer has a database for each copy of a project.
type cutServer struct {
	*testenv.PostgresServer
	made atomic.Int64
}

func (s *cutServer) do(t *testing.T, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", s.URL(""))
	must(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	must(t, err)
}

// database makes a copy of a database, and returns where it is.
func (s *cutServer) database(t *testing.T, from string) string {
	t.Helper()
	name := fmt.Sprintf("cut%d", s.made.Add(1))
	s.do(t, "CREATE DATABASE "+name+" TEMPLATE "+from)
	return strings.Replace(s.URL(""), "/postgres?", "/"+name+"?"+cutLease+"&", 1)
}

func (s *cutServer) drop(t *testing.T, store string) {
	t.Helper()
	u, err := url.Parse(store)
	must(t, err)
	s.do(t, "DROP DATABASE "+strings.TrimPrefix(u.Path, "/")+" WITH (FORCE)")
}

// query opens the database of the project, past the program.
func (p cutProject) query(t *testing.T) *sql.DB {
	t.Helper()
	driver, at := "sqlite", filepath.Join(p.cwd, p.database())+"?_pragma=busy_timeout(10000)"
	if p.server != nil {
		driver, at = "pgx", strings.Replace(p.store, cutLease+"&", "", 1)
	}
	db, err := sql.Open(driver, at)
	must(t, err)
	return db
}

// open opens the store of the project in this process.
func (p cutProject) open(t *testing.T) persistence.Store {
	t.Helper()
	if p.store == "dir" {
		d, err := dirstore.Open(filepath.Join(p.cwd, ".loops"))
		must(t, err)
		return d
	}
	at := p.store
	if p.server == nil {
		at = "sqlite:" + filepath.Join(p.cwd, p.database())
	}
	s, err := sqlstore.Open(t.Context(), at)
	must(t, err)
	s.Folder = filepath.Join(p.cwd, ".loops", "runs")
	return s
}

func (p cutProject) database() string {
	path, _, _ := strings.Cut(strings.TrimPrefix(p.store, "sqlite:"), "?")
	return path
}

// recorded is the status of each run, and a sum of all there is about it.
func (p cutProject) recorded(t *testing.T) map[string]string {
	t.Helper()
	s := p.open(t)
	defer s.Close()
	runs, err := s.Runs(t.Context(), persistence.Query{})
	must(t, err)
	all := map[string]string{}
	for _, r := range runs {
		if _, twice := all[string(r.ID)]; twice {
			t.Errorf("%s is listed twice", r.ID)
		}
		sum, err := persistence.Sum(t.Context(), s, r)
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
		b, _ := os.ReadFile(filepath.Join(p.cwd, ".loops/runs", string(r.ID), "out/kept"))
		all[string(r.ID)] = fmt.Sprintf("%s %s %q", r.Status, sum.Hash, b)
	}
	return all
}

// leaks are files and rows that belong to no run that is listed.
func (p cutProject) leaks(t *testing.T, listed map[string]string) (leaks []string) {
	t.Helper()
	of := func(name string, ends ...string) bool {
		for id := range listed {
			for _, end := range ends {
				if name == id+end {
					return true
				}
			}
		}
		return false
	}
	known := func(folder, name string) bool {
		switch folder {
		case ".running":
			// The lock that a run in a database has here, or had when it died: the next process that begins a run
			// removes it.
			if p.store != "dir" && strings.HasPrefix(name, "elsewhere-") && strings.HasSuffix(name, ".lock") {
				return true
			}
			return name == ".acquire.lock" || name == ".newest" || strings.HasPrefix(name, ".removed-") ||
				of(name, ".state.json", ".state.json.tmp", ".events.jsonl", ".lock", ".pid", ".torn")
		case ".history":
			runID, loop, ok := strings.Cut(strings.Replace(name, "-", "", 2), "-")
			return ok && of(loop+"-"+runID, "")
		case "runs":
			return name == ".place" || of(name, "")
		case ".queue":
			return name == ".lock"
		case "":
			return strings.HasSuffix(name, ".yaml") ||
				slices.Contains([]string{
					".running", ".history", ".queue", "runs", "logs", ".retention", ".gitignore",
					".schema",
				}, name)
		}
		return of(name, ".log", ".log.1", ".log.2", ".log.3")
	}
	for _, folder := range []string{"", ".running", ".history", ".queue", "runs", "logs"} {
		entries, err := os.ReadDir(filepath.Join(p.cwd, ".loops", folder))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !known(folder, e.Name()) {
				leaks = append(leaks, folder+"/"+e.Name())
			}
		}
	}
	// in a working folder, what was asked of a running run
	for _, pattern := range []string{".loops-*", ".loops/runs/*/.*"} {
		hidden, err := fs.Glob(os.DirFS(p.cwd), pattern)
		must(t, err)
		leaks = append(leaks,
			slices.DeleteFunc(hidden, func(name string) bool {
				return p.store != "dir" && filepath.Base(name) == ".place"
			})...)
	}
	if p.store == "dir" {
		return leaks
	}
	db := p.query(t)
	defer db.Close()
	for _, q := range []string{
		`runs WHERE status = ''`, `removals WHERE place <> ''`,
		`definitions WHERE hash NOT IN (SELECT definition FROM runs)`,
		`events WHERE run NOT IN (SELECT n FROM runs)`, `memory WHERE run NOT IN (SELECT n FROM runs)`,
		`texts WHERE run NOT IN (SELECT n FROM runs)`,
		`leases WHERE run NOT IN (SELECT n FROM runs)`, `places WHERE run NOT IN (SELECT n FROM runs)`,
	} {
		var n int
		must(t, db.QueryRow(`SELECT count(*) FROM `+q).Scan(&n))
		if n > 0 {
			leaks = append(leaks, fmt.Sprintf("%d rows of %s", n, q))
		}
	}
	return leaks
}

// TestEachCommandCutShort kills each command that changes something, or refuses it what it asks of the disk, at
// one call that changes files after the other. Then it is called again, and then sweep: nothing may be left of
// what was begun, and no other run may have changed. `make torture` does so at each call; otherwise one is
// chosen, with one kind of trouble, on one store.
func TestEachCommandCutShort(t *testing.T) {
	t.Parallel()
	testenv.Tracing(t)
	for k, store := range []string{"dir", "sqlite:runs.db?lease=100ms", "postgres"} {
		t.Run(storeName(store), func(t *testing.T) {
			var points, commands atomic.Int64
			t.Cleanup(func() { t.Logf("%d commands were cut short at %d calls", commands.Load(), points.Load()) })
			whole := newCutProject(t, store)
			was := whole.recorded(t)
			for i, c := range cutCommands {
				if whole.server != nil && !c.recorded() || whole.server == nil && c.placed {
					continue
				}
				all := whole.interferences()
				if !*torture {
					if (i+int(*crashSeed%97))%3 != k && !c.placed {
						continue // each command is cut short on one store
					}
					all = all[(i+k+int(*crashSeed%97))%len(all):][:1]
				}
				for _, in := range all {
					t.Run(strings.ReplaceAll(c.args, " ", "_")+"/"+in.name, func(t *testing.T) {
						t.Parallel()
						commands.Add(1)
						points.Add(int64(whole.cutShort(t, c, in.interference, was)))
					})
				}
			}
		})
	}
}

// A named interference is a class of them.
type namedInterference struct {
	name string
	interference
}

func (p cutProject) interferences() []namedInterference {
	all := []namedInterference{
		{"killed", interference{calls: changeCalls, sockets: p.server != nil}},
		{"no room", interference{calls: roomCalls, errno: syscall.ENOSPC, rest: true}},
		{"disk error", interference{calls: diskCalls, errno: syscall.EIO}},
	}
	if p.server != nil {
		all = append(all,
			namedInterference{
				"connection lost",
				interference{calls: roomCalls, sockets: true, below: theServer, errno: syscall.ECONNRESET},
			})
	}
	return all
}

// cutShort interferes with a command at its calls, and returns with how many.
func (p cutProject) cutShort(t *testing.T, c cutCommand, in interference, was map[string]string) (cut int) {
	root := t.TempDir()
	in.detached = slices.Contains(strings.Fields(c.args), "-b")
	once := p.prepared(t, c, filepath.Join(root, "whole"))
	code, met := once.traced(t, in, 0, once.words(c.args)...)
	if code != 0 {
		t.Fatalf("unbroken, it exits with %v: %s", code, once.said(t))
	}
	if !c.done(once.after(t)) {
		t.Fatalf("unbroken, it did not do its job: %s", once.said(t))
	}
	if *torture || len(once.live) > 0 {
		once.finish(t, c, was)
	}
	if t.Failed() {
		t.FailNow()
	}
	once.discard(t)
	points := p.cutPoints(met)
	for _, n := range points {
		if cut > 0 && !*torture {
			break
		}
		d := p.prepared(t, c, filepath.Join(root, fmt.Sprint(n)))
		code, hit, _ := d.interfere(t, in, n, d.words(c.args)...)
		said := d.said(t)
		if hit == "" { // it took another course
			d.finish(t, c, was)
			d.discard(t)
			continue
		}
		cut++
		if code == 0 && !c.done(d.after(t)) {
			t.Errorf("it exits with 0 and did not do its job: %s", said)
		}
		d.finish(t, c, was)
		if t.Failed() {
			t.Fatalf("interfered with %d of %d, %s; exit code %v: %s", n, len(met), hit, code, said)
		}
		d.discard(t)
	}
	if cut == 0 && in.errno == 0 { // some ask nothing of the disk
		t.Error("it was not cut short")
	}
	t.Logf("cut short at %d of %d calls", cut, len(met))
	return cut
}

// cutPoints are the calls at which a command is cut short that makes these: with -torture all, but for pages that are
// written to a database right behind one another. Of those the first and the last count, because SQLite uses none of
// them before the last is there. What is sent to a server is mostly a part of a transaction, which has no effect before
// its end: every third counts, beginning with another one each time. Without -torture it is one, or else the first.
func (p cutProject) cutPoints(met []string) (points []int) {
	if len(met) == 0 {
		return nil
	}
	if !*torture {
		return []int{1 + rand.New(rand.NewPCG(*crashSeed, 0)).IntN(len(met)), 1}
	}
	page := func(i int) string {
		if i < 0 || i >= len(met) || !strings.Contains(met[i], ".db") {
			return ""
		}
		return met[i]
	}
	for i := range met {
		if strings.HasSuffix(met[i], theServer) && uint64(i)%3 != *crashSeed%3 {
			continue
		}
		if page(i) == "" || page(i) != page(i-1) || page(i) != page(i+1) {
			points = append(points, i+1)
		}
	}
	return points
}

// prepared is a copy in which a command can be called.
func (p cutProject) prepared(t *testing.T, c cutCommand, dir string) cutProject {
	t.Helper()
	p = p.copied(t, dir)
	if c.setUp != nil {
		c.setUp(t, p)
	}
	return p
}

// after is what there is after a command.
func (p cutProject) after(t *testing.T) cutRun {
	t.Helper()
	said := p.said(t)
	return cutRun{p, t, said, p.recorded(t)}
}

// quiet waits until no run in the background is running.
func (p cutProject) quiet(t *testing.T) {
	t.Helper()
	s := p.open(t)
	defer s.Close()
	p.await(t, "the runs to end", func() bool {
		runs, err := s.Runs(t.Context(), persistence.Query{Live: true})
		must(t, err)
		// a lease may run out where the machine has much to do
		return !slices.ContainsFunc(runs, func(r persistence.Run) bool {
			return r.Held || r.Status == persistence.Running && reconcile.OwnerAlive(r.Owner, r.UpdatedAt)
		})
	})
}

// finish calls a command again that was cut short, and then sweep, and looks at what is there.
func (p cutProject) finish(t *testing.T, c cutCommand, was map[string]string) {
	t.Helper()
	again := c.again
	if again == "" {
		again = c.args
	}
	// An import that died has its run for as long as its lease.
	testenv.Wait(t, "the lease of an import that died", func() bool { return !p.unlisted(t) })
	if c.between != nil {
		c.between(t, p)
	}
	code := p.start(t, p.words(again)...).end(t, 0)
	if code != 0 && !slices.Contains(c.codes, code) {
		t.Errorf("again, it exits with %v: %s", code, p.said(t))
	}
	again = p.said(t)
	if !c.done(p.after(t)) {
		t.Errorf("again, it did not do its job: %s", again)
	}
	if len(p.live) == 0 {
		p.quiet(t)
	}
	if c.settled != nil {
		c.settled(t, p)
	}
	p.sweep(t)
	now := p.recorded(t)
	for id, sum := range was {
		touched := slices.ContainsFunc(c.touches, func(name string) bool { return p.ids[name] == id })
		if !touched && now[id] != sum && id != p.ids["dead"] {
			t.Errorf("%s was %s, and is %q", id, sum, now[id])
		}
	}
	if leaks := p.leaks(t, now); len(leaks) > 0 {
		t.Errorf("left behind: %q; again: %s", leaks, again)
	}
}

// unlisted reports whether the database holds a run that recorded nothing and still has an owner.
func (p cutProject) unlisted(t *testing.T) bool {
	t.Helper()
	if p.store == "dir" {
		return false
	}
	db := p.query(t)
	defer db.Close()
	now := `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
	if p.server != nil {
		now = `CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)`
	}
	var n int
	must(t, db.QueryRow(`SELECT count(*) FROM runs r JOIN leases l ON l.run = r.n WHERE r.status = '' AND l.until > `+
		now).Scan(&n))
	return n > 0
}

// words are those of a command line, with ids for names.
func (p cutProject) words(line string) (words []string) {
	other := "sqlite:other.db"
	if p.store != "dir" {
		other += "?lease=100ms"
	}
	for _, w := range strings.Fields(line) {
		switch name, is := strings.CutPrefix(w, "ID("); {
		case is:
			w = p.ids[strings.TrimSuffix(name, ")")]
		case w == "QUEUED":
			w = p.ids["queued"]
		case w == "FROM":
			w = p.store
		case w == "TO":
			w = other
		}
		words = append(words, w)
	}
	return words
}

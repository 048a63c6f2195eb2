package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// signedLoop runs another loop, and waits in it for a file.
const signedLoop = `name: outer
description: runs another loop
initial: a
states:
  a: {action: "echo a >> steps", next: b}
  b: {loop: inner, on_yes: c, on_no: c}
  c: {action: "echo c >> steps", next: done}
  done: {terminal: true}
`

const signedInner = `name: inner
description: waits for a file
initial: x
states:
  x: {action: "echo x >> steps; while test ! -e go; do sleep 0.05; done; echo X >> steps", next: done}
  done: {terminal: true}
`

// TestWorkerSigned: workers without the loop run it where one of their keys signed it, and continue it when one
// of them dies.
func TestWorkerSigned(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.env = []string{"XDG_CONFIG_HOME=" + filepath.Join(f.dir, "config")}
	f.write(".loops/outer.yaml", signedLoop)
	f.write(".loops/inner.yaml", signedInner)
	key := f.loops("sign", "--new-key")
	if got := f.loops("sign", "--public"); got != key {
		t.Fatalf("the public key is %q and then %q", key, got)
	}
	f.loops("sign", "outer")
	f.loops("sign", "--check", "outer")

	other := f // a folder with none of the loops
	other.dir = t.TempDir()
	must(t, os.Mkdir(filepath.Join(other.dir, ".loops"), 0o755))
	other.write(".loops/config.yaml", "dispatch: {accept: signed, keys: ['"+key+"']}\n")
	id := f.submit("outer")
	one := other.worker()
	other.until("the first worker has the run", func() bool { return len(other.lines("steps")) == 2 })
	other.worker()
	one.kill()
	other.until("the second worker has the run", func() bool { return len(other.lines("steps")) == 3 })
	other.write("go", "")
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	if got := strings.Join(other.lines("steps"), " "); got != "a x x X c" {
		t.Errorf("the steps were %s", got)
	}
	f.wholeHistory(id, "a b x b x c") // one that was taken over enters its states again
}

// TestWorkerSignedRefused: what no accepted key signed as it is begins nothing, and says why.
func TestWorkerSignedRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.env = []string{"XDG_CONFIG_HOME=" + filepath.Join(f.dir, "config")}
	f.write("go", "")
	f.write(".loops/outer.yaml", signedLoop)
	f.write(".loops/inner.yaml", signedInner)
	key := f.loops("sign", "--new-key")
	f.loops("sign", "outer")
	foreign := filepath.Join(f.dir, "foreign.key")
	another := f.loops("sign", "--new-key", "--private-key", foreign)

	other := f
	other.dir = t.TempDir()
	must(t, os.Mkdir(filepath.Join(other.dir, ".loops"), 0o755))
	other.write(".loops/config.yaml", "dispatch: {accept: signed}\n")
	if out, err := other.command("worker").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "dispatch.accept is signed, and dispatch.keys names no key") {
		t.Errorf("a worker without keys says %s", out)
	}
	other.write(".loops/config.yaml", "dispatch: {accept: signed, keys: ['"+key+"']}\n")

	forged := f.submit("outer")
	if _, err := f.db().Exec(`UPDATE placements SET request = replace(request, 'echo c ', 'echo HA ')`); err != nil {
		t.Fatal(err)
	}
	f.loops("sign", "outer", "--private-key", foreign)
	strange := f.submit("outer")
	// a loop that it names is part of it
	f.write(".loops/inner.yaml", strings.Replace(signedInner, "echo x", "echo y", 1))
	if out, err := f.command("sign", "--check", "outer").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "not signed as it is now: outer; to sign it: loops sign outer") {
		t.Errorf("a changed loop: %s", out)
	}
	cmd := f.command("submit", "outer", "--json", "--jq", ".instance_id")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	must(t, err)
	stale := strings.TrimSpace(string(out))
	if want := ".loops/outer.yaml.sig is not of .loops/outer.yaml as it is now"; !strings.Contains(said.String(),
		want) {
		t.Errorf("submit of a changed loop says %q, want %q", said.String(), want)
	}
	other.worker("--slots", "3")
	notes := func(text string) func() bool {
		return func() bool { return strings.Contains(workerLog(other), text) }
	}
	f.until("the changed definition is refused",
		notes("Run "+forged+" did not begin here: the definition that came with it was changed after it was signed"))
	f.until("the foreign key is refused",
		notes("it came signed by "+another+", which is not in dispatch.keys of this worker"))
	f.until("the unsigned definition is refused", notes("Run "+stale+" did not begin here: "))
	for _, id := range []string{forged, strange, stale} {
		if got := f.status(id); got != "queued" {
			t.Errorf("run %s is %s", id, got)
		}
	}
	if got := other.lines("steps"); len(got) > 0 {
		t.Errorf("the steps %v were done", got)
	}
}

// workerLog is what workers in a folder said.
func workerLog(f fleet) string {
	logs, err := filepath.Glob(filepath.Join(f.dir, "worker*"))
	must(f.t, err)
	var all []byte
	for _, log := range logs {
		b, err := os.ReadFile(log)
		must(f.t, err)
		all = append(all, b...)
	}
	return string(all)
}

// TestSubmitCarriesNoEnvironment: what is submitted has nothing of the environment of who submits; the run sees
// that of its worker.
func TestSubmitCarriesNoEnvironment(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/env.yaml", `name: env
description: notes its environment
initial: a
context: {name: ""}
states:
  a: {action: 'echo "$PLACE ${env.PLACE} ${context.name}" > seen', next: done}
  done: {terminal: true}
`)
	submitter, worker := f, f
	submitter.env = []string{"PLACE=of-who-submits-4711", "HOME=/home/of-who-submits-4711"}
	worker.env = []string{"PLACE=of-the-worker"}
	id := submitter.submit("env", "--context", "name=given")
	db := f.db()
	var tables []string
	rows, err := db.Query(`SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`)
	must(t, err)
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	must(t, rows.Err())
	must(t, rows.Close())
	has := map[string]bool{}
	for _, name := range tables {
		rows, err := db.Query(`SELECT t::text FROM ` + name + ` AS t`)
		must(t, err)
		for rows.Next() {
			var row string
			must(t, rows.Scan(&row))
			has["given"] = has["given"] || strings.Contains(row, "name=given")
			if strings.Contains(row, "of-who-submits") {
				t.Errorf("the table %s has %s", name, row)
			}
		}
		must(t, rows.Err())
		must(t, rows.Close())
	}
	if !has["given"] {
		t.Errorf("no table of %v has what was given", tables)
	}
	worker.worker()
	f.until("the run is over", func() bool { return f.status(id) == "completed" })
	if got := strings.Join(f.lines("seen"), " "); got != "of-the-worker of-the-worker given" {
		t.Errorf("the run saw %q", got)
	}
}

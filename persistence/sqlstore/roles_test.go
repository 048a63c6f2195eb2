package sqlstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"loops/persistence"
	"loops/persistence/sqlstore"
)

// as is the location of a database for another user.
func as(location, user string) string {
	return strings.Replace(location, "postgres://loops@", "postgres://"+user+"@", 1)
}

const submitHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func goodJob(queue string) persistence.Job {
	return persistence.Job{
		Queue: queue, Priority: 3, Files: persistence.FilesPinned, Hash: submitHash,
		Request: []byte(`{"loop":"fix","hash":"` + submitHash + `"}`),
	}
}

// TestRoles: what each role may do, and that it may do no more.
func TestRoles(t *testing.T) {
	t.Parallel()
	at := postgres(t)
	owner := opened(t, at)
	admin, err := pgx.Connect(t.Context(), strings.Split(at, "&search_path")[0])
	must(t, err)
	defer admin.Close(t.Context())
	for _, user := range []string{"ann", "eve", "wim", "rita"} {
		_, err := admin.Exec(t.Context(), `CREATE ROLE `+user+` LOGIN`)
		must(t, err)
	}
	for range 2 { // again: brings them up to date
		statements, err := sqlstore.Roles(at,
			[]sqlstore.Allowance{{Queue: "default", User: "ann"}, {Queue: "other", User: "eve"}}, nil)
		must(t, err)
		must(t, owner.SetRoles(t.Context(), statements))
	}
	for _, grant := range []string{"loops_worker TO wim", "loops_read TO rita"} {
		_, err := admin.Exec(t.Context(), "GRANT "+grant)
		must(t, err)
	}

	// A submitter submits to its queue, also twice in a second, and a worker has the run.
	ann := opened(t, as(at, "ann"))
	first, second := submitted(t, ann, goodJob("default")), submitted(t, ann, goodJob("default"))
	if first.ID == second.ID || first.RunID == second.RunID {
		t.Errorf("two runs are %s and %s", first.ID, second.ID)
	}
	wim := opened(t, as(at, "wim"))
	for _, r := range []persistence.Run{first, second} {
		if p := placed(t, wim, r.ID); p.Queue != "default" || p.Hash != submitHash ||
			p.State.Status != persistence.Queued || p.State.RunID != r.RunID || len(p.State.Damage) > 0 {
			t.Errorf("placed: %+v", p)
		}
		if m, err := wim.Snapshot(t.Context(), r.ID); err != nil || m.Current != "s1" {
			t.Errorf("its memory: %+v, %v", m, err)
		}
	}
	j, err := wim.Begin(t.Context(), first.ID, spec(faraway))
	must(t, err)
	must(t, j.Record(t.Context(), step(1)))
	must(t, j.Close(t.Context()))

	// To another queue it is refused, with a message, and nothing is recorded.
	m := &persistence.Query{}
	before, err := owner.Runs(t.Context(), *m)
	must(t, err)
	for user, queue := range map[string]string{"ann": "other", "eve": "default"} {
		if err := trySubmit(t, opened(t, as(at, user)), goodJob(queue)); err == nil ||
			!strings.Contains(err.Error(), "user "+user+" may not submit to queue "+queue) {
			t.Errorf("%s submits to %s: %v", user, queue, err)
		}
	}
	unbound := goodJob("default")
	unbound.Request = []byte(`{"loop":"/tmp/x.yaml"}`) // a worker would run whatever is there
	if err := trySubmit(t, ann, unbound); err == nil {
		t.Error("a request without the hash of its definition is taken")
	}
	deny, err := sqlstore.Roles(at, nil, []sqlstore.Allowance{{Queue: "default", User: "ann"}})
	must(t, err)
	must(t, owner.SetRoles(t.Context(), deny))
	if err := trySubmit(t, ann, goodJob("default")); err == nil {
		t.Error("a user who was denied submits")
	}
	after, err := owner.Runs(t.Context(), *m)
	must(t, err)
	if len(after) != len(before) {
		t.Errorf("%d runs, there were %d", len(after), len(before))
	}
	if _, err := ann.Runs(t.Context(), *m); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a submitter lists runs: %v", err)
	}

	// Statement by statement: allowed or refused.
	const submit = `SELECT loops_submit(ARRAY['%s'], ARRAY['2026-11-21T103405'], '{"loop": "fix", "started_at": 1}', '%s',
			NULL, '{}', '{}', '{}',
		'{"queue": "other", "key": "", "priority": 3, "at": 0, "labels": "[]", "files": "pinned", "hash": "` + submitHash +
		`", "request": "{\"hash\": \"` + submitHash + `\"}"}')`
	for _, c := range []struct {
		user, text string
		allowed    bool
	}{
		{"rita", `SELECT id, status, queue, state, owned FROM loops_runs`, true},
		{"rita", `SELECT * FROM loops_queues`, true},
		{"rita", `SELECT * FROM loops_workers`, true},
		{"rita", `SELECT * FROM runs`, false},
		{"rita", `SELECT * FROM events`, false},
		{"rita", `SELECT * FROM memory`, false},
		{"rita", `SELECT request FROM placements`, false},
		{"rita", fmt.Sprintf(submit, "fix-20261121T103405", "{}"), false},
		{"eve", `SELECT * FROM loops_runs`, false},
		{"eve", `INSERT INTO submitters VALUES ('default', 'eve')`, false},
		{"eve", `DELETE FROM commands`, false},
		{"eve", `CREATE TABLE mine (a int)`, false},
		{"eve", fmt.Sprintf(submit, "../../x-20261121T103405", "{}"), false},
		{"eve", fmt.Sprintf(submit, "fix", "{}"), false},
		{"eve", fmt.Sprintf(submit, "fix-20261121T103406", "{}"), false},
		// by which a worker would find processes to end
		{"eve", fmt.Sprintf(submit, "fix-20261121T103405", `{"marker": "x"}`), false},
		{"eve", `SET ROLE wim`, false},
		{"eve", fmt.Sprintf(submit, "fix-20261121T103405", `{"state": "s1"}`), true},
		{"wim", `INSERT INTO submitters VALUES ('default', 'wim')`, false},
		{"wim", `UPDATE schema_migrations SET version = 99`, false},
		{"wim", `DROP TABLE runs`, false},
		{"wim", `CREATE TABLE mine (a int)`, false},
		{"wim", `UPDATE runs SET epoch = epoch`, true},
	} {
		conn, err := pgx.Connect(t.Context(), as(at, c.user))
		must(t, err)
		_, err = conn.Exec(t.Context(), c.text)
		must(t, conn.Close(t.Context()))
		if (err == nil) != c.allowed {
			t.Errorf("%s: %s: %v, allowed: %v", c.user, c.text, err, c.allowed)
		}
	}
	if _, err := sqlstore.Roles("sqlite:x.db", nil, nil); err == nil {
		t.Error("SQLite has roles")
	}
}

package dirstore

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"loops/persistence"
)

// A run that a newer version of the program recorded, in a format of its own, is listed, and neither resumed
// nor changed.
func TestRunOfANewerVersion(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	j.die()
	state, err := os.ReadFile(j.files.state)
	must(t, err)
	at := bytes.LastIndex(state, []byte(checkKey))
	newer := bytes.Replace(state[:at], []byte(`"run_id"`), []byte("\"format\": 3,\n  \"run_id\""), 1)
	newer = appendCheck(append(newer, "\n}"...))
	must(t, os.WriteFile(j.files.state, newer, 0o600))

	const want = "a newer version of loops wrote it, in format 3, and this version reads format 2: use the " +
		"newer version"
	runs, err := d.Runs(t.Context(), persistence.Query{})
	if err != nil || len(runs) != 1 || len(runs[0].Damage) != 1 || !strings.HasSuffix(runs[0].Damage[0], want) {
		t.Fatalf("%v, runs %+v", err, runs)
	}
	if _, _, err := d.Resume(t.Context(), j.id, persistence.Spec{Loop: "fix"}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("resume: %v", err)
	}
	if err := d.Interrupt(t.Context(), j.id, time.Now(), ""); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("interrupt: %v", err)
	}
	if after, err := os.ReadFile(j.files.state); err != nil || !bytes.Equal(after, newer) {
		t.Errorf("the state file was changed: %v", err)
	}
}

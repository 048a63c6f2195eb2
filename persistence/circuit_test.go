package persistence

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// What is in the file, as either tool or an accident may leave it, and whether anybody waits for it.
func TestCircuitReads(t *testing.T) {
	now := float64(time.Now().Unix())
	soon := now + 300
	for name, c := range map[string]struct {
		text  string
		waits bool
	}{
		"of the reference tool":  {fmt.Sprintf(`{"first_seen": %.3f, "last_seen": %.3f, "attempts": 2, "estimated_recovery_at": %.3f}`, now-5, now, soon), true},
		"without what is unused": {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": %f}`, now, soon), true},
		"over":                   {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": %f}`, now, now-1), false},
		"stale":                  {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": %f}`, now-3601, soon), false},
		"last_seen missing":      {fmt.Sprintf(`{"estimated_recovery_at": %f}`, soon), false},
		"for ever":               {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": 1e300}`, now), false},
		"null":                   {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": null}`, now), false},
		"empty":                  {``, false},
		"cut":                    {`{"last_seen": 1`, false},
		"no object":              {`[1]`, false},
		"texts":                  {`{"last_seen": "now", "estimated_recovery_at": "soon"}`, false},
		"binary":                 {"\x00\xff", false},
	} {
		c2 := &Circuit{Path: filepath.Join(t.TempDir(), "c.json")}
		if err := os.WriteFile(c2.Path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := c2.Recovery().After(time.Now()); got != c.waits {
			t.Errorf("%s: waits %v until %v, want %v", name, got, c2.Recovery(), c.waits)
		}
		// Whatever was there, the next refusal counts.
		if err := c2.Limited(time.Now().Add(time.Hour)); err != nil || time.Until(c2.Recovery()) < 59*time.Minute {
			t.Errorf("%s: after another refusal: until %v, error %v", name, c2.Recovery(), err)
		}
	}
	if c := ProjectCircuit(t.TempDir()); !c.Recovery().IsZero() {
		t.Errorf("no file: until %v", c.Recovery())
	}
}

// Many runs at once: none is lost, and nobody makes the recovery of another one earlier.
func TestCircuitOfManyRuns(t *testing.T) {
	dir := t.TempDir()
	last := time.Now().Add(50 * time.Minute).Truncate(time.Second)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := ProjectCircuit(dir).Limited(last.Add(-time.Duration(i) * time.Minute)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c := ProjectCircuit(dir)
	if got := c.Recovery(); got.Unix() != last.Unix() {
		t.Errorf("recovery %v, want %v", got, last)
	}
	if r, ok := c.read(); !ok || r.Attempts != 20 {
		t.Errorf("record %+v %v, want 20 attempts", r, ok)
	}
	files, err := os.ReadDir(filepath.Dir(c.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".tmp") {
			t.Errorf("%s was left", f.Name())
		}
	}
}

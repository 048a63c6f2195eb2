package persistence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func refusedUntil(c *Circuit, host string) time.Time {
	_, until := c.Refused(host)
	return until
}

// What is in the file, as either tool or an accident may leave it, and whether a run waits for it.
func TestCircuitReads(t *testing.T) {
	t.Parallel()
	now := float64(time.Now().Unix())
	soon := now + 300
	for name, c := range map[string]struct {
		text  string
		waits bool
	}{
		"of little-loops": {
			fmt.Sprintf(`{"first_seen": %.3f, "last_seen": %.3f, "attempts": 2, "estimated_recovery_at": %.3f}`,
				now-5, now, soon), true,
		},
		"without what is unused": {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": %f}`, now, soon), true},
		"over":                   {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": %f}`, now, now-1), false},
		"stale": {
			fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": %f}`, now-3601, soon),
			false,
		},
		"last_seen missing": {fmt.Sprintf(`{"estimated_recovery_at": %f}`, soon), false},
		"for ever":          {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": 1e300}`, now), false},
		"null":              {fmt.Sprintf(`{"last_seen": %f, "estimated_recovery_at": null}`, now), false},
		"empty":             {``, false},
		"cut":               {`{"last_seen": 1`, false},
		"no object":         {`[1]`, false},
		"texts":             {`{"last_seen": "now", "estimated_recovery_at": "soon"}`, false},
		"binary":            {"\x00\xff", false},
	} {
		c2 := &Circuit{Path: filepath.Join(t.TempDir(), "c.json")}
		if err := os.WriteFile(c2.Path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := refusedUntil(c2, "h").After(time.Now()); got != c.waits {
			t.Errorf("%s: waits %v until %v, want %v", name, got, refusedUntil(c2, "h"), c.waits)
		}
		// Whatever was there, the next refusal counts.
		if err := c2.Limited("h", time.Now().Add(time.Hour)); err != nil ||
			time.Until(refusedUntil(c2, "h")) < 59*time.Minute {
			t.Errorf("%s: after another refusal: until %v, error %v", name, refusedUntil(c2, "h"), err)
		}
	}
	if until := refusedUntil(ProjectCircuit(t.TempDir()), "h"); !until.IsZero() {
		t.Errorf("no file: until %v", until)
	}
}

// Many runs at once: none is lost, and no run makes the recovery that another one recorded earlier.
func TestCircuitOfManyRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	last := time.Now().Add(50 * time.Minute).Truncate(time.Second)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := ProjectCircuit(dir).Limited("h", last.Add(-time.Duration(i)*time.Minute)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c := ProjectCircuit(dir)
	if got := refusedUntil(c, "h"); got.Unix() != last.Unix() {
		t.Errorf("recovery %v, want %v", got, last)
	}
	if r := c.read(); len(r) != 1 || r[0].Attempts != 20 {
		t.Errorf("records %+v, want one with 20 attempts", r)
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

// The rate limit of one host stopped the prompts to another, and continued after the host had answered.
func TestCircuitOfOtherHosts(t *testing.T) {
	t.Parallel()
	before, now := time.Now().Add(-time.Minute), time.Now()
	soon, late := now.Add(10*time.Minute).Truncate(time.Second).UTC(),
		now.Add(20*time.Minute).Truncate(time.Second).UTC()
	ofReference := fmt.Sprintf(`{"first_seen": 1.0, "last_seen": %d, "attempts": 2, "estimated_recovery_at": %d}`,
		before.Unix(), soon.Unix())
	type refused struct {
		by    string
		until time.Time
	}
	for _, c := range []struct {
		name string
		text string // of the file at first
		do   func(*Circuit) error
		want map[string]refused // by the host that is to be asked
		gone bool
	}{
		{
			"another host", "", func(c *Circuit) error { return c.Limited("claude", soon) },
			map[string]refused{"claude": {"claude", soon}, "codex": {}, "": {"claude", soon}},
			false,
		},
		{
			"two hosts", "", func(c *Circuit) error {
				return errors.Join(c.Limited("claude", late), c.Limited("codex", soon))
			},
			map[string]refused{"claude": {"claude", late}, "codex": {"codex", soon}, "qwen": {}, "": {"claude", late}},
			false,
		},
		{"a host that answered", "", func(c *Circuit) error {
			return errors.Join(c.Limited("claude", soon), c.Answered("claude", time.Now()))
		}, map[string]refused{"claude": {}, "": {}}, true},
		{"another host that answered", "", func(c *Circuit) error {
			return errors.Join(c.Limited("claude", soon), c.Limited("codex", late), c.Answered("codex", time.Now()))
		}, map[string]refused{"claude": {"claude", soon}, "codex": {}}, false},
		{"an answer to what was asked before the refusal", "", func(c *Circuit) error {
			return errors.Join(c.Limited("claude", soon), c.Answered("claude", before))
		}, map[string]refused{"claude": {"claude", soon}}, false},
		{
			"little-loops names no host", ofReference, func(c *Circuit) error { return c.Answered("claude", now) },
			map[string]refused{"claude": {"", soon}, "codex": {"", soon}},
			false,
		},
		{
			"little-loops and a host", ofReference, func(c *Circuit) error { return c.Limited("claude", late) },
			map[string]refused{"claude": {"claude", late}, "codex": {"", soon}},
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			circuit := &Circuit{Path: filepath.Join(t.TempDir(), "c.json")}
			if c.text != "" {
				if err := os.WriteFile(circuit.Path, []byte(c.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.do(circuit); err != nil {
				t.Fatal(err)
			}
			for host, want := range c.want {
				if by, until := circuit.Refused(host); by != want.by || !until.Equal(want.until) {
					t.Errorf("host %q: refused by %q until %v, want %q until %v", host, by, until, want.by, want.until)
				}
			}
			if _, err := os.Stat(circuit.Path); errors.Is(err, os.ErrNotExist) != c.gone {
				t.Errorf("the file: %v, want it gone: %v", err, c.gone)
			}
		})
	}
}

package fsm_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// A finder is the host to which all prompts go; "" = to none.
type finder string

func (f finder) HostFor(string) (string, bool)     { return string(f), f != "" }
func (f finder) KeepsCost(string) bool             { return false }
func (f finder) Remedy(string, fsm.Failure) string { return "" }

// A run asked the host that it uses, and not the one that refused another run; it waited all the same.
func TestOnlyPromptsToTheHostThatRefusedWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refused, to string
		unknown     bool // the runner does not report to which host prompts go
		want        time.Duration
	}{
		"the same host":               {"fake", "fake", false, time.Minute},
		"another host":                {"other", "fake", false, 0},
		"no host to ask":              {"fake", "", false, 0},
		"of little-loops":             {"", "fake", false, time.Minute},
		"a runner that does not tell": {"other", "", true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				rec, _, _ := waitCase(t, "budget-end", func(cfg *fsm.Config) {
					cfg.Circuit = &circuit{host: c.refused, until: begun.Add(time.Minute)}
					if !c.unknown {
						cfg.Agents = finder(c.to)
					}
				})
				if got := firstPrompt(rec).Sub(begun).Round(time.Second); got != c.want {
					t.Errorf("the first prompt began after %s, want %s:\n%s", got, c.want, show(rec.events))
				}
				i := slices.IndexFunc(rec.events, func(e fsm.Event) bool { return e.Get("wait") == fsm.WaitCircuit })
				if waits := i >= 0; waits != (c.want > 0) {
					t.Errorf("told of a wait: %v:\n%s", waits, show(rec.events))
				} else if waits && c.refused != "" && rec.events[i].Get("host") != c.refused {
					t.Errorf("the wait names the host %v, want %s", rec.events[i].Get("host"), c.refused)
				}
			})
		})
	}
}

func firstPrompt(rec *tape) time.Time {
	for _, e := range rec.events {
		if e.Kind == "action_start" {
			return e.Time
		}
	}
	return time.Time{}
}

// A run still waited although the host had answered another one meanwhile.
func TestARunStopsWaitingWhenTheHostAnswersAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		shared := &circuit{host: "fake", until: begun.Add(4 * time.Minute)}
		time.AfterFunc(62*time.Second, func() { _ = shared.Limited("fake", time.Time{}) })
		rec, _, _ := waitCase(t, "budget-end", func(cfg *fsm.Config) { cfg.Circuit = shared })
		if got := firstPrompt(rec).Sub(begun); got < 62*time.Second || got > 67*time.Second {
			t.Errorf("the first prompt began after %s, want 62s to 67s:\n%s", got, show(rec.events))
		}
		if !slices.Contains(shared.answered, "fake") {
			t.Errorf("answered: %v, want fake", shared.answered)
		}
	})
}

package action

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A suspension is a clock that jumps between the beginning and the end of the next poll after it was armed.
type suspension struct {
	mu    sync.Mutex
	calls int // until it jumps; 0 = it is not armed
	gap   time.Duration
	then  func() // what happens when the machine goes on
}

func (s *suspension) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls > 0 {
		if s.calls--; s.calls == 0 {
			s.gap += time.Hour
			s.then()
		}
	}
	return time.Now().Add(s.gap)
}

func (s *suspension) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gap == 0 {
		s.calls = 2
	}
}

// An action that had time left, or had ended with 0, was judged "timed out" when a suspended machine went on.
func TestSuspendedMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script     string
		wall, idle time.Duration
		exit       int
		kind       string
	}{
		"it has time left": {
			"echo begun; until test -e go; do sleep 0.01; done; echo done", time.Minute,
			0, 0, "",
		},
		"silence": {
			"echo begun; until test -e go; do sleep 0.01; done; echo done", 0,
			time.Minute, 0, "",
		},
		"it ended":                      {"echo begun; exit 3", time.Minute, 0, 3, ""},
		"its time is up all the same":   {"echo begun; sleep 60", time.Second, 0, 124, "wall"},
		"it is silent for all the same": {"echo begun; sleep 60", 0, time.Second, 124, "idle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			s := &suspension{then: func() {
				if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o600); err != nil {
					t.Error(err)
				}
			}}
			r.clock = s.now
			a := shell(c.script)
			a.Timeout, a.Idle = c.wall, c.idle
			res, err := r.Run(context.Background(), a, func(string) {
				s.arm()
				r.mu.Lock()
				defer r.mu.Unlock()
				for bell := range r.busy {
					bell.ring() // has the next poll return
				}
			})
			if err != nil || res.ExitCode != c.exit || res.TimeoutKind != c.kind {
				t.Errorf("%+v, %v; want exit %d, %q", res, err, c.exit, c.kind)
			}
		})
	}
}

// A poll that a signal interrupted does not say that the process has exited: that is looked at before it is judged.
func TestExitIsSeenBeforeTheClock(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.prepare.Do(r.environ)
	a := shell("exit 0")
	a.Timeout = time.Millisecond
	path, err := r.bashPath()
	if err != nil {
		t.Fatal(err)
	}
	c := command{
		dir: r.Dir, env: r.environment(a, r.Dir), name: "bash", path: path,
		argv: []string{path, "-c", a.Text, "bash"},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	j, err := r.start(c, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	for !j.gone() {
		runtime.Gosched()
	}
	j.exited, j.now = false, j.began.Add(time.Hour)
	if j.mustEnd(context.Background(), false) {
		t.Error("an action that had exited was ended because its time was up")
	}
	if res, err := j.run(context.Background()); err != nil || res.ExitCode != 0 || res.TimeoutKind != "" {
		t.Errorf("%+v, %v", res, err)
	}
}

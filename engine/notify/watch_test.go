package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/git"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// A site is a project with one schedule, whose last time was missed or not.
type site struct {
	t    *testing.T
	dir  string
	told []string
}

func newSite(t *testing.T) *site {
	s := &site{t: t, dir: t.TempDir()}
	s.must(os.MkdirAll(filepath.Join(s.dir, ".loops", "runs"), 0o755))
	s.must(os.WriteFile(filepath.Join(s.dir, ".loops", "nightly.yaml"),
		[]byte("name: nightly\ndescription: n\ninitial: a\nschedule: {cron: \"0 3 * * *\", timezone: UTC}\nstates:\n"+
			"  a: {action: \"true\", next: done}\n  done: {terminal: true}\n"), 0o600))
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) ledger() persistence.Ledger { return dirstore.LedgerOf(filepath.Join(s.dir, ".loops")) }

// time puts on record what became of a time of the schedule.
func (s *site) time(day int, state string) {
	s.t.Helper()
	at := time.Date(2026, 11, day, 3, 0, 0, 0, time.UTC)
	body, err := json.Marshal(map[string]any{"loop": "nightly", "at": at, "state": state})
	s.must(err)
	s.must(s.ledger().Add(s.t.Context(), persistence.Entry{
		List: "schedule/nightly", Key: at.Format(time.RFC3339),
		Added: at, Body: body,
	}))
}

// watch returns the watch of a server of its own, which calls meanwhile while it sends events.
func (s *site) watch(meanwhile func()) *AlarmWatch {
	return &AlarmWatch{
		Open: func() (*project.Project, error) { return project.Open(s.dir, project.Options{Cwd: s.dir}) },
		Tell: func(_ context.Context, _ *project.Project, events ...Event) {
			for _, e := range events {
				s.told = append(s.told, e.Kind)
			}
			if meanwhile != nil {
				meanwhile()
			}
		},
	}
}

// expect fails unless exactly that was sent since the last call.
func (s *site) expect(what string, want ...string) {
	s.t.Helper()
	if got := s.told; fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%s: told %q, want %q", what, got, want)
	}
	s.told = nil
}

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// TestToldOnceByTwoServers: a second server that looks while the first one sends, which may take half a minute,
// or that began its look before the first one did and was slower, does not send too; also when what the alarm
// was about was over once and comes again.
func TestToldOnceByTwoServers(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{31 * time.Second, -3 * time.Second} {
		t.Run(later.String(), func(t *testing.T) { t.Parallel(); toldOnce(t, later) })
	}
}

func toldOnce(t *testing.T, later time.Duration) {
	s := newSite(t)
	now := noon
	other := s.watch(nil)
	slow := s.watch(func() { s.must(other.Look(t.Context(), now.Add(later))) })
	for day := 1; day < 6; day += 2 {
		s.time(day, trigger.Missed)
		s.must(slow.Look(t.Context(), now))
		s.expect(fmt.Sprintf("missed on day %d", day), "alarm")
		now = now.Add(time.Hour)
		s.time(day+1, trigger.Started)
		s.must(slow.Look(t.Context(), now))
		s.expect(fmt.Sprintf("started on day %d", day+1), "all_clear")
		now = now.Add(time.Hour)
	}
}

// TestToldAfterAKill: what a server was about to send when it was killed is sent by the next one.
func TestToldAfterAKill(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	type killed struct{}
	kill := s.watch(func() { s.told = nil; panic(killed{}) })
	die := func(now time.Time) {
		defer func() {
			if _, is := recover().(killed); !is {
				t.Error("it told nothing")
			}
		}()
		s.must(kill.Look(t.Context(), now))
	}
	next := s.watch(nil)
	s.time(1, trigger.Missed)
	die(noon)
	s.must(next.Look(t.Context(), noon.Add(5*time.Minute)))
	s.expect("the alarm", "alarm")
	s.time(2, trigger.Started)
	die(noon.Add(time.Hour))
	s.must(next.Look(t.Context(), noon.Add(65*time.Minute)))
	s.expect("that it is over", "all_clear")
	s.must(next.Look(t.Context(), noon.Add(70*time.Minute)))
	s.expect("afterwards")
}

// TestUntrustedScheduleRaisesAnAlarm: a scheduled loop of others is an alarm before its time, until its user
// trusts it, also in a checkout where nothing ran yet.
func TestUntrustedScheduleRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.must(os.Remove(filepath.Join(s.dir, ".loops", "runs")))
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, project.EnvTrust+"=") {
			env = append(env, kv)
		}
	}
	env = append(env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=me@x",
		"GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=me@x", "XDG_STATE_HOME="+t.TempDir())
	run := git.Command(env, time.Minute)
	for _, args := range [][]string{
		{"init", "-q"},
		{"remote", "add", "origin", "nowhere"},
		{"add", "-A"},
		{"commit", "-qm", "x", "--author", "eve <eve@x>"},
	} {
		_, err := run(t.Context(), s.dir, nil, args...)
		s.must(err)
	}
	w := s.watch(nil)
	open := func() (*project.Project, error) { return project.Open(s.dir, project.Options{Cwd: s.dir, Env: env}) }
	w.Open = open
	s.must(w.Look(t.Context(), noon))
	s.expect("before it is trusted", "alarm")
	p, err := open()
	s.must(err)
	_, err = p.Trust(t.Context(), filepath.Join(s.dir, ".loops", "nightly.yaml"))
	s.must(err)
	s.must(w.Look(t.Context(), noon.Add(time.Hour)))
	s.expect("when it is trusted", "all_clear")

	// settings of others start no commands
	s.must(os.WriteFile(filepath.Join(s.dir, ".loops", "config.yaml"), []byte("retention: {keep_last: 5}\n"), 0o600))
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-qm", "y", "--author", "eve <eve@x>"}} {
		_, err := run(t.Context(), s.dir, nil, args...)
		s.must(err)
	}
	said := ""
	w.Say = func(text string) { said += text + "\n" }
	s.must(w.Look(t.Context(), noon.Add(2*time.Hour)))
	s.expect("with settings of others")
	if !strings.Contains(said, "not sent: the settings ") || !strings.Contains(said, "(eve@x)") {
		t.Errorf("it said %q", said)
	}
}

// Times that come faster than a failing start takes are skipped, and hid the failure from the alarm.
func TestFailedStartBeforeSkippedTimes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.watch(nil)
	s.time(1, trigger.Started)
	s.time(2, trigger.Failed)
	s.time(3, trigger.Skipped)
	s.must(w.Look(t.Context(), noon))
	s.expect("failed, then skipped", "alarm")
	s.time(4, trigger.Started)
	s.time(5, trigger.Skipped)
	s.must(w.Look(t.Context(), noon.Add(time.Hour)))
	s.expect("started, then skipped", "all_clear")
}

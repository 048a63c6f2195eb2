package fsm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"loops/fsm/value"
)

// A Watcher looks at what a wait is for where only the world outside knows. Its errors are reasons to give the wait up.
type Watcher interface {
	// URL asks for an address once, and for the one it is sent on to if follow is set. What keeps it from being
	// answered, such as a refused connection, is in Problem. It returns when ctx ends, which is when the wait
	// has no more time.
	URL(ctx context.Context, address string, follow bool) (Answered, error)
	// Run returns the status of another run, which is named by its id or, its newest one, by its loop.
	Run(ctx context.Context, name string) (OtherRun, error)
}

// Answered is the result of asking for an address.
type Answered struct {
	Status  int
	Body    string // its beginning
	Problem string // "" = it was answered
}

// An OtherRun is the status of a run that another one waits for.
type OtherRun struct {
	ID     string
	Status string
	State  string
	End    string // RunCompleted, RunFailed or RunStopped; "" = it has not ended
}

// How a run that is waited for ends, or is to end.
const (
	RunCompleted = "completed"
	RunFailed    = "failed"
	RunStopped   = "stopped" // by a user
	RunEnded     = "ended"   // however it does
)

// seeFile looks for a file.
func (e *Executor) seeFile(path string) (sight, error) {
	var size int64
	var err error
	e.do(func(context.Context) { _, size, err = e.cfg.Files.Stat(path) }) // of a disk of another machine, perhaps
	switch {
	case err == nil:
		return sight{verdict: AwaitCame, seen: "the file is there", result: Result{Stdout: path, Bytes: size}}, nil
	case errors.Is(err, fs.ErrNotExist):
		return sight{seen: "there is no such file"}, nil
	}
	e.breaks(err)
	return sight{}, err
}

// seeURL asks for an address.
func (e *Executor) seeURL(w *Awaiting, most time.Duration) (sight, error) {
	if e.cfg.Watcher == nil {
		return sight{}, errors.New("wait: nothing can be asked for a URL here")
	}
	var got Answered
	var err error
	e.do(limited(most, func(ctx context.Context) {
		got, err = e.cfg.Watcher.URL(ctx, w.What, !strings.HasPrefix(w.Status, "3"))
	}))
	switch {
	case err != nil:
		return sight{}, err
	case got.Problem != "":
		return sight{seen: oneLine(got.Problem)}, nil
	}
	s := sight{
		seen:   fmt.Sprintf("status %d", got.Status),
		result: Result{Stdout: got.Body, Bytes: int64(len(got.Body))},
	}
	if w.Status == "" && got.Status >= 200 && got.Status < 300 || w.Status == fmt.Sprint(got.Status) {
		s.verdict = AwaitCame
	}
	return s, nil
}

// seeRun looks the status of another run.
func (e *Executor) seeRun(w *Awaiting, most time.Duration) (sight, error) {
	if e.cfg.Watcher == nil {
		return sight{}, errors.New("wait: other runs cannot be seen here")
	}
	var other OtherRun
	var err error
	late := false
	e.do(limited(most, func(ctx context.Context) {
		other, err = e.cfg.Watcher.Run(ctx, w.What)
		late = ctx.Err() != nil
	}))
	switch {
	case late:
		return sight{seen: "it was not known in time how run " + w.What + " is"}, nil
	case err != nil:
		return sight{}, err
	}
	if other.ID != w.What { // a loop was named: the run that is its newest now is waited for
		known := *w
		known.What = other.ID
		e.mem.Awaiting = &known
	}
	s := sight{
		seen:   fmt.Sprintf("run %s is %s in state %s", other.ID, other.Status, other.State),
		result: Result{Stdout: other.Status},
	}
	switch {
	case other.End == "":
	case w.Status == RunEnded || w.Status == other.End:
		s.verdict = AwaitCame
	default:
		s.verdict = AwaitOtherwise
	}
	return s, nil
}

// checkText is what a check came to, in a line.
func checkText(res Result) string {
	text := fmt.Sprintf("exit code %d", res.ExitCode)
	if res.TimeoutKind != "" {
		text = "it timed out"
	}
	for _, said := range []string{res.Stderr, res.Stdout} {
		lines := strings.Split(strings.TrimSpace(said), "\n")
		if last := oneLine(lines[len(lines)-1]); last != "" {
			return text + ": " + last
		}
	}
	return text
}

// mostSeen is how much of what a look came to is kept, in runes.
const mostSeen = 200

// oneLine is a text on one line, cut to what is kept of a look.
func oneLine(text string) string {
	return value.Truncate(strings.Join(strings.Fields(text), " "), mostSeen)
}

// NextTime reads a time of day as its next one after now, in the zone of now, or a date with a time.
func NextTime(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		on := func(day int) time.Time {
			return time.Date(now.Year(), now.Month(), day, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		next := on(now.Day())
		if !next.After(now) {
			next = on(now.Day() + 1)
		}
		return next.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("at is %q; expected a time of day such as 06:00, or a date with a time such as "+
		"2030-01-31T06:00:00Z", value.Truncate(text, 60))
}

// wait is how views show it, for the state that these steps lead to. Until is when the wait is over whatever
// happens, zero where that is not known.
func (w *Awaiting) wait(steps string) *Wait {
	until := w.Deadline
	if !w.Until.IsZero() && (until.IsZero() || w.Until.Before(until)) {
		until = w.Until
	}
	x := &Wait{
		Why: WaitState, State: w.State, Since: w.Since, Until: until, What: w.words(), Seen: w.Seen,
		Looks: w.Looks,
	}
	if w.Kind == AwaitEvent {
		x.Event = w.What
	}
	if w.Kind == AwaitAsk {
		x.Choices, x.Question = strings.Join(w.ask().Choices, ", "), questionAddress(steps, w)
	}
	return x
}

// String is the wait as a definition has it, in a line.
func (a *Await) String() string {
	switch kind, text := a.kind(); kind {
	case AwaitFor:
		return "wait for " + shortTime(a.For)
	case AwaitUntil:
		return "wait until it says yes: " + oneLine(text)
	case AwaitURL, AwaitRun:
		if a.Status != "" {
			text += " (" + a.Status + ")"
		}
		return "wait for the " + kind + " " + oneLine(text)
	case AwaitAt:
		return "wait until " + oneLine(text)
	case AwaitAsk:
		return "ask: " + oneLine(text)
	default:
		return "wait for the " + kind + " " + oneLine(text)
	}
}

// shortTime writes a time as loop files have it: 2h, 1m30s.
func shortTime(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// words are what is waited for, as a noun.
func (w *Awaiting) words() string {
	what := oneLine(w.What)
	switch w.Kind {
	case AwaitFor:
		return "its time to pass"
	case AwaitAt:
		return "the time " + what
	case AwaitUntil:
		return "its check to say yes: " + value.Truncate(what, 80)
	case AwaitFile:
		return "the file " + what
	case AwaitURL:
		if w.Status != "" {
			return "status " + w.Status + " of " + what
		}
		return "an answer of " + what
	case AwaitRun:
		if w.Status == RunEnded {
			return "the end of run " + what
		}
		return "run " + what + " to be " + w.Status
	case AwaitEvent:
		return "the event " + what
	case AwaitAsk:
		return "an answer: " + what
	}
	return what
}

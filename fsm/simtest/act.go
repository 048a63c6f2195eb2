package simtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// quick is an action that takes less than the memory waits for ends of items.
const quick = "quick"

// place names what an action does, by the steps that lead to it.
func place(a fsm.Action) string {
	var b strings.Builder
	for i, mark := range strings.Split(a.Outer, "/") {
		switch {
		case i%2 == 1:
			b.WriteString(mark)
		case i > 0:
			_, branch, _ := strings.Cut(mark, "+")
			branch, _, _ = strings.Cut(branch, ".") // the try of an item is counted as that of any other place
			b.WriteString("+" + branch + "/")
		}
	}
	if item := strings.Split(a.Item, "/"); len(item) == 3 {
		return fmt.Sprintf("%s%d %s item %s", b.String(), a.Step, a.State, item[1])
	}
	return fmt.Sprintf("%s%d %s", b.String(), a.Step, a.State)
}

// A runner acts in a world.
type runner struct{ *World }

func (w runner) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	if a.Git != "" {
		return w.git(ctx, a)
	}
	at := place(a)
	w.mu.Lock()
	w.steps++
	w.acts(at)
	mark := a.Outer + fsm.AttemptMark(a.Step, a.Attempt) + "|" + fmt.Sprint(a.Item, "|", a.Started, "|", a.Kind, "|",
		a.Text)
	try := w.results[at]
	if a.Item != "" {
		try = int(a.Item[len(a.Item)-1])
	}
	if a.Kind != fsm.KindJudge {
		if w.marks[mark] && a.Check == nil {
			w.fault("started twice under one name: " + mark)
		}
		w.marks[mark] = true
		if a.Started > 0 {
			if a.Started <= w.started[at] {
				w.fault(fmt.Sprintf("%s starts again, and LOOPS_ATTEMPT is %d as before", at, a.Started))
			}
			if w.exact && a.Started > max(w.started[at], w.undone[at])+1 {
				w.fault(fmt.Sprintf("%s starts, and LOOPS_ATTEMPT is %d after %d", at, a.Started, w.started[at]))
			}
			w.started[at] = a.Started
		}
		if w.breach && a.Outer == "" {
			w.fault(at + " starts before the files were put back")
		}
	}
	if w.hold != nil && time.Now().After(w.heldAt) && (a.Item == "" || strings.HasPrefix(a.Item, "/first")) {
		w.fault(fmt.Sprintf("a paused run starts %s (%s)", at, a.Kind))
	}
	w.checked(a)
	w.inQuota(a)
	if a.Kind == fsm.KindPrompt {
		w.slowEnough(a)
	}
	if a.Kind != fsm.KindJudge && !a.Quiet && w.hash(at, "scarce")%24 == 0 && !w.scarce[at] {
		w.scarce[at] = true
		delete(w.marks, mark) // it was not started
		w.mu.Unlock()
		return fsm.Result{}, fsm.ErrScarce
	}
	if at := w.life.brokenAt; !at.IsZero() && time.Now().After(at) {
		w.fault("an action starts after a batch could not be recorded: " + mark)
	}
	w.flying[mark]++
	w.crowd(a)
	d := time.Duration(1 + w.hash(at, try, "time")%8_000_000_000)
	if a.Text == quick {
		d %= 40 * time.Millisecond
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.flying[mark]--; w.flying[mark] == 0 {
			delete(w.flying, mark)
		}
	}()
	fast := a.Kind == fsm.KindPrompt && w.tooFast(a, at, try)
	if fast {
		d /= 2
	}
	t := time.NewTimer(d)
	defer t.Stop()
	limit := make(<-chan time.Time)
	if a.Timeout > 0 && a.Timeout < d {
		limit = time.After(a.Timeout)
	}
	select {
	case <-t.C:
		if fast && ctx.Err() == nil {
			res := fsm.Result{
				ExitCode: 124, TimeoutKind: fsm.TimeoutVelocity, Stdout: token(at, try), Duration: d,
				Reply: w.reply(a, at, try),
			}
			res.Reply.Failure = fsm.FailVelocity
			return res, nil
		}
	case <-limit:
		return fsm.Result{
			ExitCode: 124, TimeoutKind: "wall", Stdout: token(at, try), Duration: a.Timeout,
			Reply: w.reply(a, at, try),
		}, nil
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		w.cutShort(a)
		return fsm.Result{ExitCode: -15, Reply: w.reply(a, at, try)}, nil
	}
	res, err := w.result(a, at, try, d, out)
	if ctx.Err() != nil { // its last line was recorded, and the run stopped then
		w.cutShort(a)
		return res, err
	}
	w.mu.Lock()
	w.change(a, at, try)
	w.mu.Unlock()
	return res, err
}

// cutShort counts a prompt or a judge that a stop ends: what it used is spent.
func (w *World) cutShort(a fsm.Action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.Kind != fsm.KindShell && !w.life.dead {
		w.cut++
	}
}

// crowd checks how many branches or items of each state around an action are at work. A look of a wait is not
// at work. The caller holds the lock.
func (w *World) crowd(a fsm.Action) {
	for list, most := range w.most {
		items := map[string]bool{}
		for mark := range w.flying {
			rest, inside := strings.CutPrefix(mark, list)
			if inside && (rest[0] == '+' || rest[0] == '|') && !strings.HasSuffix(mark, "|look") {
				items[strings.FieldsFunc(rest, func(r rune) bool { return r == '/' || r == '|' })[0]] = true
			}
		}
		if len(items) > most {
			w.fault(fmt.Sprintf("%d members of %s are at work, of %d at once: %v, with %s", len(items), list, most,
				items, a.State))
		}
	}
}

// token is in the output of an action, by which its result is found on record.
func token(at string, try int) string { return "{" + at + "|" + strconv.Itoa(try) + "}\n" }

func (w *World) reply(a fsm.Action, at string, try int) *fsm.Reply {
	if a.Kind != fsm.KindPrompt && a.Kind != fsm.KindJudge {
		return nil
	}
	cost := float64(1+w.hash(at, try, "cost")%30) / 100
	return &fsm.Reply{
		Host: cmp.Or(a.Host, "fake"), Model: "m", Session: "s", Complete: true, Coverage: fsm.CoverageComplete,
		Cost: &cost, Usage: fsm.Usage{Input: int64(1 + w.hash(at, try, "tokens")%20)},
	}
}

func (w *World) result(a fsm.Action, at string, try int, d time.Duration, out func(string)) (fsm.Result, error) {
	res := fsm.Result{Stdout: token(at, try), Duration: d, Reply: w.reply(a, at, try)}
	if a.RSS {
		res.PeakRSS = int64(w.hash(at, try, "memory")%100) << 20
	}
	res.Bytes = int64(len(res.Stdout))
	k := w.hash(at, try, "result") % 16
	if a.Kind == fsm.KindShell && a.Text != "look" && a.Item == "" && w.hash(at, try, "handoff")%24 == 0 {
		res.Stdout += "CONTEXT_HANDOFF: " + at + "\n"
	}
	if (a.Kind == fsm.KindPrompt || a.Kind == fsm.KindJudge) && w.refuse(a, at, try, &res) {
		return res, nil
	}
	switch {
	case a.Check != nil && strings.HasPrefix(a.Item, "/first"):
		return w.probed(a, at)
	case a.Kind == fsm.KindJudge:
		res.Reply.Answer = value.NewMap("verdict", []string{"yes", "yes", "no"}[k%3], "confidence", 0.9, "reason",
			"so", "evidence", "|", "fact", "so it is in "+at)
		res.Reply.Raw = string(value.AppendJSON(nil, res.Reply.Answer))
		return res, nil
	case a.Text == "list":
		res.Stdout = "p\nq\nr\n"
		return res, nil
	case a.Text == "look":
		if w.hash(at, a.Attempt, "look")%3 > 0 {
			res.ExitCode = 1
		}
		return res, nil
	case a.Kind == fsm.KindPrompt && k < 4 && try < 3:
		res.ExitCode, res.Reply.Failure, res.Reply.Reason = 1, fsm.FailRateLimited, "so it said"
		if k < 2 {
			res.Reply.Failure = fsm.FailTransient
		}
		res.Reply.Usage, *res.Reply.Cost = fsm.Usage{}, 0
	case k < 9:
	case k < 12:
		res.ExitCode = 1
	case k < 14:
		res.ExitCode = 3
	case k == 14 && a.Kind == fsm.KindShell && a.Item == "":
		return fsm.Result{}, errors.New("it cannot be started")
	}
	if out != nil && k%2 == 0 {
		out(strings.TrimSuffix(res.Stdout, "\n"))
	}
	return res, nil
}

// Full implements [fsm.Purse]: now and then nothing may be spent for a while.
func (w *World) Full(context.Context) (why string, until time.Time) {
	window := time.Since(w.begun) / (20 * time.Second)
	if w.hash("purse", window)%4 > 0 {
		return "", time.Time{}
	}
	return "too much was spent", w.begun.Add((window + 1) * 20 * time.Second)
}

// Spent implements [fsm.Purse].
func (w *World) Spent(float64) error { return nil }

// A watcher looks out of a world: each address answers after some looks.
type watcher struct{ *World }

func (w watcher) URL(ctx context.Context, _ string, _ bool) (fsm.Answered, error) {
	select {
	case <-time.After(time.Duration(1 + w.hash("url", time.Since(w.begun))%900_000_000)):
	case <-ctx.Done():
		return fsm.Answered{Problem: ctx.Err().Error()}, nil
	}
	if w.hash("url", time.Since(w.begun))%3 > 0 {
		return fsm.Answered{Status: 503}, nil
	}
	return fsm.Answered{Status: 200}, nil
}

// Run implements [fsm.Watcher]: another run ends after a while, as its name says.
func (w watcher) Run(_ context.Context, name string) (fsm.OtherRun, error) {
	other := fsm.OtherRun{ID: name, Status: "running", State: "s"}
	if w.hash(name, time.Since(w.begun)/(9*time.Second))%3 == 0 {
		other.Status, other.End = name, name
	}
	return other, nil
}

// files are those that states wait for: each is there now and then. Nothing else reads or writes any.
type files struct{ *World }

func (files) ReadFile(string) ([]byte, error)                     { return nil, fs.ErrNotExist }
func (files) WriteFile(string, []byte) error                      { return nil }
func (files) Write(_ string, content func(io.Writer) error) error { return content(io.Discard) }

func (files) Glob(context.Context, string, string) ([]string, error) { return nil, nil }

// Stat implements [fsm.Files].
func (w files) Stat(name string) (time.Time, int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := w.hash(path.Base(name), time.Since(w.begun)/(7*time.Second))%3 == 0
	if path.Dir(name) == folder+"/.worktrees" {
		there = w.repo.trees[name] != ""
	}
	if !there {
		return time.Time{}, 0, fs.ErrNotExist
	}
	return w.begun, 1, nil
}

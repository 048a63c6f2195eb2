package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/agent"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// How often an agent that no run can use is asked whether that is over, and how long it may take to answer.
const (
	probeEach = 5 * time.Minute
	probeWait = time.Minute
)

// probePrompt is the least that an agent can be asked.
const probePrompt = "This is a test of the connection. Use no tools. Answer with one word: ready"

// Probe asks the agents of a project that no run can use whether that is over, each at most every five minutes, and
// notes it where it is. Only one process at a time asks. An agent that refuses still costs nothing; one that answers
// costs its smallest question. It returns those that answered, as [fsm.Suspension.By].
func Probe(ctx context.Context, r *project.Records) (answered []string, _ error) {
	circuit := persistence.ProjectCircuit(r.Project.Loops)
	var errs []error
	for _, b := range circuit.Blocks() {
		if !circuit.Probe(b.By, probeEach) {
			continue
		}
		answers, err := probe(ctx, r.Project, b)
		if err == nil && answers {
			_, err = circuit.Unblock(func(by string) bool { return by == b.By })
			answered = append(answered, b.By)
		}
		errs = append(errs, err)
	}
	return answered, errors.Join(errs...)
}

// probe reports whether an agent answers.
func probe(ctx context.Context, p *project.Project, b persistence.Block) (bool, error) {
	conf, err := p.Layers.Load()
	if err != nil {
		return false, err
	}
	owner, err := Self()
	if err != nil {
		return false, err
	}
	x := &action.Runner{
		Dir: p.Dir, Env: ActionEnv(p, Options{Env: p.Env}), Grace: Grace,
		Mark: fmt.Sprintf("%sprobe/%d/%d", p.Mark(), owner.PID, owner.Start),
	}
	defer x.Close() //nolint:errcheck // of files that nothing was written to
	ConfigureAgents(p, x, project.Agents{}, conf)
	host, model, _ := strings.Cut(b.By, "/")
	if b.Cause != fsm.FailModel || model == fsm.OwnModel {
		model = ""
	}
	if _, _, err := x.FindHost(host); err != nil || b.Cause == fsm.FailMissing {
		return err == nil, nil //nolint:nilerr // it is still missing
	}
	res, err := x.Run(ctx, fsm.Action{
		Kind: fsm.KindJudge, Text: probePrompt, Host: host, Model: model, State: "probe-" + host, Step: 1, Attempt: 1,
		Timeout: probeWait,
	}, func(string) {})
	if err != nil || res.Reply == nil {
		return false, err
	}
	switch res.Reply.Failure {
	case "", fsm.FailRateLimited, fsm.FailSchema, fsm.FailContext:
		return true, nil
	}
	return false, nil
}

// suspendedDue explains why a suspended run is to continue; "" = it is not.
func suspendedDue(r *project.Records, run persistence.Run, m *fsm.Snapshot, now time.Time, answered []string) string {
	if m.Outcome == nil || now.Sub(run.UpdatedAt) < wakeEach && !slices.Contains(answered, m.Outcome.SuspendedBy) {
		return ""
	}
	s := fsm.Suspension{By: m.Outcome.SuspendedBy, Cause: m.Outcome.Cause}
	blocked := func(b persistence.Block) bool { return b.By == s.By }
	if !s.Shared() || slices.ContainsFunc(persistence.ProjectCircuit(r.Project.Loops).Blocks(), blocked) {
		return ""
	}
	return s.By + " can be used again"
}

// An Unblocked is what [Unblock] did.
type Unblocked struct {
	Agents []string          // what runs may use again
	Runs   []persistence.Run // that continue
}

// Unblock lets runs use an agent again, or a model of one, because a person did what was needed, and has those continue
// by begin that were suspended for want of it, or of another thing of that name. Those that workers carry
// continue there.
func Unblock(ctx context.Context, r *project.Records, name string, begin func(ctx context.Context, r Request) error) (
	Unblocked, error,
) {
	meant := func(by string) bool { return by == name || strings.HasPrefix(by, name+"/") }
	if h := agent.Find(name); h != nil && h.Name != name {
		meant = func(by string) bool { return by == h.Name || strings.HasPrefix(by, h.Name+"/") }
	}
	gone, err := persistence.ProjectCircuit(r.Project.Loops).Unblock(meant)
	if err != nil {
		return Unblocked{}, because(Failed, err, "runs cannot be notified that "+name+" can be used again")
	}
	var done Unblocked
	for _, b := range gone {
		done.Agents = append(done.Agents, b.By)
	}
	runs, err := r.Runs(ctx,
		persistence.Query{Filter: persistence.Filter{Statuses: []persistence.Status{persistence.Awaiting}}})
	if err != nil {
		return done, err
	}
	var due []Due
	var others []string
	var errs []error
	for _, run := range project.Current(runs) {
		if run.Ended != fsm.EndSuspended { // a process that still holds it is about to end, and resume waits for that
			continue
		}
		if !meant(run.SuspendedBy) {
			others = append(others, run.SuspendedBy)
			continue
		}
		switch workers, err := ForWorkers(ctx, r, run.ID); {
		case err != nil:
			errs = append(errs, err)
		case workers:
			if _, err := r.Send(ctx, run.ID,
				persistence.Command{Kind: persistence.CommandWake, Segment: persistence.AnySegment}); err != nil {
				errs = append(errs, err)
				continue
			}
			done.Runs = append(done.Runs, run)
		default:
			due = append(due, Due{Run: run, Why: name + " can be used again"})
		}
	}
	begun, waiting, err := unblockQueued(ctx, r, meant)
	done.Runs, others, errs = append(done.Runs, begun...), append(others, waiting...), append(errs, err)
	woken, err := Wake(ctx, due, begin)
	for _, d := range woken {
		done.Runs = append(done.Runs, d.Run)
	}
	if errs = append(errs, err); len(done.Agents)+len(done.Runs) == 0 && errors.Join(errs...) == nil {
		if len(others) == 0 {
			return done, refuse(NotFound, "no run is suspended")
		}
		slices.Sort(others)
		return done, refuse(NotFound, "no run is suspended by %s; runs are suspended by %s", humanize.Quote(name),
			strings.Join(slices.Compact(others), ", "))
	}
	return done, errors.Join(errs...)
}

// unblockQueued has workers try at once to begin those submitted runs whose files they could not fetch because
// of what is meant. It returns them, and what others wait for.
func unblockQueued(ctx context.Context, r *project.Records, meant func(by string) bool) (begun []persistence.Run,
	others []string, _ error,
) {
	store, ok := r.Store.(persistence.Placer)
	if !ok {
		return nil, nil, nil
	}
	placed, err := store.Placed(ctx, "", 0)
	if errors.Is(err, persistence.ErrNoWorkers) {
		return nil, nil, nil
	}
	errs := []error{err}
	for _, p := range placed {
		by := inspect.UnfetchedBy(p.Note)
		if by == "" || p.State.Status != persistence.Queued || !meant(by) {
			if by != "" {
				others = append(others, by)
			}
			continue
		}
		if err := store.Found(ctx, p.Run, persistence.Finding{Open: true}); err != nil {
			errs = append(errs, err)
			continue
		}
		begun = append(begun, p.State)
	}
	return begun, others, errors.Join(errs...)
}

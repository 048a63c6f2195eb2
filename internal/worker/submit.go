package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/persistence"
)

// Submit records a run for workers, and notifies their queue. It is durable on return; a queue that could not be
// notified is no error: workers find the run.
func Submit(ctx context.Context, e *engine.Engine, r engine.StartRequest, j persistence.Job) (persistence.Run, error) {
	if err := trigger.CheckQueue(j.Queue); err != nil {
		return persistence.Run{}, engine.Misuse(engine.OpSubmit, "%s", err)
	}
	if j.Priority < trigger.FirstPriority || j.Priority > trigger.LastPriority {
		return persistence.Run{}, engine.Misuse(engine.OpSubmit, "priority %d: expected 1 (first) to 4 (last)",
			j.Priority)
	}
	limits, err := limitsOf(e.Project())
	if err != nil {
		return persistence.Run{}, err
	}
	c, err := e.Project().Config()
	if err != nil {
		return persistence.Run{}, err
	}
	switch j.Files = persistence.FilesPinned; c.Files.Mode {
	case persistence.FilesGit:
		j.Files = persistence.FilesGit
		r.Files, err = filesOf(ctx, e.Project(), e.Project().Env, r.Warn)
	case persistence.FilesShared:
		j.Files, err = sharedFolder(ctx, e.Project())
	}
	if err != nil {
		return persistence.Run{}, err
	}
	run, err := e.Submit(ctx, r, j)
	if err != nil {
		return run, err
	}
	j.Run = run.ID
	return run, place(ctx, e.Project(), limits, j)
}

// place notifies the queue of a job that is recorded.
func place(ctx context.Context, p *project.Project, limits trigger.QueueLimits, j persistence.Job) error {
	if !j.At.IsZero() || limits.Limited(j) {
		return nil // the next worker that looks places it
	}
	location, _, err := p.Location()
	if err != nil {
		return err
	}
	queue, err := trigger.OpenRiver(ctx, location)
	if err != nil {
		return err
	}
	_, err = queue.Place(ctx, j)
	_ = errors.Join(err, queue.Close()) // the run is recorded: a worker places it when it looks
	return nil
}

// Retry has workers do again the step that decided how a submitted run ended, in a new run: in the queue of the
// other one, with its labels, key, priority and locks. Where files travel, the new run begins with those that
// the other one kept last. done is false where the request is no retry, or the run was not submitted or cannot
// be found: then nothing was done.
func Retry(ctx context.Context, e *engine.Engine, r engine.ForkRequest) (run persistence.Run, j persistence.Job,
	done bool, err error,
) {
	if !r.Retry {
		return run, j, false, nil
	}
	was, asked, err := e.Submitted(ctx, r.Run)
	if err != nil || was == nil {
		return run, j, false, nil //nolint:nilerr // who retries it on this machine is told
	}
	limits, err := limitsOf(e.Project())
	if err != nil {
		return run, j, true, err
	}
	j = persistence.Job{Queue: was.Queue, Key: was.Key, Priority: was.Priority, Labels: was.Labels, Files: was.Files}
	r.Run, r.Lock = string(was.Run), asked.Lock
	files := asked.Files
	if j.Files == persistence.FilesGit {
		records, err := e.Project().Records(ctx, false)
		if err != nil {
			return run, j, true, err
		}
		kept, err := engine.RecordedFiles(ctx, records.Store, was.Run)
		if err = errors.Join(err, records.Close()); err != nil {
			return run, j, true, err
		}
		if files == nil {
			files = &engine.FilesRequest{}
		}
		if kept.State != "" {
			files.Commit = kept.State
		}
	}
	if run, err = e.SubmitFork(ctx, r, files, j); err == nil {
		j.Run = run.ID
		err = place(ctx, e.Project(), limits, j)
	}
	return run, j, true, err
}

// sharedFolder is the Files of jobs whose workers have the folder of a project mounted.
func sharedFolder(ctx context.Context, p *project.Project) (string, error) {
	records, err := p.Records(ctx, true)
	if err != nil {
		return "", err
	}
	defer records.Close()
	store, ok := records.Store.(persistence.Placer)
	if !ok {
		return "", engine.Refuse(engine.Usage, "cannot submit: %s", persistence.ErrNoWorkers)
	}
	word, err := store.FolderWord(ctx)
	return persistence.SharedFiles(word), err
}

// limitsOf are those of the settings of a project.
func limitsOf(p *project.Project) (trigger.QueueLimits, error) {
	c, err := p.Config()
	if err != nil {
		return nil, err
	}
	return c.Limits, nil
}

// ParseAt reads a time of day, of which the next is meant, a date with a time, or how long from now.
func ParseAt(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	for _, form := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04",
		"2006-01-02",
	} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at, nil
		}
	}
	if at, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		next := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
		if !next.After(now) {
			next = time.Date(now.Year(), now.Month(), now.Day()+1, at.Hour(), at.Minute(), 0, 0, now.Location())
		}
		return next, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: expected one such as 2026-11-21T22:00, 22:00, or 30m from now", text)
}

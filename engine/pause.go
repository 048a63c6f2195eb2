package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"loops/engine/project"
	"loops/persistence"
)

// formerPause is the file by which a former version paused a run, in its working folder. Nothing makes it any more.
func formerPause(p *project.Project, id persistence.ID) string {
	return filepath.Join(p.RunDir(id), ".paused")
}

// hear notes which commands of a run were sent before this process takes it.
func (j *job) hear(ctx context.Context) {
	j.asked, _ = j.store.AllCommands(ctx, j.resumes) // what cannot be read is not lifted; a view of the run reports it
	if n := len(j.asked); n > 0 {
		j.heard = j.asked[n-1].N
	}
}

// liftPause takes away the pause of a run that no process carried: a user who resumes it wants it to continue.
// One asked for since then stays.
func (j *job) liftPause(ctx context.Context) {
	former := formerPause(j.project, j.resumes)
	info, err := os.Stat(former)
	since, paused := persistence.PausedSince(j.asked, j.journal.Run().Segment)
	if err == nil && !paused {
		since = info.ModTime()
	}
	if err == nil {
		if err := os.Remove(former); err != nil && !errors.Is(err, fs.ErrNotExist) {
			j.tell(Unpaused{Run: j.resumes, Since: since, Err: err})
			return
		}
	}
	if !paused {
		if err == nil {
			j.tell(Unpaused{Run: j.resumes, Since: since})
		}
		return
	}
	now, _ := j.store.AllCommands(ctx, j.resumes)
	for _, c := range now {
		if c.N > j.heard && c.Kind == persistence.CommandPause {
			j.paused, j.pausedBy = true, from(c)
			return
		}
	}
	if _, err := j.store.Send(ctx, j.resumes,
		persistence.Command{Kind: persistence.CommandUnpause, Segment: persistence.AnySegment}); err != nil {
		j.paused = true
		j.tell(Unpaused{Run: j.resumes, Since: since, Err: err})
		return
	}
	j.tell(Unpaused{Run: j.resumes, Since: since})
}

package engine

import (
	"context"
	"errors"
	"path/filepath"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/process"
	"loops/persistence"
)

// endSurvivors ends what a killed runner left of the action that was in flight, so that two copies of it never
// run. Called when the run is ours: what it remembers now is what the last owner left.
func endSurvivors(ctx context.Context, p *project.Project, run persistence.Run, memory *fsm.Snapshot,
	moved []project.MovedFolder, tell func(Notice),
) error {
	marker := persistence.Marker(run.ID, run.Segment-1, memory)
	n, err := EndSurvivors(ctx, p, run.ID, run.Segment-1, memory)
	for _, f := range moved { // they carry the mark of where the project was
		before, e := endMarked(ctx, (&project.Project{Loops: filepath.Join(f.From, project.Folder)}), marker)
		n, err = n+before, errors.Join(err, e)
	}
	if n > 0 {
		tell(Said{Run: run.ID, Text: textf("Ended %s that the interrupted action of state %s had left running.",
			humanize.Count(n, "process"), memory.Current)})
	}
	return err
}

// EndSurvivors ends the processes that a killed owner of a run left of the action that was in flight, and
// returns how many there were; a program that drives an fsm.Executor with an action.Runner of its own calls it
// when it has resumed the run, before anything runs. segment is that in which they were started, and memory
// what the run remembered then. [Engine.Resume] does so itself. It waits until they have ended, at most Grace
// and what KILL takes.
func EndSurvivors(ctx context.Context, p *project.Project, id persistence.ID, segment int, memory *fsm.Snapshot) (int,
	error,
) {
	return endMarked(ctx, p, persistence.Marker(id, segment, memory))
}

// endMarked ends the processes that carry an action's environment marker and returns how many there were.
func endMarked(ctx context.Context, p *project.Project, marker string) (int, error) {
	if marker == "" {
		return 0, nil
	}
	found, err := process.Marked(action.Variable, p.Mark()+marker)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return process.End(ctx, found, Grace)
}

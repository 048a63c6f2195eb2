package app

import (
	"context"
	"path"
	"strings"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// A BaselineFile is a baseline that was written.
type BaselineFile struct {
	Name  string // in the project
	State string
	Size  int
}

// Object returns the file for a program; run is the id of the run that printed it.
func (f BaselineFile) Object(run string) api.Promoted {
	return api.Promoted{Instance: run, State: f.State, File: f.Name, Bytes: int64(f.Size)}
}

// PromoteBaseline writes the baseline of each state of a loop that compares its output, from what the run
// printed there last. It returns those that were written, also with an error. A state that the run was not in
// keeps its baseline.
func PromoteBaseline(ctx context.Context, p *project.Project, store *project.Records, run persistence.Run,
	l *fsm.Loop,
) (written []BaselineFile, err error) {
	compared := comparators(l)
	if len(compared) == 0 {
		return nil, engine.Refuse(engine.Failed, "nothing compares the output of %s with a baseline: none of its "+
			"states has evaluate: {type: comparator}", run.Loop)
	}
	printed, err := lastPrinted(ctx, store, run, compared)
	if err != nil {
		return nil, err
	}
	files := action.Files{Dir: p.WorkDir()}
	for _, st := range compared {
		text, was := printed[st.Name]
		if !was {
			continue
		}
		if st.Evaluate.HasSource {
			if text, err = sourceOf(ctx, store, run, st); err != nil {
				return written, err
			}
		}
		name := path.Join(st.Evaluate.BaselinePath, "output.txt")
		if err := files.WriteFile(name, []byte(text)); err != nil {
			return written, engine.Refuse(engine.Failed, "%s cannot be written: %v", name, project.Cause(err))
		}
		written = append(written, BaselineFile{name, st.Name, len(text)})
	}
	if len(written) == 0 {
		return nil, engine.Refuse(engine.Failed, "run %s was not in a state that compares its output (%s); "+
			"nothing was written", run.ID, humanize.List(stateNames(compared)))
	}
	return written, nil
}

// comparators returns the states of a loop that compare their output with a baseline.
func comparators(l *fsm.Loop) (states []*fsm.State) {
	for _, name := range l.Order {
		if s := l.States[name]; s != nil && s.Evaluate != nil && s.Evaluate.Type == "comparator" &&
			s.Evaluate.BaselinePath != "" {
			states = append(states, s)
		}
	}
	return states
}

func stateNames(states []*fsm.State) (names []string) {
	for _, s := range states {
		names = append(names, s.Name)
	}
	return names
}

// lastPrinted returns what the last action of each state printed that ended.
func lastPrinted(ctx context.Context, store *project.Records, run persistence.Run,
	states []*fsm.State,
) (map[string]string, error) {
	wanted := map[string]bool{}
	for _, s := range states {
		wanted[s.Name] = true
	}
	printed := map[string]string{}
	state, lines := "", []string(nil)
	for e, err := range store.Events(ctx, run.ID, 0) {
		if err != nil {
			return nil, store.Failed(err)
		}
		if e.Depth > 0 {
			continue
		}
		switch e.Kind {
		case fsm.EventStateEnter:
			state = inspect.Text(e.Get("state"))
		case fsm.EventActionStart:
			lines = nil
		case fsm.EventActionOutput:
			if wanted[state] {
				lines = append(lines, inspect.Text(e.Get("line"))+"\n")
			}
		case fsm.EventActionComplete:
			if wanted[state] {
				printed[state] = strings.Join(lines, "")
			}
		}
	}
	return printed, nil
}

// sourceOf is the text that a state judges instead of what it printed, as the run remembered it at its end.
func sourceOf(ctx context.Context, store *project.Records, run persistence.Run, st *fsm.State) (string, error) {
	m, err := store.Snapshot(ctx, run.ID)
	if err != nil {
		return "", store.Failed(err)
	}
	text, err := m.Expand(st.Evaluate.Source, st.Name)
	if err != nil {
		return "", engine.Refuse(engine.Failed, "the source of state %s is not in the memory of run %s: %v", st.Name,
			run.ID, err)
	}
	return text, nil
}

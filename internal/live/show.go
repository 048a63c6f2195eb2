package live

import (
	"errors"
	"io"
	"path/filepath"
	"sync"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/terminal"
	"loops/persistence"
)

// A Tail hands the events of a run to each in their order and, while that follows the run, what actions write
// to standard error to stderr.
type Tail func(r persistence.Run, stderr func(file, text string), each func(fsm.Event)) error

// Show writes the output of the actions of runs to out, side by side where they are followed, and reports for
// each whether there was an action that was asked for.
func (o ActionLogOptions) Show(out io.Writer, p *project.Project, runs []persistence.Run, paint terminal.Paint,
	tail Tail,
) (acted []bool, err error) {
	o.Several = len(runs) > 1
	acted = make([]bool, len(runs))
	errs := make([]error, len(runs))
	var all sync.WaitGroup
	for i, r := range runs {
		show := func() { acted[i], errs[i] = o.show(out, p, r, paint, tail) }
		if o.Follow {
			all.Go(show)
		} else {
			show()
		}
	}
	all.Wait()
	return acted, errors.Join(errs...)
}

func (o ActionLogOptions) show(out io.Writer, p *project.Project, r persistence.Run, paint terminal.Paint,
	tail Tail,
) (acted bool, err error) {
	only := uint64(0)
	if o.Failed {
		find := NewActionLog(ActionLogOptions{State: o.State, Stderr: true}, io.Discard, p, r.ID, paint)
		if err := tail(r, nil, find.Event); err != nil || find.failed == 0 {
			return false, err
		}
		only = find.failed
	}
	l := NewActionLog(o, out, p, r.ID, paint)
	l.only = only
	if err := tail(r, l.Live, l.Event); err != nil {
		return false, err
	}
	l.End()
	return l.Acted, nil
}

// NewActionLog returns a printer of the output of the actions of a run, which is handed the events of the run
// in their order.
func NewActionLog(o ActionLogOptions, out io.Writer, p *project.Project, id persistence.ID,
	paint terminal.Paint,
) *ActionLog {
	return &ActionLog{
		ActionLogOptions: o, run: string(id), lanes: map[string]*lane{}, out: out, p: p,
		dir: filepath.Join(p.Loops, "runs", string(id)), paint: paint,
	}
}

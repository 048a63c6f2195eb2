package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"loops/internal/humanize"
	"loops/persistence"
)

// View looks at the runs, and returns what is to be shown.
func (l *Monitor) View(ctx context.Context, selected persistence.ID) (v View, changed bool) {
	v.Project = filepath.Base(l.Project.Dir)
	changed, err := l.look(ctx, selected)
	ended := 0 // the first that has; those in the queue come before it
	for _, w := range l.list() {
		row := w.row()
		v.Runs = append(v.Runs, row)
		changed = changed || row.Health == Waiting
		if w.ended.IsZero() {
			ended = len(v.Runs)
		}
	}
	for i, w := range l.waiters {
		v.Runs = slices.Insert(v.Runs, ended+i, queuedRow(l.Project, w))
	}
	if len(v.Runs) > 0 {
		id := string(selected)
		if i := slices.IndexFunc(v.Runs, func(r Run) bool { return r.ID == id }); i < 0 {
			id = v.Runs[0].ID
		}
		if v.Detail = l.queuedDetail(id); v.Detail != nil {
			v.Now = time.Now()
			return v, changed
		}
		before := ""
		if len(l.detail) > 0 {
			before = fmt.Sprint(l.detail[0].ID, l.detail[0].After)
		}
		var problem error
		v.Detail, problem = l.detailOf(ctx, l.runs[persistence.ID(id)])
		if err == nil {
			err = problem
		}
		changed = changed || before != fmt.Sprint(l.detail[0].ID, l.detail[0].After)
	}
	if err != nil && ctx.Err() == nil {
		v.Problem = "the runs cannot be read now: " + humanize.OneLine(err) + "; trying again"
	}
	v.Now = time.Now()
	return v, changed
}

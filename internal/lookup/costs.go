package lookup

import (
	"context"

	"loops/engine/project"
	"loops/internal/inspect"
	"loops/persistence"
)

// CostSheet reads what a run used.
func CostSheet(ctx context.Context, f project.Finder, r persistence.Run, known project.Prices, tell Tell) (*inspect.CostSheet, error) {
	persistence.CountReads(ctx, 1)
	sheet := &inspect.CostSheet{Prices: known}
	for e, err := range f.Store.EventsOf(ctx, r, 0) {
		if project.IsDamage(err) {
			tell(err, "what was used there is not counted")
			continue
		}
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		sheet.Add(e)
	}
	return sheet, nil
}

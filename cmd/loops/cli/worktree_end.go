package cli

import (
	"loops/engine"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

// tellTrees says which work trees runs leave that were removed, and what is in them.
func (a *app) tellTrees(gone []engine.Removed) {
	for _, r := range gone {
		if r.Tree != nil {
			ui.SayLines(a.Err, "loops: "+ui.BlockOf("", views.TreeLines(*r.Tree)))
		}
	}
}

package view

import (
	"fmt"

	"loops/internal/api"
	"loops/internal/humanize"
)

// FactSeen says how many runs began with a fact of a memory, and how many of them completed.
func FactSeen(f api.MemoryFact) string {
	if len(f.SeenBy) == 0 {
		return "seen by no run that ended"
	}
	return fmt.Sprintf("seen by %s, %d completed", humanize.Count(len(f.SeenBy), "run"), f.SeenCompleted)
}

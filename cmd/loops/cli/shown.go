package cli

import (
	"loops/internal/inspect"
	"loops/internal/plain"
)

// shown returns a value of an event as a part of a line: see clean.
func shown(v any) string { return plain.Line(inspect.Text(v)) }

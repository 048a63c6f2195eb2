package ui

import (
	"loops/internal/inspect"
	"loops/internal/plain"
)

// ValueText returns a value of an event as a part of a line.
func ValueText(v any) string { return plain.Line(inspect.Text(v)) }

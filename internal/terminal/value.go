package terminal

import (
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// ValueText returns a value of an event as a part of a line.
func ValueText(v any) string { return humanize.PlainLine(inspect.Text(v)) }

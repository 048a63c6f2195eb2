package humanize

import (
	"fmt"
	"strings"
	"time"
)

// Duration writes a time span as people read it: 11ms, 3.1s, 45s, 4m05s, 1h02m03s.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm%02ds", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// Limit writes a limit of time, to a millisecond: 30s, 2.95s, 1m02s, 1m2.5s.
func Limit(d time.Duration) string {
	if d = d.Round(time.Millisecond); d >= time.Second && d%time.Second != 0 && d%(100*time.Millisecond) != 0 ||
		d >= 10*time.Second && d%time.Second != 0 {
		return d.String()
	}
	return Duration(d)
}

// Count writes a number with its noun: 1 run, 2 runs, 2 retries.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

func plural(noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case y && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"),
		strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

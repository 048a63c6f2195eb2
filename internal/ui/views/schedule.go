package views

import (
	"io"
	"text/tabwriter"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/plain"
	"loops/internal/ui"
)

// ScheduleLine is the schedule of a loop in one line; "" = it has none.
func ScheduleLine(s *fsm.Schedule) string {
	if s == nil {
		return ""
	}
	line := s.Cron
	if s.Timezone != "" {
		line += " in " + s.Timezone
	}
	if s.Overlap == "queue" {
		line += ", waits for the run before"
	}
	if s.CatchUp == "one" {
		line += ", catches up with one run"
	}
	return plain.Line(line)
}

// WriteNextTimes writes times, and how far they are from now.
func WriteNextTimes(out io.Writer, times []time.Time, now time.Time) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, at := range times {
		ui.Say(t, "%s", at.Format("Mon 2006-01-02 15:04 MST"))
		if away := at.Sub(now); away > 0 {
			ui.Say(t, "\tin %s", humanize.Duration(away))
		}
		ui.Say(t, "\n")
	}
	return t.Flush()
}

// NextTimesObject is a schedule and its next times, for programs.
func NextTimesObject(l *fsm.Loop, times []time.Time) *value.Map {
	next := []any{}
	for _, at := range times {
		next = append(next, at.Format(time.RFC3339))
	}
	s := l.Schedule
	return value.NewMap("name", l.Name, "loop", l.Name, "file", l.File, "cron", s.Cron, "timezone", ui.OrNull(s.Timezone), "overlap", s.Overlap, "catch_up", s.CatchUp, "next", next)
}

package view

import (
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"loops/engine/trigger"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// ScheduleLine is the schedule of a loop in one line; "" = it has none.
func ScheduleLine(s *fsm.Schedule) string {
	if s == nil {
		return ""
	}
	line := s.Cron
	for _, more := range []struct {
		has  bool
		text string
	}{
		{s.Timezone != "", " in " + s.Timezone},
		{len(s.Except) > 0, ", except " + strings.Join(s.Except, ", ")},
		{s.Overlap == "queue", ", waits for the run before"},
		{true, trigger.CatchUpText(s)},
	} {
		if more.has {
			line += more.text
		}
	}
	return humanize.PlainLine(line)
}

// WriteNextTimes writes times, and how far they are from now.
func WriteNextTimes(out io.Writer, times []time.Time, now time.Time) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, at := range times {
		terminal.Say(t, "%s", at.Format("Mon 2006-01-02 15:04 MST"))
		if away := at.Sub(now); away > 0 {
			terminal.Say(t, "\tin %s", humanize.Duration(away))
		}
		terminal.Say(t, "\n")
	}
	return t.Flush()
}

// NextTimesObject is a schedule and its next times, for programs.
func NextTimesObject(l *fsm.Loop, times []time.Time) *value.Map {
	next := terminal.List(times, func(at time.Time) any { return at.Format(time.RFC3339) })
	s := l.Schedule
	return value.NewMap("name", l.Name, "loop", l.Name, "file", l.File, "cron", s.Cron, "timezone", terminal.OrNull(s.Timezone), "except", terminal.Texts(s.Except), "overlap", s.Overlap, "catch_up", s.CatchUp, "catch_up_limit", int64(s.CatchUpLimit), "next", next)
}

// WriteSchedules writes schedules, whole if they are all: when each comes next, what became of its newest time,
// and its line.
func WriteSchedules(out io.Writer, all []trigger.ListedSchedule, whole bool, now time.Time) error {
	if len(all) == 0 {
		if whole {
			terminal.SayLine(out, "No loop has a schedule.")
		}
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	terminal.Say(t, "LOOP\tNEXT\tLAST\tSCHEDULE\n")
	for _, l := range all {
		next := "never"
		if l.Paused != nil {
			next = "paused by " + l.Paused.By
		} else if !l.Next.IsZero() {
			next = l.Next.Format("Mon 2006-01-02 15:04 MST") + ", in " + humanize.Duration(l.Next.Sub(now))
		}
		last := "-"
		if f, ok := trigger.Latest(l.Times); ok {
			last = FiringLine(f)
		}
		terminal.Say(t, "%s\t%s\t%s\t%s\n", l.Loop, next, last, ScheduleLine(&l.Schedule))
	}
	return t.Flush()
}

// ScheduledObject returns, for a program, whether a schedule was changed, and the run that began; "" = none.
func ScheduledObject(loop string, changed bool, run string) *value.Map {
	return value.NewMap("loop", loop, "changed", changed, "instance_id", terminal.OrNull(run))
}

// FiringLine is what became of a time of a schedule in one line.
func FiringLine(f trigger.Firing) string {
	line := f.At.Local().Format("2006-01-02 15:04 MST") + " " + f.State
	if f.State == trigger.Started {
		line += ": " + string(f.Run)
	} else if f.Why != "" {
		line += ": " + humanize.Reason(f.Why)
	}
	if f.Missed > 0 {
		line += ", " + humanize.Count(f.Missed, "time") + " missed before"
	}
	return humanize.PlainLine(line)
}

// SchedulesObject returns schedules for programs.
func SchedulesObject(all []trigger.ListedSchedule) []any {
	at := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return t.Format(time.RFC3339)
	}
	return terminal.List(all, func(l trigger.ListedSchedule) any {
		o := value.NewMap("loop", l.Loop, "file", l.File, "cron", l.Schedule.Cron, "timezone", terminal.OrNull(l.Schedule.Timezone),
			"except", terminal.Texts(l.Schedule.Except), "overlap", l.Schedule.Overlap, "catch_up", l.Schedule.CatchUp, "catch_up_limit", int64(l.Schedule.CatchUpLimit), "next", at(l.Next), "paused_by", nil, "paused_at", nil)
		if l.Paused != nil {
			o.Set("paused_by", l.Paused.By)
			o.Set("paused_at", at(l.Paused.At))
		}
		o.Set("times", terminal.List(l.Times, func(f trigger.Firing) any {
			return value.NewMap("at", at(f.At), "state", f.State, "run", terminal.OrNull(string(f.Run)), "why", terminal.OrNull(f.Why), "missed", int64(f.Missed))
		}))
		o.Set("heard_at", at(l.Heard))
		o.Set("attended", l.Attended)
		o.Set("ahead_at", at(l.Ahead))
		return o
	})
}

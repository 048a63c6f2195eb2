package view

import (
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"loops/engine/trigger"
	"loops/fsm"
	"loops/internal/api"
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

// NextTimes returns a schedule and its next times.
func NextTimes(l *fsm.Loop, times []time.Time) api.Schedule {
	s := l.Schedule
	return api.Schedule{
		Name: l.Name, Loop: l.Name, File: l.File, Cron: s.Cron, Timezone: api.Text(s.Timezone), Except: s.Except,
		Overlap: s.Overlap, CatchUp: s.CatchUp,
		Limit: s.CatchUpLimit, Next: each(times, func(at time.Time) string { return at.Format(time.RFC3339) }),
	}
}

// WriteSchedules writes schedules, whole if they are all: when each comes next, the result of its newest time,
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

// Scheduled returns whether a schedule was changed, and the run that began; "" = none.
func Scheduled(loop string, changed bool, run string) api.Scheduled {
	return api.Scheduled{Loop: loop, Changed: changed, InstanceID: api.Text(run)}
}

// FiringLine is the result of a time of a schedule in one line.
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

// Schedules returns schedules.
func Schedules(all []trigger.ListedSchedule) []api.ListedSchedule {
	at := func(t time.Time) api.Text {
		if t.IsZero() {
			return ""
		}
		return api.Text(t.Format(time.RFC3339))
	}
	return each(all, func(l trigger.ListedSchedule) api.ListedSchedule {
		s := l.Schedule
		o := api.ListedSchedule{
			Loop: l.Loop, File: l.File, Cron: s.Cron, Timezone: api.Text(s.Timezone), Except: s.Except,
			Overlap: s.Overlap, CatchUp: s.CatchUp, Limit: s.CatchUpLimit,
			Next: at(l.Next), Untrusted: api.Text(l.Untrusted), Heard: at(l.Heard), Attended: l.Attended,
			Ahead: at(l.Ahead),
			Times: each(l.Times, func(f trigger.Firing) api.ScheduleTime {
				return api.ScheduleTime{
					At: api.Time(at(f.At)), State: f.State, Run: api.Text(f.Run),
					Why: api.Text(f.Why), Missed: f.Missed,
				}
			}),
		}
		if l.Paused != nil {
			o.PausedBy, o.PausedAt = api.Text(l.Paused.By), at(l.Paused.At)
		}
		return o
	})
}

package loopfile

import (
	"loops/fsm"
	"loops/fsm/cron"
)

// schedule reads the schedule of the top level; nil means that it is not there.
func (d *decoder) schedule(of *block) *fsm.Schedule {
	if !of.has("schedule") {
		return nil
	}
	b := of.sub("schedule")
	b.need(of.pos("schedule"), "cron", "schedule")
	s := &fsm.Schedule{
		Cron: b.text("cron"), Timezone: b.text("timezone"), Overlap: b.text("overlap"),
		CatchUp: b.text("catch_up"), Except: b.texts("except"),
	}
	if s.CatchUp == "all" {
		s.CatchUpLimit = b.int("catch_up_limit")
	} else if b.given("catch_up_limit") {
		d.warnf(b.keyPos("catch_up_limit"), "schedule.catch_up_limit", "ignored",
			"catch_up_limit has no effect without catch_up: all, which runs each missed time")
	}
	if f, ok := b.fields["cron"]; ok && f.val != nil {
		if times, err := cron.Parse(s.Cron); err == nil {
			s.Cron = times.String()
		} else {
			d.errorf(d.pos(f.node), join(b.path, "cron"), "bad-value",
				"cron: %v (every day at 03:00 is \"0 3 * * *\")", err)
		}
	}
	if f, ok := b.fields["except"]; ok && f.val != nil {
		if _, err := cron.ParseExcept("@daily", s.Except); err != nil {
			d.errorf(d.pos(f.node), join(b.path, "except"), "bad-value", "except: %v", err)
		}
	}
	if f, ok := b.fields["timezone"]; ok && f.val != nil {
		if _, err := cron.Zone(s.Timezone); err != nil {
			d.errorf(d.pos(f.node), join(b.path, "timezone"), "bad-value",
				"timezone: %v; expected a name such as Europe/Berlin or UTC", err)
		}
	}
	return s
}

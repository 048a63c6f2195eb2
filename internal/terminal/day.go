package terminal

import "time"

// A Day prints a heading with the date and the zone of the lines below it, which have a time of day only.
type Day struct{ last string }

// Heading prints the heading of a line with this time, unless that is the one of the line before.
func (d *Day) Heading(out *Sink, at time.Time) {
	if at.IsZero() {
		return
	}
	if day := at.Local().Format("2006-01-02 MST"); day != d.last {
		d.last = day
		SayLine(out, day)
	}
}

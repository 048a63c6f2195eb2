package cron

import (
	"strings"
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, line, zone, after, want string }{
		{"every night", "0 3 * * *", "UTC", "2026-11-23T05:00:00Z", "2026-11-24T03:00:00Z 2026-11-25T03:00:00Z"},
		{"not the same minute again", "0 3 * * *", "UTC", "2026-11-23T03:00:00Z", "2026-11-24T03:00:00Z"},
		{"a second before", "0 3 * * *", "UTC", "2026-11-23T02:59:59Z", "2026-11-23T03:00:00Z"},
		{
			"steps", "*/20 9-10 * * *", "UTC", "2026-11-23T09:45:00Z",
			"2026-11-23T10:00:00Z 2026-11-23T10:20:00Z 2026-11-23T10:40:00Z 2026-11-24T09:00:00Z",
		},
		{
			"a step from a value", "10/25 0 * * *", "UTC", "2026-11-23T00:00:00Z",
			"2026-11-23T00:10:00Z 2026-11-23T00:35:00Z 2026-11-24T00:10:00Z",
		},
		{
			"names", "0 0 * JAN mon-wed", "UTC", "2026-11-23T00:00:00Z",
			"2027-01-04T00:00:00Z 2027-01-05T00:00:00Z 2027-01-06T00:00:00Z 2027-01-11T00:00:00Z",
		},
		{"7 is Sunday", "0 0 * * 7", "UTC", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"},
		{
			"either of two restricted days", "0 0 13 * 5", "UTC", "2026-11-01T00:00:00Z",
			"2026-11-06T00:00:00Z 2026-11-13T00:00:00Z 2026-11-20T00:00:00Z",
		},
		{
			"both where one begins with *", "0 0 */2 * 5", "UTC", "2026-11-01T00:00:00Z",
			"2026-11-13T00:00:00Z 2026-11-27T00:00:00Z",
		},
		{"the last day of February", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"a short name", "@weekly", "UTC", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"},
		{"the end of a year", "59 23 31 12 *", "UTC", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"},

		{
			"put forward: what is skipped fires at once", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			"2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00",
		},
		{
			"put forward: it fires once", "*/15 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00",
			"2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00",
		},
		{
			"put forward: hours that pass", "30 * * * *", "Europe/Berlin", "2026-03-29T00:45:00+01:00",
			"2026-03-29T01:30:00+01:00 2026-03-29T03:30:00+02:00",
		},
		{
			"put back: it fires the first time", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00+02:00",
			"2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00",
		},
		{
			"put back: hours that pass", "30 * * * *", "Europe/Berlin", "2026-10-25T01:45:00+02:00",
			"2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00 2026-10-25T03:30:00+01:00",
		},
		{
			"put back: every second hour comes once", "0 */2 * * *", "Europe/Berlin", "2026-10-25T01:45:00+02:00",
			"2026-10-25T02:00:00+02:00 2026-10-25T04:00:00+01:00",
		},
		{
			"put forward: every second hour", "0 */2 * * *", "Europe/Berlin", "2026-03-29T01:45:00+01:00",
			"2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00",
		},
		{
			"put back: all hours by name", "0 0-23 * * *", "Europe/Berlin", "2026-10-25T01:45:00+02:00",
			"2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00",
		},
		{
			"put back: asked between the two", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:45:00+02:00",
			"2026-10-26T02:30:00+01:00",
		},
		{
			"half an hour forward", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			"2026-10-04T02:30:00+11:00",
		},
		{
			"midnight is skipped", "0 0 * * *", "America/Asuncion", "2024-10-05T12:00:00-04:00",
			"2024-10-06T01:00:00-03:00 2024-10-07T00:00:00-03:00",
		},
		{"every so often", "@every 90s", "UTC", "2026-11-23T00:00:00Z", "2026-11-23T00:01:30Z 2026-11-23T00:03:00Z"},
		{
			"every so often, the same for all", "@EVERY 5s", "UTC", "2026-11-23T00:00:03.7Z",
			"2026-11-23T00:00:05Z 2026-11-23T00:00:10Z",
		},
		{"every so often, from a time of its own", "@every 5s", "UTC", "2026-11-23T00:00:05Z", "2026-11-23T00:00:10Z"},
		{
			"every so often, before 1970", "@every 1h", "UTC", "1969-12-31T22:30:00Z",
			"1969-12-31T23:00:00Z 1970-01-01T00:00:00Z",
		},
		{
			"clocks do not move it", "@every 1h", "Europe/Berlin", "2026-03-29T00:30:00+01:00",
			"2026-03-29T01:00:00+01:00 2026-03-29T03:00:00+02:00",
		},
		{
			"several lines", "0 3 * * mon-fri\n\n 30 4 * * sun\n", "UTC", "2026-11-27T05:00:00Z",
			"2026-11-29T04:30:00Z 2026-11-30T03:00:00Z",
		},
		{
			"several with semicolons, one of them never again the first", "0 3 * * *; @every 1h", "UTC",
			"2026-11-23T01:30:00Z", "2026-11-23T02:00:00Z 2026-11-23T03:00:00Z 2026-11-23T04:00:00Z",
		},
		{"another zone", "0 3 * * *", "Asia/Kathmandu", "2026-11-23T00:00:00Z", "2026-11-24T03:00:00+05:45"},
	} {
		times, err := Parse(c.line)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		at = at.In(zone(t, c.zone))
		var got []string
		for range strings.Fields(c.want) {
			at = times.Next(at)
			got = append(got, at.Format(time.RFC3339))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s in %s after %s:\n%s, want\n%s", c.what, c.line, c.zone, c.after, text, c.want)
		}
	}
}

// Times come in order, none twice, and each is one that the line names, whatever the clock does in between.
func TestNextIsAlwaysLater(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Asuncion",
		"Africa/Casablanca", "UTC",
	} {
		for _, line := range []string{"*/7 * * * *", "0 0 * * *", "30 1,2,3 * * *", "15 */2 * * 0", "59 23 * * *"} {
			times, err := Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2024, 1, 1, 0, 0, 0, 0, zone(t, name))
			for range 3000 {
				next := times.Next(at)
				if !next.After(at) || next.Second() != 0 {
					t.Fatalf("%s in %s: %s comes after %s", line, name, next, at)
				}
				at = next
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"", `"" has 0 fields, expected 5`},
		{"0 3 * *", "has 4 fields, expected 5: minute, hour, day of the month, month and day of the week"},
		{"0 0 3 * * *", "there is no field for seconds"},
		{"60 3 * * *", "minute: 60 is not between 0 and 59"},
		{"0 24 * * *", "hour: 24 is not between 0 and 23"},
		{"0 3 0 * *", "day of the month: 0 is not between 1 and 31"},
		{"0 3 * 13 *", "month: 13 is not between 1 and 12"},
		{"0 3 * * 8", "day of the week: 8 is not between 0 and 7"},
		{"0 3 * * funday", `day of the week: "funday" is not a number or a name such as sun`},
		{"*/0 3 * * *", `minute: the step "0" is not a whole number from 1`},
		{"*/x 3 * * *", `minute: the step "x" is not a whole number from 1`},
		{"0 9-7 * * *", "hour: 9-7 ends before it begins"},
		{"0 , * * *", `hour: "" is not a number`},
		{"0 3 L * *", `day of the month: "L" is not a number`},
		{"0 -3 * * *", `hour: "" is not a number`},
		{"0 +3 * * *", `hour: "+3" is not a number`},
		{"0 0 30 2 *", "never comes: no month it names has such a day"},
		{"@reboot", `"@reboot" is not known (known: @every 90s, @hourly, @daily`},
		{"@every", `"@every": expected whole seconds from 1s to a year behind @every, such as @every 90s or @every 6h`},
		{"@every soon", `"@every soon": expected whole seconds`},
		{"@every 500ms", `"@every 500ms": expected whole seconds`},
		{"@every 1.5s", `"@every 1.5s": expected whole seconds`},
		{"@every -5s", `"@every -5s": expected whole seconds`},
		{"@every 9000h", `"@every 9000h": expected whole seconds`},
	} {
		if _, err := Parse(c.line); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.line, err, c.want)
		}
	}
}

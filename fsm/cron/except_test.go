package cron

import (
	"strings"
	"testing"
	"time"
)

func TestExcept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, zone, after string
		except            []string
		want              string
	}{
		{
			"0 3 * * *", "Europe/Berlin", "2026-12-22T12:00:00Z",
			[]string{"2026-12-24"},
			"2026-12-23T03:00:00+01:00 2026-12-25T03:00:00+01:00",
		},
		{
			"0 3 * * *", "Europe/Berlin", "2026-12-22T12:00:00Z",
			[]string{"2026-12-26", "2026-12-24 .. 2027-01-01", "2026-12-23"},
			"2027-01-02T03:00:00+01:00 2027-01-03T03:00:00+01:00",
		},
		{
			"0 3 * * 4", "UTC", "2026-12-22T12:00:00Z",
			[]string{"2026-12-24", "2027-01-07..2027-01-14"},
			"2026-12-31T03:00:00Z 2027-01-21T03:00:00Z",
		},
		{
			"@every 12h", "UTC", "2026-12-22T12:00:00Z",
			[]string{"2026-12-23"},
			"2026-12-24T00:00:00Z 2026-12-24T12:00:00Z",
		},
		{
			"0 23 * * *; 0 1 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08"},
			"2026-03-07T23:00:00-05:00 2026-03-09T01:00:00-04:00",
		},
		{
			"*/30 * * * *", "America/Asuncion", "2024-03-23T02:59:00Z",
			[]string{"2024-03-23"},
			"2024-03-24T00:00:00-04:00 2024-03-24T00:30:00-04:00",
		},
		{
			"0 0 29 2 *", "UTC", "2027-01-01T00:00:00Z",
			[]string{"2028-02-29"},
			"2032-02-29T00:00:00Z 2036-02-29T00:00:00Z",
		},
	} {
		times, err := ParseExcept(c.line, c.except)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		at = at.In(zone(t, c.zone))
		var got []string
		for range 2 {
			at = times.Next(at)
			got = append(got, at.Format(time.RFC3339))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s except %v:\n%s, want\n%s", c.line, c.except, text, c.want)
		}
	}
	for _, c := range []struct{ except, want string }{
		{"24.12.2026", `"24.12.2026" is no date; write 2026-12-24, or 2026-12-24..2027-01-01`},
		{"2026-02-30", `"2026-02-30" is no date`},
		{"2026-12-24..", `"2026-12-24.." is no date`},
		{"2026-12-24..2026-12-23", `"2026-12-24..2026-12-23" ends before it begins`},
	} {
		if _, err := ParseExcept("@daily", []string{c.except}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.except, err, c.want)
		}
	}
	if _, err := ParseExcept("@daily", make([]string, mostExcepted+1)); err == nil ||
		!strings.Contains(err.Error(), "1001 dates are excepted; 1000 are the most") {
		t.Error(err)
	}
}

// Package cron reads the times of a crontab line and says when they come next in a time zone; pure.
//
// The five fields are those of cron: minute, hour, day of the month, month, day of the week, with names,
// ranges, lists and steps. A day counts if it is in both day fields, or in either where both are restricted.
// When clocks are changed, a line that names its hours fires once a day all the same: a time that is skipped
// fires at the moment the clock is put forward, and one that comes twice fires the first time; so does 0 */2. A
// line whose hour is * fires in every hour that passes.
//
// @every 90s instead fires at each multiple of 90 seconds since 1970 in UTC, whatever the zone: its times are
// the same for all who look, and no clock that is changed moves them.
package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Times is a crontab line that was read, or several.
type Times struct {
	text  string
	lines []*Times // one for each of several lines; nil = it is one line

	minutes, hours, days, months uint64 // a bit for each value
	weekdays                     uint64
	everyHour                    bool // the hours are all 24
	anyDay, anyWeekday           bool // the field begins with *

	every int64 // of @every, in seconds; 0 = it is a line of five fields

	except []span // at which no time comes
}

// String is what was written, several lines with semicolons between them.
func (t *Times) String() string { return t.text }

// A field is one of the five.
type field struct {
	name        string
	least, most int
	words       []string // that stand for least and what follows
}

var fields = []field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// short are the names of common lines.
var short = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// mostLines is how many lines a schedule may have.
const mostLines = 100

// Parse reads a crontab line, or several, behind each of which is a line end or a semicolon: the times of all
// of them count. The error explains to users what is wrong.
func Parse(text string) (*Times, error) {
	line := strings.TrimSpace(text)
	if strings.ContainsAny(line, "\n;") {
		return parseLines(line)
	}
	if strings.HasPrefix(line, "@") {
		word, rest, _ := strings.Cut(strings.ToLower(line), " ")
		if word == "@every" {
			return parseEvery(text, strings.TrimSpace(rest))
		}
		long, ok := short[strings.ToLower(line)]
		if !ok {
			return nil, fmt.Errorf("%q is not known (known: @every 90s, @hourly, @daily, @weekly, @monthly, @yearly)",
				line)
		}
		line = long
	}
	parts := strings.Fields(line)
	if len(parts) != len(fields) {
		hint := ""
		if len(parts) == len(fields)+1 {
			hint = "; there is no field for seconds and none for the year"
		}
		return nil, fmt.Errorf("%q has %d fields, expected 5: minute, hour, day of the month, month and day "+
			"of the week%s", text, len(parts), hint)
	}
	var sets [5]uint64
	for i, f := range fields {
		var err error
		if sets[i], err = f.set(parts[i]); err != nil {
			return nil, err
		}
	}
	if sets[4]&(1<<7) != 0 { // 7 is Sunday too
		sets[4] |= 1
	}
	star := func(i int) bool { return strings.HasPrefix(parts[i], "*") }
	t := &Times{
		text: text, minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		everyHour: sets[1] == 1<<24-1, anyDay: star(2), anyWeekday: star(4),
	}
	if t.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("%q never comes: no month it names has such a day", text)
	}
	return t, nil
}

// parseLines reads several lines. Empty ones do not count.
func parseLines(text string) (*Times, error) {
	t := &Times{}
	var texts []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, ";", "\n"), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		one, err := Parse(line)
		if err != nil {
			return nil, err
		}
		t.lines, texts = append(t.lines, one), append(texts, line)
	}
	switch n := len(t.lines); {
	case n == 0:
		return nil, fmt.Errorf("%q has no line", text)
	case n > mostLines:
		return nil, fmt.Errorf("it has %d lines; %d are the most", n, mostLines)
	}
	t.text = strings.Join(texts, "; ")
	return t, nil
}

// parseEvery reads how often an @every line fires: whole seconds, from one to a year.
func parseEvery(text, often string) (*Times, error) {
	d, err := time.ParseDuration(often)
	if err != nil || d < time.Second || d > 366*24*time.Hour || d%time.Second != 0 {
		return nil, fmt.Errorf("%q: expected whole seconds from 1s to a year behind @every, such as @every "+
			"90s or @every 6h", text)
	}
	return &Times{text: text, every: int64(d / time.Second)}, nil
}

// set reads one field: a list of values, ranges and steps.
func (f field) set(text string) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(span, "-")
		low, high, by := f.least, f.most, 1
		if span != "*" {
			if low, err = f.value(from); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if high, err = f.value(to); err != nil {
					return 0, err
				}
			case !stepped:
				high = low
			}
		}
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 {
				return 0, fmt.Errorf("%s: the step %q is not a whole number from 1", f.name, step)
			}
		}
		if low > high {
			return 0, fmt.Errorf("%s: %s-%s ends before it begins", f.name, from, to)
		}
		for v := low; v <= high; v += by {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f field) value(text string) (int, error) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.least + i, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || text[0] == '+' || text[0] == '-' {
		return 0, fmt.Errorf("%s: %q is not a number%s", f.name, text, f.orWord())
	}
	if v < f.least || v > f.most {
		return 0, fmt.Errorf("%s: %d is not between %d and %d", f.name, v, f.least, f.most)
	}
	return v, nil
}

func (f field) orWord() string {
	if f.words == nil {
		return ""
	}
	return " or a name such as " + f.words[0]
}

// on reports whether the line can fire on a day.
func (t *Times) on(year int, month time.Month, day int) bool {
	if t.months&(1<<month) == 0 {
		return false
	}
	weekday := time.Date(year, month, day, 12, 0, 0, 0, time.UTC).Weekday()
	inMonth, inWeek := t.days&(1<<day) != 0, t.weekdays&(1<<weekday) != 0
	if !t.anyDay && !t.anyWeekday {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// horizon is how far ahead Next looks: 29 February is up to eight years away.
const horizon = 9 * 366

// Next returns the first time after another one, in the zone of that one; zero if there is none.
func (t *Times) Next(after time.Time) time.Time {
	at := t.next(after)
	for _, days := range t.except { // in order
		for days.has(at) && !at.IsZero() {
			if end := days.end(at.Location()); end.After(at) {
				at = t.next(end)
			} else { // the last hour of the day comes twice
				at = t.next(at)
			}
		}
	}
	return at
}

// next is Next without what is excepted.
func (t *Times) next(after time.Time) time.Time {
	if t.lines != nil {
		var first time.Time
		for _, line := range t.lines {
			if at := line.Next(after); first.IsZero() || !at.IsZero() && at.Before(first) {
				first = at
			}
		}
		return first
	}
	if t.every > 0 {
		seconds := after.Unix() - after.Unix()%t.every
		if after.Unix() < 0 && after.Unix()%t.every != 0 {
			seconds -= t.every
		}
		return time.Unix(seconds+t.every, 0).In(after.Location())
	}
	year, month, day := after.Date()
	for n := -1; n <= horizon; n++ { // a day that is put forward over midnight ends in the next one
		d := time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC)
		if !t.on(d.Date()) {
			continue
		}
		var best time.Time
		for _, at := range t.times(d, after.Location()) {
			if at.After(after) && (best.IsZero() || at.Before(best)) {
				best = at
			}
		}
		if !best.IsZero() {
			return best
		}
	}
	return time.Time{}
}

// times are the moments of a day in a zone. The day is written as one of UTC.
func (t *Times) times(day time.Time, zone *time.Location) (all []time.Time) {
	for hour := range 24 {
		if t.hours&(1<<hour) == 0 {
			continue
		}
		for minute := range 60 {
			if t.minutes&(1<<minute) == 0 {
				continue
			}
			clock := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
			first, second := moments(clock, zone)
			switch {
			case first.IsZero() && t.everyHour:
			case first.IsZero():
				all = append(all, forward(clock, zone))
			case !second.IsZero() && t.everyHour:
				all = append(all, first, second)
			default:
				all = append(all, first)
			}
		}
	}
	return all
}

// moments returns when clocks in a zone show a time, which is written as one of UTC: once, twice, or never.
func moments(clock time.Time, zone *time.Location) (first, second time.Time) {
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		at := clock.Add(-offset(clock.Add(around), zone)).In(zone)
		if offset(at, zone) != clock.Sub(at) || at.Equal(first) {
			continue
		}
		if first.IsZero() {
			first = at
			continue
		}
		if second = at; second.Before(first) {
			first, second = second, first
		}
	}
	return first, second
}

// forward returns the moment at which clocks were put forward over a time.
func forward(clock time.Time, zone *time.Location) time.Time {
	low, high := clock.Add(-24*time.Hour).Unix(), clock.Add(24*time.Hour).Unix()
	before := offset(time.Unix(low, 0), zone)
	for high-low > 1 {
		mid := low + (high-low)/2
		if offset(time.Unix(mid, 0), zone) == before {
			low = mid
		} else {
			high = mid
		}
	}
	return time.Unix(high, 0).In(zone)
}

func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

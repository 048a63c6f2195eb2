package fsm

import (
	"reflect"
	"testing"
	"time"
)

func TestEventAppendJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 37, 17, 206209999, time.FixedZone("", 3600))
	for _, c := range []struct {
		event Event
		want  string
	}{
		{
			Event{Kind: "route", Time: at, Seq: 3, Fields: []Field{{"from", "a"}, {"to", "b"}}},
			`{"event": "route", "ts": "2026-11-21T08:37:17.206209+00:00", "seq": 3, "from": "a", "to": "b"}`,
		},
		{
			Event{
				Kind: "evaluate", Time: at.Truncate(time.Second), Depth: 1,
				Fields: []Field{{"value", 5.0}, {"seq", "no"}},
			},
			`{"event": "evaluate", "ts": "2026-11-21T08:37:17.000000+00:00", "value": 5.0, "depth": 1}`,
		},
	} {
		if got := string(c.event.AppendJSON(nil)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	second := time.Date(2026, 11, 21, 8, 37, 17, 0, time.UTC)
	for line, want := range map[string]Event{
		`{"event": "route", "ts": "2026-11-21T08:37:17+00:00", "seq": 3, "from": "a", "depth": 2}`: {
			Kind: "route", Time: second, Seq: 3, Depth: 2, Fields: []Field{{"from", "a"}},
		},
		`{"zz": [1], "event": "old", "ts": "2026-11-21T08:37:17", "aa": null}`: {
			Kind: "old", Time: second, Fields: []Field{{"zz", []any{int64(1)}}, {"aa", nil}},
		},
		`{"event": "odd", "ts": 5, "seq": "x", "depth": -1}` + "\n": {Kind: "odd", Fields: []Field{}},
		`{"event": "bare"}`: {Kind: "bare"},
	} {
		got, err := ParseEvent([]byte(line))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %#v, %v\nwant %#v", line, got, err, want)
		}
	}
	for line, want := range map[string]string{
		`{"event": "route", "ts`: "not an event: expected a closing double quote, but the text ends",
		`[1]`:                    "not an event: expected a JSON object",
		`{"ts": "x"}`:            `not an event: no "event" name in it`,
		``:                       "not an event: expected a value, but the text ends",
	} {
		if _, err := ParseEvent([]byte(line)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-21T08:37:17.206209+00:00":    "2026-11-21T08:37:17.206209+00:00",
		"2026-11-21T08:37:17.5":               "2026-11-21T08:37:17.500000+00:00",
		"2026-11-21T08:37:17Z":                "2026-11-21T08:37:17.000000+00:00",
		"2026-11-21T08:37:17.123456789-02:30": "2026-11-21T11:07:17.123456+00:00",
		"2026-11-21 08:37:17":                 "2026-11-21T08:37:17.000000+00:00",
	} {
		got, err := ParseTime(text)
		if err != nil || FormatTime(got) != want {
			t.Errorf("%s: got %s, %v; want %s", text, FormatTime(got), err, want)
		}
	}
	for _, text := range []string{
		"", "2026-11-21", "yesterday", "2026-13-01T00:00:00", "9999-12-31T23:59:59-01:00",
		"0000-01-01T00:00:00",
	} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

// appendTime writes times by hand; it must agree with the standard library.
func TestFormatTimeAgreesWithAppendFormat(t *testing.T) {
	t.Parallel()
	for _, base := range []int64{0, 1, -1, 951826155, 951868800, 1795257000, 4102444799, -2208988800} {
		for _, nano := range []int64{0, 999, 1000, 1999, 123456789, 999999999} {
			at := time.Unix(base, nano)
			if want, got := at.UTC().AppendFormat(nil, "2006-01-02T15:04:05.000000+00:00"),
				FormatTime(at); string(want) != got {
				t.Errorf("want %s, got %s", want, got)
			}
		}
	}
}

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// The readers of values leave what they read into alone where they find a mistake.

// none is how a file takes back what a lower one says.
const none = "none"

// words reads a text, which is one of values where there are some.
func (d *decoder) words(n *yaml.Node, what string, values []string, to *string) {
	before := len(d.problems)
	v := d.text(n, what)
	switch {
	case len(d.problems) > before:
	case values != nil && !slices.Contains(values, v):
		d.say(n, "%s must be one of %s, found %s%s", what, humanize.List(values), humanize.Quote(v),
			humanize.DidYouMean(v, values))
	case strings.TrimSpace(v) == "":
		d.say(n, "%s is empty: leave the key out", what)
	default:
		*to = v
	}
}

// amount reads a value with parse, or none. like are examples of what is expected.
func amount[T any](d *decoder, n *yaml.Node, what, like string, to *T, parse func(string) (T, bool)) {
	before := len(d.problems)
	text := d.text(n, what)
	if len(d.problems) > before {
		return
	}
	var v T
	if text != none {
		var ok bool
		if v, ok = parse(text); !ok {
			d.say(n, "%s must be %s, or none, found %s", what, like, humanize.Quote(text))
			return
		}
	}
	*to = v
}

// duration reads a time above 0, or from 0 where that means something.
func (d *decoder) duration(n *yaml.Node, what string, zero bool, to *time.Duration) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float") && strings.Trim(n.Value, "0.") != "" {
		d.say(n, "%s has no unit: write %ss, %sm, %sh or %sd", what, n.Value, n.Value, n.Value, n.Value)
		return
	}
	like := "a time above 0 such as 45s, 30m, 1h30m or 30d"
	if zero {
		like = "a time such as 500ms, 2s or 1m30s"
	}
	amount(d, n, what, like, to, func(s string) (time.Duration, bool) {
		v, ok := parseDuration(s)
		return v, ok && (zero || v > 0)
	})
}

func (d *decoder) size(n *yaml.Node, what string, to *int64) {
	amount(d, n, what, "a size such as 500M or 2G", to, parseSize)
}

func (d *decoder) count(n *yaml.Node, what string, to *int) {
	amount(d, n, what, "a whole number from 1", to, func(s string) (int, bool) {
		v, err := strconv.Atoi(s)
		return v, err == nil && v > 0
	})
}

func (d *decoder) tokens(n *yaml.Node, what string, to *int64) {
	amount(d, n, what, "a whole number such as 50000, 20k or 2M", to, func(s string) (int64, bool) {
		number := strings.TrimRight(s, "kKmM")
		factor, ok := map[string]float64{"": 1, "K": 1e3, "M": 1e6}[strings.ToUpper(s[len(number):])]
		v, plain := positive(number)
		v *= factor
		return int64(v), ok && plain && v == math.Trunc(v) && v <= 1e15
	})
}

func (d *decoder) dollars(n *yaml.Node, what string, to *float64) {
	amount(d, n, what, "a number of US dollars above 0", to, func(s string) (float64, bool) {
		v, ok := positive(strings.TrimPrefix(s, "$"))
		return v, ok && v <= 1e15
	})
}

// positive reads a plain number above 0.
func positive(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v > 0 && strings.Trim(s, "0123456789.") == ""
}

// units are those of a duration, the longest first.
var units = []struct {
	name string
	is   time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// longest is the longest time that can be set.
const longest = 100 * 365 * 24 * time.Hour

// parseDuration reads 0, 45s, 1.5h, 1h30m, 30d: each unit at most once, the longest first.
func parseDuration(s string) (total time.Duration, ok bool) {
	if s == "0" {
		return 0, true
	}
	least := 0
	for s != "" {
		number := s[:len(s)-len(strings.TrimLeft(s, "0123456789."))]
		s = s[len(number):]
		unit := s[:len(s)-len(strings.TrimLeft(s, "dhms"))]
		s = s[len(unit):]
		i := slices.IndexFunc(units[least:], func(u struct {
			name string
			is   time.Duration
		},
		) bool {
			return u.name == unit
		})
		v, err := strconv.ParseFloat(number, 64)
		if i < 0 || err != nil || v > float64(longest/units[least+i].is) {
			return 0, false
		}
		total += time.Duration(v * float64(units[least+i].is))
		least += i + 1
		ok = true
	}
	return total, ok && total <= longest
}

// durationText writes a duration as parseDuration reads it.
func durationText(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, u := range units {
		if n := d / u.is; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d %= u.is
		}
	}
	return b.String()
}

// sizes are the units of a size; they mean powers of 1024.
const sizes = "KMGT"

// parseSize reads 512, 20M, 1.5G, 2GiB.
func parseSize(s string) (int64, bool) {
	number := strings.TrimRight(s, "iBkKmMgGtT")
	unit := strings.ToUpper(strings.TrimSuffix(strings.TrimSuffix(s[len(number):], "B"), "i"))
	shift := 0
	if unit != "" {
		i := strings.Index(sizes, unit)
		if i < 0 || len(unit) > 1 {
			return 0, false
		}
		shift = 10 * (i + 1)
	}
	v, ok := positive(number)
	v *= float64(int64(1) << shift)
	return int64(v), ok && v >= 1 && v <= 1<<60
}

// sizeText writes a size as parseSize reads it.
func sizeText(n int64) string {
	for i := len(sizes); i > 0; i-- {
		if unit := int64(1) << (10 * i); n%unit == 0 && n > 0 {
			return fmt.Sprintf("%d%c", n/unit, sizes[i-1])
		}
	}
	return strconv.FormatInt(n, 10)
}

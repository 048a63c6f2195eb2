package agent

import (
	_ "embed"
	"strings"
	"sync"
	"time"
)

// A PriceTable is what tokens of some models cost. It is not changed once it was read, and may be used concurrently.
type PriceTable struct {
	Date   string // of the day its newest prices were looked up
	models map[string][]Price
}

// A Price is what a million tokens cost in USD.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
	Until                                time.Time // the day after its last one; zero = permanently
}

//go:embed prices.yaml
var builtIn []byte

// BuiltInPrices returns the table that is part of the program.
var BuiltInPrices = sync.OnceValue(func() *PriceTable {
	t, err := Parse("prices.yaml", builtIn)
	if err != nil {
		panic(err) // a test reads it
	}
	return t
})

// Over returns a table with the prices of t, and of under for the models t does not know. Its date is that of t.
func (t *PriceTable) Over(under *PriceTable) *PriceTable {
	both := &PriceTable{Date: t.Date, models: make(map[string][]Price, len(t.models)+len(under.models))}
	for name, p := range under.models {
		both.models[name] = p
	}
	for name, p := range t.models {
		both.models[name] = p
	}
	return both
}

// Of returns the price of a model on a day; ok is false where it is not known.
//
// A model is known by its name in the table. Hosts also write a provider before it (anthropic/…), a size of
// context after it ([1m]) or the date of its release (-20251001); those are taken off where the whole name is
// not in the table.
func (t *PriceTable) Of(model string, at time.Time) (p Price, ok bool) {
	for _, name := range names(model) {
		prices, known := t.models[name]
		if !known {
			continue
		}
		for _, p := range prices {
			if p.Until.IsZero() || at.Before(p.Until) {
				return p, true
			}
		}
		return Price{}, false
	}
	return Price{}, false
}

// Cost returns what a use of a model cost, in USD; ok is false where it is not known. Nothing costs nothing,
// whatever the model.
func (t *PriceTable) Cost(model string, u Usage, at time.Time) (usd float64, ok bool) {
	if u == (Usage{}) {
		return 0, true
	}
	p, ok := t.Of(model, at)
	if !ok {
		return 0, false
	}
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite)*p.CacheWrite) / 1e6, true
}

// names returns what a model may be called in a table, the most exact first.
func names(model string) []string {
	all := []string{model}
	add := func(name string, changed bool) {
		if changed && name != "" {
			all = append(all, name)
		}
	}
	if name, _, ok := strings.Cut(model, "["); ok {
		add(name, true)
	}
	last := all[len(all)-1]
	if i := strings.LastIndexByte(last, '/'); i >= 0 {
		add(last[i+1:], true)
	}
	add(undated(all[len(all)-1]))
	return all
}

// undated takes the date of its release off a name.
func undated(name string) (string, bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 || len(name)-i-1 != 8 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name, false
	}
	return name[:i], true
}

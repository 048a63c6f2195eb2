package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// Parse reads a table. The error is all mistakes in it, a line each: FILE:LINE:COL, what is wrong, what was expected.
func Parse(file string, text []byte) (*PriceTable, error) {
	var doc yaml.Node
	switch err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: the price table is empty: expected the keys date and models", file)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	p := &parser{file: file, table: &PriceTable{models: map[string][]Price{}}}
	p.document(doc.Content[0])
	if len(p.mistakes) > 0 {
		return nil, errors.Join(p.mistakes...)
	}
	return p.table, nil
}

type parser struct {
	file     string
	table    *PriceTable
	mistakes []error
}

func (p *parser) wrong(n *yaml.Node, format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Errorf("%s:%d:%d: %s", p.file, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// keys calls each for the keys of a mapping.
func (p *parser) keys(n *yaml.Node, what string, each func(key, val *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.wrong(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			p.wrong(key, "%s occurs twice", key.Value)
			continue
		}
		seen[key.Value] = true
		each(key, n.Content[i+1])
	}
}

func (p *parser) document(n *yaml.Node) {
	p.keys(n, "a price table", func(key, val *yaml.Node) {
		switch key.Value {
		case "date":
			if _, err := time.Parse(time.DateOnly, val.Value); err != nil {
				p.wrong(val, "date is %q: expected a day such as 2026-01-31", val.Value)
			}
			p.table.Date = val.Value
		case "models":
			p.keys(val, "models", p.model)
		default:
			p.unknown(key, "date", "models")
		}
	})
	if p.table.Date == "" && len(p.mistakes) == 0 {
		p.wrong(n, "date is missing: the day the prices were looked up, such as 2026-01-31")
	}
}

// model reads the price of a model, or a list of prices of which all but the last end on a day.
func (p *parser) model(key, val *yaml.Node) {
	list := []*yaml.Node{val}
	if val.Kind == yaml.SequenceNode {
		list = val.Content
	}
	if len(list) == 0 {
		p.wrong(val, "%s has no price", key.Value)
	}
	var before time.Time
	for i, n := range list {
		price := p.price(n, key.Value)
		switch {
		case price.Until.IsZero() && i < len(list)-1:
			p.wrong(n, "a price that another one follows needs the key until, its last day")
		case !price.Until.IsZero() && !price.Until.After(before):
			p.wrong(n, "the prices of %s must be in the order of their last days", key.Value)
		}
		before = price.Until
		p.table.models[key.Value] = append(p.table.models[key.Value], price)
	}
}

func (p *parser) price(n *yaml.Node, model string) Price {
	price := Price{CacheRead: -1, CacheWrite: -1} // not said: as much as input, so that nothing is counted too low
	numbers := map[string]*float64{
		"input": &price.Input, "output": &price.Output, "cache_read": &price.CacheRead,
		"cache_write": &price.CacheWrite,
	}
	missing := []string{"input", "output"}
	p.keys(n, "the price of "+model, func(key, val *yaml.Node) {
		to := numbers[key.Value]
		switch {
		case key.Value == "until":
			day, err := time.Parse(time.DateOnly, val.Value)
			if err != nil {
				p.wrong(val, "until is %q: expected a day such as 2026-01-31", val.Value)
			}
			price.Until = day.AddDate(0, 0, 1)
		case to == nil:
			p.unknown(key, "input", "output", "cache_read", "cache_write", "until")
		case val.Decode(to) != nil || !(*to >= 0) || math.IsInf(*to, 0):
			p.wrong(val, "%s is %q: expected USD for a million tokens, such as 2.5", key.Value, val.Value)
		}
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == key.Value })
	})
	if price.CacheRead < 0 {
		price.CacheRead = price.Input
	}
	if price.CacheWrite < 0 {
		price.CacheWrite = price.Input
	}
	if len(missing) > 0 && n.Kind == yaml.MappingNode {
		p.wrong(n, "the price of %s lacks %s", model, strings.Join(missing, " and "))
	}
	return price
}

func (p *parser) unknown(key *yaml.Node, known ...string) {
	p.wrong(key, "%s is no key of a price table: expected %s%s", humanize.Quote(key.Value), humanize.List(known),
		humanize.DidYouMean(key.Value, known))
}

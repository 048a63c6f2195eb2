package agent

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

var day = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func parsePrices(t *testing.T, text string) *PriceTable {
	t.Helper()
	table, err := Parse("own.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCost(t *testing.T) {
	t.Parallel()
	table := parsePrices(t, `
date: 2026-01-31
models:
  plain: {input: 1, output: 10}
  cached: {input: 1, output: 10, cache_read: 0.1, cache_write: 2}
  dated: [{input: 2, output: 2, until: 2026-08-31}, {input: 3, output: 3}]
  over: {input: 1, output: 1, until: 2026-08-31}
  vendor/exact: {input: 7, output: 7}
`)
	m := Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}
	for _, c := range []struct {
		model string
		usage Usage
		at    time.Time
		want  float64
		known bool
	}{
		{"plain", m, day, 13, true},
		{"cached", m, day, 13.1, true},
		{"cached", Usage{Output: 100}, day, 0.001, true},
		{"dated", Usage{Input: 1e6}, time.Date(2026, 8, 31, 23, 59, 0, 0, time.UTC), 2, true},
		{"dated", Usage{Input: 1e6}, time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), 3, true},
		{"over", Usage{Input: 1e6}, day, 0, false},
		{"cached-20251001", Usage{Input: 1e6}, day, 1, true},
		{"cached-2025", Usage{Input: 1e6}, day, 0, false},
		{"anthropic/cached-20251001", Usage{Input: 1e6}, day, 1, true},
		{"cached[1m]", Usage{Input: 1e6}, day, 1, true},
		{"vendor/exact", Usage{Input: 1e6}, day, 7, true},
		{"exact", Usage{Input: 1e6}, day, 0, false},
		{"nobody", Usage{Input: 1}, day, 0, false},
		{"", Usage{Input: 1}, day, 0, false},
		{"nobody", Usage{}, day, 0, true},
	} {
		got, known := table.Cost(c.model, c.usage, c.at)
		if known != c.known || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s %+v: %v, %v; want %v, %v", c.model, c.usage, got, known, c.want, c.known)
		}
	}
}

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	if _, ok := BuiltInPrices().Of("claude-opus-4-8[1m]", day); !ok {
		t.Error("the built-in table does not know claude-opus-4-8[1m]")
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	own := parsePrices(t, "date: 2026-01-31\nmodels: {gpt-5: {input: 9, output: 9}}")
	both := own.Over(BuiltInPrices())
	if p, _ := both.Of("gpt-5", day); p.Input != 9 || both.Date != "2026-01-31" {
		t.Errorf("gpt-5 costs %v in the table of %s, want what the upper one says", p, both.Date)
	}
	if _, ok := both.Of("claude-sonnet-5", day); !ok {
		t.Error("a model of the lower table is not known")
	}
	if p, _ := BuiltInPrices().Of("gpt-5", day); p.Input == 9 {
		t.Error("the lower table was changed")
	}
}

// TestMistakes reads every testdata/*.yaml and compares what is said with the .out beside it.
func TestMistakes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(filepath.Base(file), text)
		if err == nil {
			t.Errorf("%s: no mistake was found", file)
			continue
		}
		got, out := err.Error()+"\n", strings.TrimSuffix(file, ".yaml")+".out"
		testenv.Golden(t, out, got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(builtIn))
	f.Add("date: 2026-01-31\nmodels: {m: [{input: 1, output: .inf}]}")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse("own.yaml", []byte(text))
		if err != nil {
			return
		}
		for name := range table.models {
			if usd, ok := table.Cost(name, Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}, day); ok &&
				!(usd >= 0) {
				t.Errorf("%s costs %v", name, usd)
			}
		}
	})
}

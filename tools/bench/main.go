// Command bench measures the built program from outside and prints a Markdown table: what was promised, what was
// measured, and how that compares with a bare spawn of bash in the same run. Each figure is the median of several
// rounds; in each round the baseline and the subject take turns, so that a busy machine slows both.
//
//	make bench
//	bin/bench -bin bin/loops -rounds 9
//	bin/bench -only "a million"
//	bin/bench -long
//	bin/bench -write docs/performance.md -front README.md
//
// With -write the table in the section Numbers of that file becomes what was measured, with every row, when all
// is done. With -front the rows that a table of that file already has get the new figures. What needs a server
// of PostgreSQL starts one of its own, and is not measured where the binaries are missing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/loops", "program to measure")
	rounds := flag.Int("rounds", 7, "rounds of which the median is taken")
	only := flag.String("only", "", "measure only what has this text in its name")
	long := flag.Bool("long", false, "measure what takes minutes in its full length")
	dead := flag.String("dead", "", "used by bench itself: leave dead runs in this project")
	update := flag.String("write", "", "write the table into this file, too")
	front := flag.String("front", "", "write new figures into the rows that this file has, too")
	flag.Parse()
	if *dead != "" {
		if err := dieHere(*dead); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0) // the runs still have their owner, and lose it
	}
	if *update+*front != "" && *only != "" {
		fmt.Fprintln(os.Stderr, "bench: -write and -front need every row: leave out -only")
		os.Exit(2)
	}
	if err := run(*bin, *only, *update, *front, *rounds, *long); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, only, update, front string, rounds int, long bool) (err error) {
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if _, err := os.Stat(bin); err != nil {
		return fmt.Errorf("%w (make build makes it)", err)
	}
	dir, err := os.MkdirTemp("", "loops-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	machine := fmt.Sprintf("%s/%s, %d cores, kernel %s, %s, medians of %d rounds", runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), kernel(), runtime.Version(), rounds)
	fmt.Print(machine, "\n\n")
	fmt.Println("| what | target | measured | bare spawns | |")
	fmt.Println("|---|---|---|---|---|")
	b := &bench{bin: bin, dir: dir, rounds: rounds, long: long}
	var taken []result
	defer func() { err = errors.Join(err, b.close()) }()
	for _, m := range measures {
		if !strings.Contains(m.name, only) {
			continue
		}
		got, spawn, err := b.median(m)
		if missing := (*missingError)(nil); errors.As(err, &missing) {
			fmt.Printf("| %s | ≤ %s | not measured | – | %s |\n", m.name, m.unit.text(m.limit), missing.what)
			taken = append(taken, result{m, "not measured", false, missing.long})
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		verdict := "ok"
		if got > m.limit {
			verdict = "MISSED"
		}
		taken = append(taken, result{m, m.unit.text(got), got > m.limit, false})
		fmt.Printf("| %s | ≤ %s | %s | %s | %s |\n", m.name, m.unit.text(m.limit), m.unit.text(got),
			m.unit.ratio(got, spawn), verdict)
	}
	if update != "" {
		err = updateTable(update, machine, taken)
	}
	if front != "" {
		err = errors.Join(err, updateRows(front, taken))
	}
	return err
}

// A missingError means that something cannot be measured on this machine, or is not without -long.
type missingError struct {
	what string
	long bool
}

func (e *missingError) Error() string { return e.what }

// A measure is one row of the table. Its take measures once and returns the figure, in its unit.
type measure struct {
	name  string
	limit float64
	unit  unit
	take  func(*bench) (float64, error)
}

// median takes a measure several times, each time next to a bare spawn, and returns the medians of both; that of
// the spawn is in seconds.
func (b *bench) median(m measure) (got, spawn float64, err error) {
	var all, spawns []float64
	for range b.rounds {
		s, err := b.spawns("true", 20)
		if err != nil {
			return 0, 0, err
		}
		v, err := m.take(b)
		if err != nil {
			return 0, 0, err
		}
		all, spawns = append(all, v), append(spawns, s.Seconds())
	}
	return middle(all), middle(spawns), nil
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// A unit is how a figure is printed. Times are in seconds.
type unit string

const (
	times  unit = "×"
	micros unit = "µs"
	millis unit = "ms"
	mega   unit = "MB"
	share  unit = "%"
	octets unit = "bytes"
)

func (u unit) text(v float64) string {
	switch u {
	case times:
		return fmt.Sprintf("%.2f×", v)
	case micros:
		return fmt.Sprintf("%.1f µs", v*1e6)
	case millis:
		return fmt.Sprintf("%.1f ms", v*1e3)
	case share:
		return fmt.Sprintf("%.1f %%", v)
	case octets:
		return fmt.Sprintf("%.0f bytes", v)
	}
	return fmt.Sprintf("%.1f MB", v)
}

// ratio is a time as so many bare spawns.
func (u unit) ratio(v, spawn float64) string {
	if u == mega || u == share || u == octets {
		return "–"
	}
	if u == times {
		return u.text(v)
	}
	return fmt.Sprintf("%.3g", v/spawn)
}

func since(begin time.Time) float64 { return time.Since(begin).Seconds() }

package action

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine/action/envfile"
	"loops/fsm"
)

// How much text actions get in their environment. The system limits one variable to 128 KiB, and all of them, with
// the arguments, to 2 MiB on most machines, of which actions need the larger part for the programs they start.
const (
	longVar  = 32 << 10  // a longer value goes to a file
	longVars = 256 << 10 // if all that are left are longer together, the longest go to files too
)

// textVars are how the names of [fsm.Action.Vars] begin. Those that an outer run has set are not passed on.
var textVars = []string{"LOOPS_BUDGET_LEFT", "LOOPS_CAPTURED_", "LOOPS_ITEM", "LOOPS_CONTEXT_", "LOOPS_PREV_OUTPUT"}

func isTextVar(name string) bool {
	return slices.ContainsFunc(textVars, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// variables returns the environment entries of a. done is to be called when it is over, and returns why a file
// that it was given is not durable: the action may have handed on its name, as its result.
func (r *Runner) variables(a fsm.Action) (entries []string, done func() error, err error) {
	if len(a.Vars) == 0 {
		return nil, func() error { return nil }, nil
	}
	inFile := tooLong(a.Vars)
	entries = make([]string, 0, len(a.Vars))
	var used []*envfile.File
	var written []*os.File
	open, settle := &written, r.settler()
	if settle == nil {
		open = nil
	}
	durable := func() error { return nil }
	done = func() error {
		err := durable()
		r.vars.Release(used)
		return err
	}
	fail := func(err error) ([]string, func() error, error) {
		for _, f := range written {
			_ = f.Close() // no action gets its name
		}
		r.vars.Release(used)
		return nil, nil, err
	}
	if inFile != nil {
		r.vars.Look()
	}
	for i, v := range a.Vars {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
			return fail(fmt.Errorf("state %q: %q cannot be the name of an environment variable", a.State, v.Name))
		}
		if inFile == nil || !inFile[i] {
			entries = append(entries, v.Name+"="+r.Mask.Reveal(v.Value)) // a file keeps the placeholders: it stays
			continue
		}
		f, err := r.vars.Hold(r.RunDir, v.Name, v.Value, open)
		if err != nil {
			return fail(fmt.Errorf("the variable %s of state %q is too long for the environment and cannot be "+
				"written to a file: %w", v.Name, a.State, err))
		}
		used = append(used, f)
		entries = append(entries, f.Entry)
	}
	if len(written) > 0 {
		durable = settle.files(written, filepath.Dir(used[0].Path)) // while the action runs
	}
	return entries, done, nil
}

// tooLong reports which variables go to files: those that are too long, those that no environment can hold, and the
// longest of the others, so that all fit. Nil means no variable. A run may have megabytes of texts, most of
// them in files: only those that fit into the environment are looked through.
func tooLong(vars []fsm.Var) (inFile []bool) {
	sum := 0
	file := func(i int) {
		if inFile == nil {
			inFile = make([]bool, len(vars))
		}
		inFile[i] = true
		sum -= varSize(vars[i])
	}
	var order []int // those in the environment, the longest first
	for i, v := range vars {
		if sum += varSize(v); len(v.Value) > longVar {
			file(i)
			continue
		}
		order = append(order, i)
	}
	if sum > longVars {
		slices.SortStableFunc(order, func(i, k int) int { return varSize(vars[k]) - varSize(vars[i]) })
	}
	for len(order) > 0 && sum > longVars {
		file(order[0])
		order = order[1:]
	}
	for _, i := range order {
		if strings.Contains(vars[i].Value, "\x00") {
			file(i)
		}
	}
	return inFile
}

// varSize is what a variable takes in an environment.
func varSize(v fsm.Var) int { return len(v.Name) + len(v.Value) + len("=\x00") }

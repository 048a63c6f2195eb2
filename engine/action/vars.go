package action

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"loops/fsm"
	"loops/internal/disk"
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

// A varFile holds one value. While an action that got its path runs, it is not changed.
type varFile struct {
	path  string
	value string
	state disk.Stamp // as it was written; zero: not yet
	users int        // actions that run
}

// varFiles are the files of one Runner. They are kept for users to look at.
type varFiles struct {
	mu    sync.Mutex
	files map[string][]*varFile // by the name of the first
}

// variables returns the environment entries of a, and what is to be called when it is over.
func (r *Runner) variables(a fsm.Action) (entries []string, done func(), err error) {
	if len(a.Vars) == 0 {
		return nil, func() {}, nil
	}
	inFile := tooLong(a.Vars)
	entries = make([]string, 0, len(a.Vars))
	var used []*varFile
	done = func() { r.vars.release(used) }
	for i, v := range a.Vars {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
			done()
			return nil, nil, fmt.Errorf("state %q: %q cannot be the name of an environment variable", a.State, v.Name)
		}
		if inFile == nil || !inFile[i] {
			entries = append(entries, v.Name+"="+r.Mask.Reveal(v.Value)) // a file keeps the placeholders: it stays
			continue
		}
		f, err := r.vars.hold(r.RunDir, v, r.settler())
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("the variable %s of state %q is too long for the environment and cannot be written to a file: %w", v.Name, a.State, err)
		}
		used = append(used, f)
		entries = append(entries, v.Name+"_FILE="+f.path)
	}
	return entries, done, nil
}

// tooLong reports which variables go to files: those that are too long, those that no environment can hold, and the
// longest of the others, so that all fit. Nil means no variable. A run may have megabytes of texts, most of them in files:
// only those that fit into the environment are looked through.
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

// hold returns the file that holds the value of v, and writes it unless it is there from an action before.
func (vf *varFiles) hold(runDir string, v fsm.Var, settle *settler) (*varFile, error) {
	if runDir == "" {
		return nil, errors.New("this run has no folder")
	}
	vf.mu.Lock()
	defer vf.mu.Unlock()
	name := fileName(v.Name)
	var f *varFile
	for _, g := range vf.files[name] {
		if g.value == v.Value && g.intact() {
			g.users++
			return g, nil
		}
		if g.users == 0 && f == nil {
			f = g
		}
	}
	if f == nil {
		path := filepath.Join(runDir, "env", name)
		if n := len(vf.files[name]); n > 0 {
			path += fmt.Sprintf("~%d", n)
		}
		f = &varFile{path: path}
		if vf.files == nil {
			vf.files = map[string][]*varFile{}
		}
		vf.files[name] = append(vf.files[name], f)
	}
	if err := f.write(v.Value, settle); err != nil {
		return nil, err
	}
	f.users++
	return f, nil
}

func (vf *varFiles) release(used []*varFile) {
	if len(used) == 0 {
		return
	}
	vf.mu.Lock()
	defer vf.mu.Unlock()
	for _, f := range used {
		f.users--
	}
}

// intact reports whether the file is as it was written: an action may have removed it or written to it. A run may have
// thousands of them, and looks at each before each action, so this is one call of the system and takes no memory.
func (f *varFile) intact() bool {
	if f.state == (disk.Stamp{}) {
		return false
	}
	now, regular, ok := disk.StampOf(f.path)
	return ok && regular && now == f.state
}

// write replaces the file. Like an environment, it is not readable by other users. It is durable before an action gets
// its name, because the action may hand that on: as its result, to be recorded.
func (f *varFile) write(value string, settle *settler) error {
	f.state = disk.Stamp{}
	if err := disk.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	st, err := replace(f.path, func(w io.Writer) error { _, err := io.WriteString(w, value); return err }, 0o600, settle)
	if err != nil {
		return err
	}
	f.value = value
	// On a system without stamps each action has the file written.
	if now, _, ok := disk.StampOf(f.path); ok && now.Size == st.Size() && now.Modified == st.ModTime().UnixNano() {
		f.state = now
	}
	return nil
}

package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"loops/fsm/glob"
	"loops/fsm/value"
)

// A Guard limits what actions may change in the folder that they work in.
type Guard struct {
	Protect  []glob.Pattern // may not be changed
	Only     []glob.Pattern // nothing else may be changed; nil = everything may be
	MaxFiles int            // changed at once; 0 = no limit
	MaxLines int            // added and removed at once; 0 = no limit
	NoDelete bool
}

// Limits reports whether the guard limits anything.
func (g *Guard) Limits() bool {
	return g != nil && (g.Protect != nil || g.Only != nil || g.MaxFiles > 0 || g.MaxLines > 0 || g.NoDelete)
}

// String says what the guard allows, on one line; "" = everything.
func (g *Guard) String() string {
	if !g.Limits() {
		return ""
	}
	var parts, counts []string
	if g.Protect != nil {
		parts = append(parts, "protects "+joinPatterns(g.Protect))
	}
	if g.Only != nil {
		parts = append(parts, "only "+joinPatterns(g.Only))
	}
	if g.MaxFiles > 0 {
		counts = append(counts, fmt.Sprintf("%d files", g.MaxFiles))
	}
	if g.MaxLines > 0 {
		counts = append(counts, fmt.Sprintf("%d lines", g.MaxLines))
	}
	if counts != nil {
		parts = append(parts, "at most "+strings.Join(counts, ", "))
	}
	if g.NoDelete {
		parts = append(parts, "no deletions")
	}
	return strings.Join(parts, "; ")
}

// A FileChange is what happened to a file.
type FileChange struct {
	Path    string // relative to the folder, with slashes
	Deleted bool
	Lines   int // added and removed; 0 where it is binary
}

// Trees looks at the files that actions change, for guards. A folder of "" is that of the run. An error means that it
// cannot be done; it may be [ErrDiskFull] or [ErrMoved], as that of a [Runner]. Changes and PutBack do their work also
// when ctx has ended, because a run that is stopped is judged, too.
type Trees interface {
	// Tree returns the name of what is in a folder now; equal names mean equal files.
	Tree(ctx context.Context, dir string) (tree string, err error)
	// Changes returns what is in a folder now, and how that differs from a tree, sorted by path.
	Changes(ctx context.Context, dir, from string) (tree string, changes []FileChange, err error)
	// PutBack keeps what a breach left where a person finds it, and brings the folder back to the tree before. It
	// returns where the breach is kept. It is repeated where it was cut short.
	PutBack(ctx context.Context, dir, before string, b Breach) (kept string, err error)
}

// A Breach is a change that a guard does not allow.
type Breach struct {
	At     string // the visit to the state, as 2/1 of the second step and the first one inside it
	After  string // the tree that the action left
	Reason string
	Files  []string // that break a rule, a few of them
}

// mostNamed is how many files of a breach are named.
const mostNamed = 5

// breach returns why changes are not allowed, and the files that are to blame; "" = they are.
func (g *Guard) breach(changes []FileChange) (reason string, files []string) {
	blame := func(bad func(FileChange) bool) []string {
		var paths []string
		for _, c := range changes {
			if bad(c) {
				paths = append(paths, c.Path)
			}
		}
		return paths
	}
	for _, p := range g.Protect {
		if files = blame(func(c FileChange) bool { return p.Covers(c.Path) }); files != nil {
			return "protect: " + p.String(), files
		}
	}
	if g.Only != nil {
		files = blame(func(c FileChange) bool {
			return !slices.ContainsFunc(g.Only, func(p glob.Pattern) bool { return p.Covers(c.Path) })
		})
		if files != nil {
			return "only: " + joinPatterns(g.Only), files
		}
	}
	if files = blame(func(c FileChange) bool { return g.NoDelete && c.Deleted }); files != nil {
		return "no_delete: true", files
	}
	all := blame(func(FileChange) bool { return true })
	if g.MaxFiles > 0 && len(changes) > g.MaxFiles {
		return fmt.Sprintf("max_files: %d, and %d were changed", g.MaxFiles, len(changes)), all
	}
	lines := 0
	for _, c := range changes {
		lines += c.Lines
	}
	if g.MaxLines > 0 && lines > g.MaxLines {
		return fmt.Sprintf("max_lines: %d, and %d were changed", g.MaxLines, lines), all
	}
	return "", nil
}

func joinPatterns(all []glob.Pattern) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.String()
	}
	return strings.Join(texts, ", ")
}

// Guarded is what the machine remembers of a guarded action until it is judged. It is not changed once it was recorded.
type Guarded struct {
	Before string  // the tree that the action finds
	Breach *Breach // nil = none was found yet; else it is to be put back
	// the visit whose agent failed, whose changes are put back before another one begins (failover: files: reset);
	// "" = nothing is
	Reset string
}

// guards returns what limits the changes of the actions of a state: its own guard, that of its loop, and those of all
// around them.
func (e *Executor) guards(st *State) []*Guard {
	all := slices.Clone(e.guarding)
	for _, g := range []*Guard{e.cfg.Loop.Guard, st.Guard} {
		if g.Limits() && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// guardsBelow returns what limits the changes of a sub-loop or branch that a state runs. The state that the loop is in
// may be another: that which has the branches.
func (e *Executor) guardsBelow(st *State) []*Guard {
	all := e.guards(e.cfg.Loop.States[e.mem.Current])
	if st.Guard.Limits() && !slices.Contains(all, st.Guard) {
		all = append(all, st.Guard)
	}
	return all
}

// judgesItems reports whether the changes of all items of a list are judged when it is done: those of items that are a
// loop, one after another, are judged as those of any loop.
func (x *Each) judgesItems(st *State) bool { return st.Loop == "" || x.Parallel > 1 }

// errBeside is why a guard cannot do its work.
var errBeside = errors.New("its guard cannot tell its changes from those of what runs beside it in the same files; " +
	"give each a work tree (worktree: true), or give the guard to the state that runs them")

// watch remembers what the files are before a state acts, if a guard limits what it may change. A resumed run has that
// on record.
func (e *Executor) watch(st *State) error {
	m := e.mem
	if m.Guard != nil && m.Guard.Reset != "" {
		return e.resetFiles(st)
	}
	switch guards := e.guards(st); {
	case e.cfg.Trees == nil || len(guards) == 0 && !(e.failover(st).Reset && KindOf(st) == KindPrompt) ||
		m.Guard != nil:
		return nil
	case e.beside && len(guards) > len(e.guarding):
		return fmt.Errorf("state %s: %w", st.Name, errBeside)
	case e.beside:
		return nil
	}
	var tree string
	var err error
	e.do(func(ctx context.Context) { tree, err = e.cfg.Trees.Tree(ctx, e.dir) })
	if e.breaks(err); e.machine.broken != nil || e.ending() {
		return errHalted
	}
	if err != nil {
		return unguardedError{st.Name, err}
	}
	m.Guard = &Guarded{Before: tree}
	return nil
}

// inspect looks at what a guarded state changed, and puts back what is not allowed. The error is errHalted, that this
// cannot be done, or a [*breachError]. It may be called while the run ends.
func (e *Executor) inspect(st *State) error {
	m := e.mem
	if m.Guard == nil || e.cfg.Trees == nil || e.machine.broken != nil {
		return nil
	}
	if m.Guard.Breach == nil {
		var tree string
		var changes []FileChange
		var err error
		before := m.Guard.Before
		e.do(func(ctx context.Context) {
			tree, changes, err = e.cfg.Trees.Changes(ctx, e.dir, before)
		})
		if e.breaks(err); e.machine.broken != nil {
			return errHalted
		}
		if err != nil {
			return unguardedError{st.Name, err}
		}
		b := &Breach{At: strings.TrimPrefix(e.visitAddress(), "/"), After: tree}
		for _, g := range e.guards(st) {
			if b.Reason, b.Files = g.breach(changes); b.Reason != "" {
				break
			}
		}
		if b.Reason == "" {
			m.Guard = nil
			return nil
		}
		b.Reason = breachReason(st, b)
		b.Files = slices.Clone(b.Files[:min(len(b.Files), mostNamed)])
		for i, f := range b.Files {
			b.Files[i] = strings.ToValidUTF8(f, "�")
		}
		m.Guard = &Guarded{Before: before, Breach: b}
	}
	if !e.record(true) {
		return errHalted
	}
	before, b := m.Guard.Before, *m.Guard.Breach
	var kept string
	var err error
	e.do(func(ctx context.Context) { kept, err = e.cfg.Trees.PutBack(ctx, e.dir, before, b) })
	if e.breaks(err); e.machine.broken != nil {
		return errHalted
	}
	if err != nil {
		return unguardedError{st.Name, fmt.Errorf("%s; and that cannot be put back: %w", b.Reason, err)}
	}
	return &breachError{b, kept}
}

// An unguardedError is why a guard cannot do its work. The run ends by it, and can be resumed.
type unguardedError struct {
	state string
	err   error
}

func (e unguardedError) Error() string {
	return "the guard of state " + e.state + " cannot look at the files: " + e.err.Error()
}

func (e unguardedError) Unwrap() error { return e.err }

// breachReason says in a sentence what a guard does not allow.
func breachReason(st *State, b *Breach) string {
	names := make([]string, 0, mostNamed)
	for _, f := range b.Files[:min(len(b.Files), mostNamed)] {
		names = append(names, shownPath(f))
	}
	if more := len(b.Files) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("state %s changed what its guard does not allow (%s): %s", st.Name, b.Reason,
		strings.Join(names, ", "))
}

// shownPath is a path as people see it: in quotes where it has other than plain bytes.
func shownPath(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == '�'
	}) {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// A breachError is a change that a guard did not allow, and that was put back.
type breachError struct {
	Breach
	kept string
}

func (e *breachError) Error() string { return e.Reason }

// guarded leaves a state by the verdict guarded.
func (e *Executor) guarded(st *State, b *breachError) decision {
	m := e.mem
	m.Guard, m.Items = nil, nil // what items that ended changed is gone: they are done again
	m.forgetInside()
	e.undone = true
	files := make([]any, len(b.Files))
	for i, f := range b.Files {
		files[i] = f
	}
	details := value.NewMap("reason", b.Reason, "files", files, "kept", b.kept)
	m.PrevResult = prevResult(st, m.Result)
	m.PrevResult.Set("guarded", b.Reason)
	m.LastResult = value.NewMap("verdict", VerdictGuarded, "details", details)
	fields := []Field{{"type", "guard"}, {"verdict", VerdictGuarded}}
	for _, k := range details.Keys() {
		fields = append(fields, Field{k, details.Value(k)})
	}
	e.emit(EventEvaluate, fields...)
	target, err := e.target(st.OnGuarded, e.scope(m.LastResult))
	if err != nil {
		return e.exception(st, err)
	}
	if target == "" {
		reason := b.Reason
		if b.kept != "" {
			reason += "; the files are as before, and what it changed is in " + b.kept
		}
		return decision{refused: reason}
	}
	return decision{target: target}
}

// VerdictGuarded is the verdict of a state whose action changed what a guard does not allow.
const VerdictGuarded = "guarded"

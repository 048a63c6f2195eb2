package cli

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/host"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/phrase"
	"loops/internal/ui/views"
	"loops/persistence"
)

// What is noFiles from what a project holds now. A shell waits for the answer at every key, so only so much is read.
const (
	completionWait  = time.Second // for a database
	completionSteps = 500         // of a run, to offer them
	completionRuns  = 25          // noFiles where no loop is named
)

// loops offers the names of the project's loops and of the catalog's.
func (a *app) loops(_ *cobra.Command, _ []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	p, err := a.project()
	if err != nil {
		return nil, noFiles
	}
	lib, err := p.Library()
	if err != nil {
		return nil, noFiles
	}
	entries, _ := lib.Files.List(p.Loops) // a folder that cannot be read offers nothing
	more, _ := lookup.CatalogOnly(lib, entries)
	for _, e := range append(entries, more...) {
		if !strings.HasPrefix(e.Name, word) {
			continue
		}
		about := phrase.FirstLine(e.Title)
		if e.Problem != "" {
			about = "cannot run: " + phrase.FirstLine(e.Problem)
		}
		found = append(found, described(e.Name, about))
	}
	return found, noFiles
}

// loopWords offers what the loops of the project and of the catalog say of themselves.
func (a *app) loopWords(of func(loopfile.Entry) []string) completer {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		p, err := a.project()
		if err != nil {
			return nil, noFiles
		}
		lib, err := p.Library()
		if err != nil {
			return nil, noFiles
		}
		entries, _ := lib.Files.List(p.Loops) // a folder that cannot be read offers nothing
		more, _ := lookup.CatalogOnly(lib, entries)
		var words []string
		for _, e := range append(entries, more...) {
			words = append(words, of(e)...)
		}
		slices.Sort(words)
		return startingWith(word, slices.Compact(words)), noFiles
	}
}

// described returns a word and what is said of it; "", which is not offered, for one that nobody can type.
func described(word, about string) cobra.Completion {
	if !typable(word) {
		return ""
	}
	return cobra.CompletionWithDesc(word, phrase.Clip(strings.ReplaceAll(about, "\t", " ")))
}

// A runFilter chooses runs. live says whether only those are read that were not archived.
type runFilter struct {
	live bool
	fits func(r persistence.Run, alive bool) bool
	all  bool                                                                // it fits all
	also func(ctx context.Context, f project.Finder, r persistence.Run) bool // must hold, too; nil = nothing
}

var (
	isAny    = runFilter{all: true, fits: func(persistence.Run, bool) bool { return true }}
	isLive   = runFilter{live: true, fits: func(_ persistence.Run, alive bool) bool { return alive }}
	isPaused = runFilter{live: true, fits: func(persistence.Run, bool) bool { return true }, also: func(ctx context.Context, f project.Finder, r persistence.Run) bool {
		_, paused := f.Store.PausedSince(ctx, r)
		return paused
	}}
	isWaiting = runFilter{live: true, fits: isLive.fits, also: func(ctx context.Context, f project.Finder, r persistence.Run) bool {
		w, err := lookup.WaitOf(ctx, f.Store, r.ID)
		return err == nil && w != nil && w.Why != fsm.WaitPaused
	}}
	isEnded     = runFilter{fits: func(_ persistence.Run, alive bool) bool { return !alive }}
	isResumable = runFilter{fits: func(r persistence.Run, alive bool) bool { return r.Resumable && (!alive || r.Lapsed) }}
)

// runs offers the ids of runs that fit, newest first, and, unless all do, the loops they are of.
func (a *app) runs(fits runFilter) completer {
	return func(cmd *cobra.Command, args []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		runs := a.find(cmd.Context(), "", word, fits)
		if !fits.all {
			n := map[string]int{}
			for _, r := range runs {
				n[r.Loop]++
			}
			for _, loop := range slices.Sorted(maps.Keys(n)) {
				if strings.HasPrefix(loop, word) {
					found = append(found, described(loop, phrase.Count(n[loop], "run")))
				}
			}
		}
		return without(append(found, offerRuns(runs, word)...), args), inOrder
	}
}

// runsOnly is runs without names of loops.
func (a *app) runsOnly(fits runFilter) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return without(offerRuns(a.find(cmd.Context(), "", word, fits), word), args), inOrder
	}
}

// runsOfLoop offers the runs of the loop that is named before.
func (a *app) runsOfLoop(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	runs := a.find(cmd.Context(), args[0], word, isAny)
	return append(startingWith(word, []string{"last\tThe newest run"}), offerRuns(runs, word)...), inOrder
}

func offerRuns(runs []persistence.Run, word string) (found []cobra.Completion) {
	for _, r := range runs {
		if !strings.HasPrefix(string(r.ID), word) {
			continue
		}
		about := inspect.StatusWord(r)
		if r.State != "" {
			about += " in " + r.State
		}
		found = append(found, described(string(r.ID), about+", "+views.Since(r.UpdatedAt)))
	}
	return found
}

// find returns the newest runs that fit; of one loop if loop is not "", or if word is the beginning of the id of its runs.
func (a *app) find(ctx context.Context, loop, word string, fits runFilter) []persistence.Run {
	f, done := a.look(ctx)
	if f == nil {
		return nil
	}
	defer done()
	q := persistence.Query{Loop: loop, Live: fits.live, Limit: completionRuns}
	if i := strings.LastIndexByte(word, '-'); loop == "" && i > 0 && strings.Trim(word[i:], "-0123456789T") == "" && !strings.Contains(word, "%") {
		q.Loop = word[:i]
	}
	if q.Loop != "" {
		q.Limit = engine.RecentRuns
	}
	if fits.live {
		q.Limit = 0 // these are few
	}
	runs := fitting(ctx, *f, q, fits)
	if len(runs) == 0 && loop == "" && q.Loop != "" {
		q.Loop, q.Limit = "", completionRuns // it is a loop whose name ends so
		runs = fitting(ctx, *f, q, fits)
	}
	return runs
}

func fitting(ctx context.Context, f project.Finder, q persistence.Query, fits runFilter) (found []persistence.Run) {
	runs, err := f.Store.Runs(ctx, q)
	if err != nil {
		return nil
	}
	for _, r := range project.Current(runs) {
		if fits.fits(r, !fits.all && project.Alive(r)) && (fits.also == nil || fits.also(ctx, f, r)) {
			found = append(found, r)
		}
	}
	return found
}

// look opens the records; it returns nil where they cannot be.
func (a *app) look(ctx context.Context) (f *project.Finder, done func()) {
	_, store, err := a.open(ctx)
	if err != nil {
		return nil, nil
	}
	found := store.Finder()
	return &found, func() { _ = store.Close() } // it was only read
}

// loopOf returns the loop that arg means, by its name or by one of its runs; nil where there is none.
func (a *app) loopOf(ctx context.Context, arg string) *fsm.Loop {
	p, err := a.project()
	if err != nil {
		return nil
	}
	if path, err := p.Resolve(arg); err == nil {
		l, _, err := p.Loader().Load(path)
		if err != nil {
			return nil
		}
		return l
	}
	f, done := a.look(ctx)
	if f == nil {
		return nil
	}
	defer done()
	run, err := lookup.OneRun(ctx, *f, arg)
	if err != nil {
		return nil
	}
	l, _ := f.Ran(run, f.Store.Definition(ctx, run.ID))
	return l
}

// states offers the states of the loop, or of the run's loop, that is named before.
func (a *app) states(cmd *cobra.Command, args []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, noFiles
	}
	l := a.loopOf(cmd.Context(), args[0])
	if l == nil {
		return nil, noFiles
	}
	for _, name := range l.Order {
		if strings.HasPrefix(name, word) {
			found = append(found, described(name, aboutState(l, l.States[name])))
		}
	}
	return found, inOrder
}

// aboutState says what a state is for.
func aboutState(l *fsm.Loop, st *fsm.State) string {
	switch {
	case st == nil:
		return ""
	case st.Terminal:
		return "an end"
	case st.Loop != "":
		return "runs the loop " + st.Loop
	case st.Action != "":
		return phrase.FirstLine(st.Action)
	case st.Name == l.Initial:
		return "the initial state"
	}
	return "only decides"
}

// contextKeys offers the keys of the context of the loop that is named before.
func (a *app) contextKeys(cmd *cobra.Command, args []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 || strings.Contains(word, "=") {
		return nil, noSpace
	}
	l := a.loopOf(cmd.Context(), args[0])
	if l == nil {
		return nil, noSpace
	}
	for _, key := range l.Context.Keys() {
		if strings.HasPrefix(key, word) {
			val, _ := l.Context.Get(key)
			found = append(found, described(key+"=", "now "+strings.Trim(string(value.AppendJSON(nil, val)), `"`)))
		}
	}
	return found, noSpace
}

// steps offers the steps of the run that is named before.
func (a *app) steps(cmd *cobra.Command, args []string, word string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	found = startingWith(word, []string{"last\tThe last step"})
	f, done := a.look(cmd.Context())
	if f == nil || len(args) == 0 {
		return nil, noFiles
	}
	defer done()
	run, err := lookup.OneRun(cmd.Context(), *f, args[0])
	if err != nil {
		return nil, noFiles
	}
	if run.Step > completionSteps {
		return found, inOrder
	}
	steps := inspect.NewSteps(&inspect.Kinds{})
	if _, err := lookup.Path(cmd.Context(), *f, run, &inspect.Reader{Done: steps.Add}, a.damaged); err != nil {
		return found, inOrder
	}
	for i := range steps.Len() {
		if s := steps.At(i); strings.HasPrefix(s.Number, word) {
			found = append(found, described(s.Number, s.Path))
		}
	}
	return found, inOrder
}

// hosts offers the agent hosts that are known or declared.
func (a *app) hosts(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all := host.Hosts()
	if p, err := a.project(); err == nil {
		if c, err := p.Config(); err == nil {
			all = append(c.Hosts[:len(c.Hosts):len(c.Hosts)], all...)
		}
	}
	var names []string
	for _, h := range all {
		names = append(names, h.Name)
	}
	return startingWith(word, names), inOrder
}

// stores offers what --store may begin with, and databases of SQLite.
func (a *app) stores(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const sqlite = "sqlite:"
	path, is := strings.CutPrefix(word, sqlite)
	if !is {
		return startingWith(word, []string{project.StoreFiles + "\tfiles under .loops", sqlite + "\ta database in a file", "postgres://\ta server"}), noSpace
	}
	p, err := a.project()
	if err != nil {
		return nil, noSpace
	}
	dir, name := filepath.Split(path)
	from := dir
	if !filepath.IsAbs(dir) {
		from = filepath.Join(p.Dir, dir)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, noSpace
	}
	var found []cobra.Completion
	for _, e := range entries {
		switch ext := filepath.Ext(e.Name()); {
		case !strings.HasPrefix(e.Name(), name):
		case e.IsDir():
			found = append(found, sqlite+dir+e.Name()+"/")
		case ext == ".db" || ext == ".sqlite" || ext == ".sqlite3":
			found = append(found, sqlite+dir+e.Name())
		}
	}
	return found, noSpace
}

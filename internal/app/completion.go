package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/agent"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// A CompletionOffer lists what may be at a place of a command line: args are those before it, word is what is
// typed of it. ok is false where something is wrong.
type CompletionOffer func(ctx context.Context, args []string, word string) (words []string, ok bool)

// A CompletionSource knows what a project holds.
type CompletionSource struct {
	project func() (*project.Project, error)
	options engine.Options // of the engine that asks git
}

// NewCompletion returns a source of what a project holds.
func NewCompletion(project func() (*project.Project, error), o engine.Options) *CompletionSource {
	return &CompletionSource{project: project, options: o}
}

// withDescription returns a word and what a shell shows of it.
func withDescription(word, about string) string { return word + "\t" + about }

// What is offered from what a project holds now. A shell waits for the answer at every key, so only so much is read.
const (
	completionSteps = 500 // of a run, to offer them
	completionRuns  = 25  // offered where no loop is named
)

// Loops offers the names of the project's loops and of the catalog's.
func (s *CompletionSource) Loops(_ context.Context, _ []string, word string) (found []string, ok bool) {
	p, err := s.project()
	if err != nil {
		return nil, false
	}
	lib, err := p.Library()
	if err != nil {
		return nil, false
	}
	entries, _ := lib.Files.List(p.Loops) // a folder that cannot be read offers nothing
	more, _ := CatalogOnly(lib, entries)
	for _, e := range append(entries, more...) {
		if !strings.HasPrefix(e.Name, word) {
			continue
		}
		about := humanize.FirstLine(e.Title)
		if e.Problem != "" {
			about = "cannot run: " + humanize.FirstLine(e.Problem)
		}
		found = append(found, described(e.Name, about))
	}
	return found, true
}

// CatalogLoops offers the loops of the catalog that the project has none of the same name of.
func (s *CompletionSource) CatalogLoops(_ context.Context, _ []string, word string) (found []string, ok bool) {
	p, err := s.project()
	if err != nil {
		return nil, false
	}
	lib, err := p.Library()
	if err != nil {
		return nil, false
	}
	entries, _ := lib.Files.List(p.Loops) // a folder that cannot be read offers nothing
	more, _ := CatalogOnly(lib, entries)
	for _, e := range more {
		if strings.HasPrefix(e.Name, word) {
			found = append(found, described(e.Name, humanize.FirstLine(e.Title)))
		}
	}
	return found, true
}

// LoopWords offers what the loops of the project and of the catalog say of themselves.
func (s *CompletionSource) LoopWords(of func(loopfile.Entry) []string) CompletionOffer {
	return func(_ context.Context, _ []string, word string) ([]string, bool) {
		p, err := s.project()
		if err != nil {
			return nil, false
		}
		lib, err := p.Library()
		if err != nil {
			return nil, false
		}
		entries, _ := lib.Files.List(p.Loops) // a folder that cannot be read offers nothing
		more, _ := CatalogOnly(lib, entries)
		var words []string
		for _, e := range append(entries, more...) {
			words = append(words, of(e)...)
		}
		slices.Sort(words)
		return StartingWith(word, slices.Compact(words)), true
	}
}

// described returns a word and its description; "", which is not offered, for one that cannot be typed.
func described(word, about string) string {
	if !Typable(word) {
		return ""
	}
	return withDescription(word, humanize.Clip(strings.ReplaceAll(about, "\t", " ")))
}

// look opens the records; it returns nil where they cannot be.
func (s *CompletionSource) look(ctx context.Context) (f *project.Finder, done func()) {
	p, err := s.project()
	if err != nil {
		return nil, nil
	}
	store, err := p.Records(ctx, false)
	if err != nil {
		return nil, nil
	}
	found := store.Finder()
	return &found, func() { _ = store.Close() } // it was only read
}

// loopOf returns the loop that arg means, by its name or by one of its runs; nil where there is none.
func (s *CompletionSource) loopOf(ctx context.Context, arg string) *fsm.Loop {
	p, err := s.project()
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
	f, done := s.look(ctx)
	if f == nil {
		return nil
	}
	defer done()
	run, err := OneRun(ctx, *f, arg)
	if err != nil {
		return nil
	}
	l, _ := f.Ran(run, f.Store.DefinitionOf(ctx, run))
	return l
}

// States offers the states of the loop, or of the run's loop, that is named before.
func (s *CompletionSource) States(ctx context.Context, args []string, word string) (found []string, ok bool) {
	if len(args) == 0 {
		return nil, false
	}
	l := s.loopOf(ctx, args[0])
	if l == nil {
		return nil, false
	}
	for _, name := range l.Order {
		if strings.HasPrefix(name, word) {
			found = append(found, described(name, aboutState(l, l.States[name])))
		}
	}
	return found, true
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
	case st.Await != nil:
		return humanize.FirstLine(st.Await.String())
	case st.Branches != nil:
		return humanize.FirstLine(st.Branches.String())
	case st.Each != nil:
		return humanize.FirstLine(st.Each.String())
	case st.Action != "":
		return humanize.FirstLine(st.Action)
	case st.Name == l.Initial:
		return "the initial state"
	}
	return "only decides"
}

// ContextKeys offers the keys of the context of the loop that is named before.
func (s *CompletionSource) ContextKeys(ctx context.Context, args []string, word string) (found []string, ok bool) {
	if len(args) == 0 || strings.Contains(word, "=") {
		return nil, false
	}
	l := s.loopOf(ctx, args[0])
	if l == nil {
		return nil, false
	}
	for _, key := range l.Context.Keys() {
		if strings.HasPrefix(key, word) {
			val, _ := l.Context.Get(key)
			found = append(found, described(key+"=", "now "+strings.Trim(string(value.AppendJSON(nil, val)), `"`)))
		}
	}
	return found, true
}

// Steps offers the steps of the run that is named before.
func (s *CompletionSource) Steps(ctx context.Context, args []string, word string) (found []string, ok bool) {
	found = StartingWith(word, []string{"last\tThe last step"})
	f, done := s.look(ctx)
	if f == nil || len(args) == 0 {
		return nil, false
	}
	defer done()
	run, err := OneRun(ctx, *f, args[0])
	if err != nil {
		return nil, false
	}
	if run.Step > completionSteps {
		return found, true
	}
	var steps []*inspect.Visit // those inside branches and items, too
	add := func(v *inspect.Visit) { steps = append(steps, v) }
	if _, err := Path(ctx, *f, run, &inspect.Reader{Done: add, Inside: add}, func(error, string) {}); err != nil {
		return found, true
	}
	slices.SortFunc(steps, func(a, b *inspect.Visit) int { return a.Index - b.Index })
	for _, v := range steps {
		if number := v.Number(); strings.HasPrefix(number, word) {
			found = append(found, described(number, v.Path()))
		}
	}
	return found, true
}

// Workers offers the workers that carry runs of the project.
func (s *CompletionSource) Workers(ctx context.Context, _ []string, word string) (found []string, ok bool) {
	f, done := s.look(ctx)
	if f == nil {
		return nil, false
	}
	defer done()
	store, ok := f.Store.Store.(persistence.Placer)
	if !ok {
		return nil, false
	}
	all, err := store.Workers(ctx)
	if err != nil {
		return nil, false
	}
	for _, w := range all {
		if strings.HasPrefix(w.ID, word) {
			found = append(found, described(w.ID, fmt.Sprintf("%s, %d of %d", w.Queue, len(w.Runs), w.Slots)))
		}
	}
	return found, true
}

// Suspended offers what runs are suspended by, as loops unblock takes it.
func (s *CompletionSource) Suspended(ctx context.Context, _ []string, word string) ([]string, bool) {
	f, done := s.look(ctx)
	if f == nil {
		return nil, false
	}
	defer done()
	runs, err := f.Store.Runs(ctx,
		persistence.Query{
			Filter: persistence.Filter{Statuses: []persistence.Status{persistence.Awaiting, persistence.Queued}},
		})
	if err != nil {
		return nil, false
	}
	var names []string
	for _, r := range project.Current(runs) {
		if by := inspect.SuspendedBy(r); by != "" && !slices.Contains(names, by) {
			names = append(names, by)
		}
	}
	return StartingWith(word, names), true
}

// Hosts offers the agent hosts that are known or declared.
func (s *CompletionSource) Hosts(_ context.Context, _ []string, word string) ([]string, bool) {
	all := agent.Hosts()
	if p, err := s.project(); err == nil {
		if c, err := p.Config(); err == nil {
			all = append(c.Hosts[:len(c.Hosts):len(c.Hosts)], all...)
		}
	}
	var names []string
	for _, h := range all {
		names = append(names, h.Name)
	}
	return StartingWith(word, names), true
}

// Stores offers what --store may begin with, and databases of SQLite.
func (s *CompletionSource) Stores(_ context.Context, _ []string, word string) ([]string, bool) {
	const sqlite = "sqlite:"
	path, is := strings.CutPrefix(word, sqlite)
	if !is {
		return StartingWith(word,
			[]string{
				project.StoreFiles + "\tfiles under .loops", sqlite + "\ta database in a file",
				"postgres://\ta server",
			}), true
	}
	p, err := s.project()
	if err != nil {
		return nil, false
	}
	dir, name := filepath.Split(path)
	from := dir
	if !filepath.IsAbs(dir) {
		from = filepath.Join(p.Dir, dir)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, false
	}
	var found []string
	for _, e := range entries {
		switch ext := filepath.Ext(e.Name()); {
		case !strings.HasPrefix(e.Name(), name):
		case e.IsDir():
			found = append(found, sqlite+dir+e.Name()+"/")
		case ext == ".db" || ext == ".sqlite" || ext == ".sqlite3":
			found = append(found, sqlite+dir+e.Name())
		}
	}
	return found, true
}

// WaiterIDs offers the ids and the loops of those who wait.
func (s *CompletionSource) WaiterIDs(_ context.Context, _ []string, word string) (found []string, ok bool) {
	p, err := s.project()
	if err != nil {
		return nil, false
	}
	line, err := p.Queue().Waiters()
	if err != nil {
		return nil, false
	}
	for _, w := range line {
		if strings.HasPrefix(w.ID, word) {
			found = append(found, described(w.ID, view.WaiterLoop(w)+", since "+view.Age(w.Since)))
		}
		if strings.HasPrefix(w.Loop, word) &&
			!slices.ContainsFunc(found, func(c string) bool { return strings.HasPrefix(c, w.Loop+"\t") }) {
			found = append(found, described(w.Loop, "all of this loop that wait"))
		}
	}
	return found, true
}

// Branches offers the branches of the repository to a shell.
func (s *CompletionSource) Branches(ctx context.Context, _ []string, word string) ([]string, bool) {
	p, err := s.project()
	if err != nil {
		return nil, false
	}
	git, done := engine.Git(p, s.options, "", true)
	defer done()
	list, err := git(ctx, p.Dir, "for-each-ref", "--format=%(refname:short)", "refs/heads/")
	if err != nil {
		return nil, false
	}
	return StartingWith(word, strings.Fields(list)), true
}

// StartingWith returns the words that begin so. What is after a tab describes a word.
func StartingWith(prefix string, words []string) (found []string) {
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			found = append(found, w)
		}
	}
	return found
}

// without returns the words that are not among these.
func without(words []string, these []string) []string {
	return slices.DeleteFunc(words, func(w string) bool {
		text, _, _ := strings.Cut(w, "\t")
		return slices.Contains(these, text)
	})
}

// Typable reports whether a word means itself to a shell, but for spaces and patterns.
func Typable(word string) bool {
	return word != "" && !strings.ContainsAny(word, "$`\\\"';&|<>()") && !strings.ContainsFunc(word, unicode.IsControl)
}

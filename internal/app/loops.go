package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// Tiers are the values of visibility, by which a loop says who it is for.
var Tiers = []string{"public", "internal", "example"}

// A LoopFilter chooses among the loops of a project. All that is set must hold.
type LoopFilter struct {
	Category string
	Labels   []string // one of them; upper and lower case are the same
	Tiers    []string // one of them; none = all but internal, unless All is set
	All      bool     // internal loops too
	Builtin  bool     // loops of the catalog alone, those too that loops of the project hide
}

// Loops are those of a project that a filter chose.
type Loops struct {
	Own     []loopfile.Entry
	Catalog []loopfile.Entry // of the catalog, that no loop of the project hides

	Waits map[persistence.ID]*fsm.Wait // what those of Last wait for that are alive
	Last  map[string]persistence.Run   // the last run of each, by the name in its file, as [Service.AddLast] found them
}

// Loops returns the loops of the project that are asked for.
func (s *Service) Loops(chosen LoopFilter) (*Loops, error) {
	lib, err := s.Project.Library()
	if err != nil {
		return nil, err
	}
	var own []loopfile.Entry
	if !chosen.Builtin {
		own, err = lib.Files.List(s.Project.Loops)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, s.Project.CannotOpen(err)
	}
	more, err := CatalogOnly(lib, own)
	if err != nil {
		return nil, err
	}
	if text, is := chosen.mistyped(slices.Concat(own, more)); is {
		s.Note("%s", s.Page.Text(text)) // scripts for little-loops expect an empty list
	}
	return &Loops{Own: s.choose(chosen, own), Catalog: s.choose(chosen, more)}, nil
}

// AddLast finds the last run of each loop. On an error some may be missing.
func (s *Service) AddLast(ctx context.Context, l *Loops) error {
	f, err := s.Finder(ctx)
	if _, none := errors.AsType[*project.NoDatabaseError](err); none {
		l.Last = map[string]persistence.Run{} // nothing was recorded yet
		return nil
	}
	if err != nil {
		return err
	}
	runs, err := f.Store.Runs(ctx, persistence.Query{Last: true, HeldReadings: true})
	if err != nil {
		return f.Store.Failed(err)
	}
	l.Last = make(map[string]persistence.Run, len(runs))
	current := project.Current(runs)
	for _, r := range current {
		l.Last[r.Loop] = r
	}
	l.Waits = Waits(ctx, f, current...)
	return nil
}

// NoteUnattended says that nothing fires the schedules of the project, if one of these loops has one. What
// keeps it from looking is reported by schedule list and doctor.
func (s *Service) NoteUnattended(ctx context.Context, l *Loops) {
	if !slices.ContainsFunc(l.Own, func(e loopfile.Entry) bool { return e.Scheduled }) {
		return
	}
	now := time.Now()
	all, _, err := trigger.ListSchedules(ctx, s.Project, now)
	if line := trigger.Notice(all, now, s.Page.Command("schedule", "install")); err == nil && line != "" {
		s.Note("%s", "warning: "+line)
	}
}

// Objects returns the loops for a program.
func (l *Loops) Objects() []any {
	return append(terminal.List(l.Own, func(e loopfile.Entry) any { return l.object(e) }),
		terminal.List(l.Catalog, func(e loopfile.Entry) any {
			o := l.object(e)
			o.Catalog, o.BuiltIn = true, true // as little-loops calls it
			return o
		})...)
}

func (l *Loops) object(e loopfile.Entry) api.Listed {
	o := view.Listed(e)
	if l.Last == nil {
		return o
	}
	o.LastRun = new(*api.LastRun)
	if r, ok := l.Last[e.Loop]; ok {
		*o.LastRun = view.LastRun(r, l.Waits[r.ID])
	}
	return o
}

// Print writes them as tables of at most so many columns (0 = any): those of the project, and those of the
// catalog, which has a name.
func (l *Loops) Print(out io.Writer, catalog string, width int) {
	if len(l.Own) > 0 {
		terminal.WriteTable(out, terminal.Fit(view.ListRows(l.Own, l.Last, l.Waits), width))
	}
	if len(l.Catalog) == 0 {
		return
	}
	if len(l.Own) > 0 {
		terminal.Say(out, "\n")
	}
	terminal.Say(out, "In the catalog %s:\n", catalog)
	terminal.WriteTable(out, terminal.Fit(view.ListRows(l.Catalog, l.Last, l.Waits), width))
}

// Chooses reports whether anything is asked for.
func (f *LoopFilter) Chooses() bool {
	return f.Builtin || f.Category != "" || len(f.Labels) > 0 || len(f.Tiers) > 0
}

// choose returns the loops that are asked for. It notes what is left out unasked: loops that cannot run, which
// are of no tier, and internal ones.
func (s *Service) choose(f LoopFilter, entries []loopfile.Entry) (chosen []loopfile.Entry) {
	var broken []string
	hidden := 0
	for _, e := range entries {
		switch {
		case f.Category != "" && e.Category != f.Category, len(f.Labels) > 0 &&
			!slices.ContainsFunc(e.Labels, f.asksFor):
		case len(f.Tiers) > 0 && e.Problem != "":
			broken = append(broken, e.Name)
		case len(f.Tiers) == 0 && !f.All && e.Problem == "" && tierOf(e) == "internal":
			hidden++
		case len(f.Tiers) == 0 || slices.Contains(f.Tiers, tierOf(e)):
			chosen = append(chosen, e)
		}
	}
	if len(broken) > 0 {
		s.Note("left out, because they cannot run: %s; see: %s", strings.Join(broken, ", "),
			s.Page.Remedy(engine.Do("validate", "", engine.Setting{Name: "all"})))
	}
	if hidden > 0 {
		s.Note("left out: %s; see: %s", humanize.Count(hidden, "internal loop"),
			s.Page.Remedy(engine.Do("list", "", engine.Setting{Name: "all"})))
	}
	return chosen
}

// mistyped says which category or label none of the loops has, if there are any loops.
func (f *LoopFilter) mistyped(entries []loopfile.Entry) (text engine.Text, is bool) {
	var categories, labels []string
	for _, e := range entries {
		if e.Category != "" {
			categories = append(categories, e.Category)
		}
		labels = append(labels, e.Labels...)
	}
	unknown := func(flag, value string, all []string) (engine.Text, bool) {
		slices.Sort(all)
		all = slices.Compact(all)
		hint := humanize.DidYouMean(value, all)
		switch {
		case hint == "" && len(all) == 0:
			hint = ", and none has any"
		case hint == "":
			hint = "; there are " + humanize.List(all)
		}
		return engine.Text{
			Format: "%s: no loop has this %s%s",
			Args:   []any{engine.Setting{Name: flag, Value: humanize.Quote(value)}, flag, hint},
		}, true
	}
	if len(entries) == 0 {
		return text, false
	}
	if f.Category != "" && !slices.Contains(categories, f.Category) {
		return unknown("category", f.Category, categories)
	}
	for _, label := range f.Labels {
		if !slices.ContainsFunc(labels, func(has string) bool { return strings.EqualFold(has, label) }) {
			return unknown("label", label, labels)
		}
	}
	return text, false
}

func (f *LoopFilter) asksFor(label string) bool {
	return slices.ContainsFunc(f.Labels, func(wanted string) bool { return strings.EqualFold(wanted, label) })
}

// tierOf is the tier of a loop. One that names none of them counts as public.
func tierOf(e loopfile.Entry) string {
	if slices.Contains(Tiers, e.Visibility) {
		return e.Visibility
	}
	return Tiers[0]
}

package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// A Story is the text about a run, in parts: of the run first, then of its steps.
type Story struct {
	Path   *Path
	Rules  Rulebook
	Note   string    // what there is to say about where the rules are from
	Alive  bool      // a process carries the run on
	Wait   *fsm.Wait // what it waits for while it is alive; nil = nothing that is known
	Resume string    // the command that continues with it
	Wanted string    // the step to explain: its address, "last", or "" for the whole run
	Parts  []Part

	seen explainedSoFar
}

// A Part is a few sentences about one step, or about the run where there is no step.
type Part struct {
	Visit *Visit
	Said  []Sentence
}

// WholeRun explains how the run ended, or where it is: by its last step, and the limits it met before.
func (x *Story) WholeRun() {
	r := x.Path.Run
	var said []Sentence
	add := func(format string, args ...any) {
		said = append(said, Sentence{Text: fmt.Sprintf(format, args...)})
	}
	if o := r.Origin; o != nil {
		add("It is a fork of run %s, and began with step %d, behind event %d of that.", o.ID, o.Step, o.Seq)
	}
	if why := Reason(r); why != "" && !x.Alive {
		add("Reason: %s.", strings.TrimRight(why, "."))
	}
	switch v := x.seen.last; {
	case x.Path.end != nil:
		end := Honest(*x.Path.end, r)
		s := Ending(end, x.Rules.Main())
		s.Source = "" // the last step has it
		if v != nil && Text(end.Get("error")) == NoTransition {
			s.Text = strings.TrimSuffix(s.Text, ".") + fmt.Sprintf(": state %s has no transition for %s.", v.State,
				verdictOrNone(v))
		}
		said = append(said, s)
	case x.Alive && x.Wait != nil:
		add("It is in %s: %s.", r.State, strings.TrimSuffix(ReasonNow(r, x.Wait), "."))
	case x.Alive && r.Status == persistence.Starting:
		add("It is starting: nothing of what it does is recorded yet.")
	case x.Alive:
		add("It is running, in %s.", r.State)
	case r.Status == persistence.Interrupted: // its reason says it
	case r.Status == persistence.Running:
		add("It was interrupted in %s: its process is gone.", r.State)
	case v == nil:
		add("Nothing is recorded of what it did.")
	}
	if r.Why != "" && r.Reason != "" {
		add("What was found when its process was gone: %s.", strings.TrimRight(r.Why, "."))
	}
	if r.Error != "" && x.Path.end == nil {
		add("Its error: %s.", strings.TrimRight(HonestError(r), "."))
	}
	if x.Path.Costs.Total.Asked() {
		t := x.Path.Costs.Total
		tokens := "an unknown number of"
		if n := t.Tokens(); n > 0 {
			tokens = humanize.Tokens(n)
		}
		add("%s and %s cost %s and used %s tokens.", humanize.Count(t.Prompts, "prompt"),
			humanize.Count(t.Judges, "judge"), t.Text(), tokens)
	}
	if x.Note != "" {
		add("%s", x.Note)
	}
	if r.Resumable && !x.Alive && !r.Carried() {
		add("Resume with: %s", x.Resume)
	}
	if met := &x.seen.met; met.count > 0 {
		add("On the way it met these limits:")
		kept := met.newest()
		if n := met.count - len(kept); n > 0 {
			add("(%s before these are left out.)", humanize.Count(n, "limit"))
		}
		said = append(said, kept...)
	}
	x.Parts = append(x.Parts, Part{Said: said})
	x.lastSteps()
}

// lastSteps explains the last step, and that of the sub-loop it ran.
func (x *Story) lastSteps() {
	last, newest := x.seen.last, x.seen.newest
	if last == nil {
		return
	}
	chain := []*Visit{last}
	if newest != last {
		chain = append(slices.Clone(newest.Above), newest)
	}
	for _, v := range chain {
		x.explain(v)
	}
}

func (x *Story) explain(v *Visit) {
	x.Parts = append(x.Parts, Part{v, Explain(v, x.Rules.Of(v))})
}

// Steps explains the visits that the wanted address means, and reports whether there are some; a cap handler
// can have the number of none.
func (x *Story) Steps() bool {
	if x.Wanted == "last" {
		x.lastSteps()
		return true
	}
	found := x.seen.found
	x.Parts = append(x.Parts, x.seen.beside...)
	slices.SortFunc(found, func(a, b *Visit) int { return a.Index - b.Index })
	for _, v := range found {
		x.explain(v)
	}
	return len(found)+len(x.seen.beside) > 0
}

func verdictOrNone(v *Visit) string {
	if verdict := v.Verdict(); verdict != "" {
		return "the verdict " + verdict
	}
	if code, ended := v.Exit(); ended {
		return fmt.Sprintf("exit code %d", code)
	}
	return "what came of it"
}

// limitsShown is how many of the limits met on the way are shown of a whole run.
const limitsShown = 20

// mostFound is how many visits of one number are explained. There are no more of them but where records are spoilt.
const mostFound = 100

// explainedSoFar is what is kept of the visits of a run while it is read: those that will be explained, and the limits
// that the others met.
type explainedSoFar struct {
	last     *Visit            // of the run itself; of any loop where there is none
	newest   *Visit            // of any loop
	found    []*Visit          // those that were asked for
	beside   []Part            // what is said of the branch or the item that was asked for, of each visit that had it
	besideAt map[besideKey]int // where
	wanted   *fsm.Address

	met    metLimits // before the last visit of the run itself
	within metLimits // in that one
	top    *Visit
}

// Add takes a visit that is over.
func (x *Story) Add(v *Visit) {
	s := &x.seen
	if s.newest == nil || v.Index > s.newest.Index {
		s.newest = v
	}
	top := v
	if v.Depth() > 0 {
		top = v.Above[0]
	}
	if v == top || s.last == nil || s.last.Depth() > 0 {
		s.last = v
	}
	switch x.Wanted {
	case "":
		if top != s.top {
			s.met.join(&s.within)
			s.top, s.within = top, metLimits{}
		}
		s.within.add(v.Index, limitsMet(v, x.Rules.Of(v))...)
	case "last":
	default:
		if len(s.found) < mostFound && x.address().Covers(v.Address()) {
			s.found = append(s.found, v)
		}
	}
}

// AddInside takes a visit that is over, inside a branch or an item.
func (x *Story) AddInside(v *Visit) {
	last, newest := x.seen.last, x.seen.newest
	x.Add(v)
	x.seen.last, x.seen.newest = last, newest // several run at once, so none is the last
}

// address is the wanted one.
func (x *Story) address() fsm.Address {
	if x.seen.wanted == nil {
		a, _ := fsm.ParseAddress(x.Wanted)
		x.seen.wanted = &a
	}
	return *x.seen.wanted
}

// A besideKey is a branch or an item of a visit.
type besideKey struct {
	visit *Visit
	name  string
}

// Hear takes an event and the visit it belongs to: the ends of branches and items say the result of those that
// are wanted.
func (x *Story) Hear(e fsm.Event, v *Visit) {
	switch e.Kind {
	case fsm.EventBranchStart, fsm.EventBranchEnd, fsm.EventItemStart, fsm.EventItemEnd, fsm.EventItemTaken:
	default:
		return
	}
	if v == nil || x.Wanted == "" || x.Wanted == "last" || x.address().Step() {
		return
	}
	at := v.Address()
	own := &at.Hops[len(at.Hops)-1]
	text := ""
	switch e.Kind {
	case fsm.EventBranchStart, fsm.EventBranchEnd:
		path := str(e, "branch")
		own.Branch, text = path[strings.LastIndexByte(path, '/')+1:], branchText(e)
	default:
		own.Branch, text = fmt.Sprintf("#%d", whole(e, "item")), itemText(e)
	}
	if len(at.Hops) != len(x.address().Hops) || !x.address().Covers(at) {
		return
	}
	s := &x.seen
	if e.Kind == fsm.EventBranchStart || e.Kind == fsm.EventItemStart {
		text = "branch " + own.Branch
		if e.Kind == fsm.EventItemStart {
			text = fmt.Sprintf("item %d, %s", whole(e, "item"), Text(e.Get("key")))
		}
		text += " began; nothing is recorded of its end"
	}
	said := say(e, "%s.", strings.ToUpper(text[:1])+text[1:])
	which := besideKey{v, own.Branch}
	if i, known := s.besideAt[which]; known {
		s.beside[i].Said = []Sentence{said} // its end, or its next try
	} else if n := len(s.beside); n < mostFound {
		if s.besideAt == nil {
			s.besideAt = map[besideKey]int{}
		}
		s.besideAt[which] = n
		s.beside = append(s.beside, Part{v, []Sentence{said}})
	}
}

// metLimits are sentences about limits that were met, of which the newest are kept.
type metLimits struct {
	count int
	kept  []limitMet
}

type limitMet struct {
	visit int // its place among the visits
	said  Sentence
}

func (l *metLimits) add(visit int, said ...Sentence) {
	for _, s := range said {
		l.kept = append(l.kept, limitMet{visit, s})
	}
	l.count += len(said)
	l.trim(8 * limitsShown)
}

func (l *metLimits) join(more *metLimits) {
	l.kept = append(l.kept, more.kept...)
	l.count += more.count
	l.trim(8 * limitsShown)
}

// trim leaves only the newest where there are more than so many. Visits come when they are over, so not in their order.
func (l *metLimits) trim(most int) {
	if len(l.kept) > most {
		slices.SortStableFunc(l.kept, func(a, b limitMet) int { return cmp.Compare(a.visit, b.visit) })
		l.kept = slices.Delete(l.kept, 0, len(l.kept)-limitsShown)
	}
}

// newest returns what is shown, in the order of the visits.
func (l *metLimits) newest() []Sentence {
	slices.SortStableFunc(l.kept, func(a, b limitMet) int { return cmp.Compare(a.visit, b.visit) })
	var said []Sentence
	for _, m := range l.kept[max(0, len(l.kept)-limitsShown):] {
		said = append(said, m.said)
	}
	return said
}

// limitsMet is the text about a visit but for how it acted, was judged and led on.
func limitsMet(v *Visit, l *fsm.Loop) []Sentence {
	quiet := *v
	quiet.Events = nil
	for _, e := range v.Events {
		switch e.Kind {
		case fsm.EventActionStart, fsm.EventActionComplete, fsm.EventActionKilled, fsm.EventEvaluate, fsm.EventRoute,
			fsm.EventLoopComplete, fsm.EventLoopResume, fsm.EventNote, fsm.EventSet, fsm.EventRateLimitWaiting,
			fsm.EventWaitCheck, fsm.EventBranchesStart, fsm.EventBranchStart, fsm.EventBranchEnd, fsm.EventItemsStart,
			fsm.EventItemStart, fsm.EventItemEnd, fsm.EventHumanRequested, fsm.EventHumanResponse, fsm.EventHumanVote,
			fsm.EventHumanReminded, fsm.EventHumanEscalated, fsm.EventCheckpoint:
		default:
			quiet.Events = append(quiet.Events, e)
		}
	}
	said := Explain(&quiet, l)
	for i := range said {
		said[i].Text = "step " + v.Number() + ", " + v.Path() + ": " + said[i].Text
	}
	return said
}

// Last returns the last visit of the run itself, or of any loop where there is none; nil = nothing is recorded
// of its steps.
func (x *Story) Last() *Visit { return x.seen.last }

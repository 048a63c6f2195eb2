package cli

import (
	"cmp"
	"slices"

	"loops/fsm"
	"loops/internal/inspect"
)

// limitsShown is how many of the limits met on the way are told of a whole run.
const limitsShown = 20

// mostFound is how many visits of one number are explained. There are no more of them but where records are spoilt.
const mostFound = 100

// explainedSoFar is what is kept of the visits of a run while it is read: those that will be explained, and the limits
// that the others met.
type explainedSoFar struct {
	last   *inspect.Visit   // of the run itself; of any loop where there is none
	newest *inspect.Visit   // of any loop
	found  []*inspect.Visit // those that were asked for

	met    metLimits // before the last visit of the run itself
	within metLimits // in that one
	top    *inspect.Visit
}

// visited takes a visit that is over.
func (x *explanation) visited(v *inspect.Visit) {
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
	switch x.wanted {
	case "":
		if top != s.top {
			s.met.join(&s.within)
			s.top, s.within = top, metLimits{}
		}
		s.within.add(v.Index, limitsMet(v, x.rules.of(v))...)
	case v.Number():
		if len(s.found) < mostFound {
			s.found = append(s.found, v)
		}
	}
}

// metLimits are sentences about limits that were met, of which the newest are kept.
type metLimits struct {
	count int
	kept  []limitMet
}

type limitMet struct {
	visit int // its place among the visits
	said  inspect.Sentence
}

func (l *metLimits) add(visit int, said ...inspect.Sentence) {
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
func (l *metLimits) newest() []inspect.Sentence {
	slices.SortStableFunc(l.kept, func(a, b limitMet) int { return cmp.Compare(a.visit, b.visit) })
	var said []inspect.Sentence
	for _, m := range l.kept[max(0, len(l.kept)-limitsShown):] {
		said = append(said, m.said)
	}
	return said
}

// limitsMet is what is said of a visit but for how it acted, was judged and led on.
func limitsMet(v *inspect.Visit, l *fsm.Loop) []inspect.Sentence {
	quiet := *v
	quiet.Events = nil
	for _, e := range v.Events {
		switch e.Kind {
		case fsm.EventActionStart, fsm.EventActionComplete, fsm.EventActionKilled, fsm.EventEvaluate, fsm.EventRoute, fsm.EventLoopComplete, fsm.EventLoopResume, fsm.EventNote, fsm.EventRateLimitWaiting:
		default:
			quiet.Events = append(quiet.Events, e)
		}
	}
	said := inspect.Explain(&quiet, l)
	for i := range said {
		said[i].Text = "step " + v.Number() + ", " + v.Path() + ": " + said[i].Text
	}
	return said
}

package inspect

import (
	"slices"

	"loops/fsm"
)

// glanceEvents and glanceOutput bound what a Glance looks at: a state that prints without end must not make it read all
// that was printed.
const (
	glanceEvents = 3000
	glanceOutput = 2 << 20 // bytes of output
)

// A Glance finds out from the newest events of a run, which are given to it newest first, what a person asks about one
// that continues. The zero Glance is ready. It is not safe for concurrent use.
type Glance struct {
	Newest *fsm.Event // of all; nil = there is none
	Acting *fsm.Event // the start of an action or judge of whose end nothing is recorded; nil = there is none
	Files  *fsm.Event // files_kept; nil = it is not among them

	judged, left newest
	items        progress
	levels       [][]fsm.Event // by depth: what is after the newest state_enter not yet seen, newest first
	ends         []*fsm.Event  // by depth: the newest loop_complete after the newest state_enter above it not yet seen
	open         []*Visit      // those whose surroundings are still to be found
	events       int
	output       int
	acted        bool // an action ended behind what is looked at
}

// A newest is the visit with the newest event of some kind.
type newest struct {
	event *fsm.Event
	visit *Visit // nil until its beginning is found
}

// Judged is the visit that was judged last, nil if none was among what was looked at.
func (g *Glance) Judged() *Visit { return g.judged.visit }

// Left is the visit that led on to a state last; nil likewise.
func (g *Glance) Left() *Visit { return g.left.visit }

// Add takes the next older event and reports whether more are wanted.
func (g *Glance) Add(e fsm.Event) (more bool) {
	if g.Newest == nil {
		g.Newest = &e
	}
	if e.Kind == fsm.EventActionOutput {
		g.output += len(str(e, "line"))
		g.events++
		return g.wanted()
	}
	g.items.add(e)
	if insideBranch(e) {
		g.events++
		return g.wanted()
	}
	switch e.Kind {
	case fsm.EventFiles:
		if g.Files == nil {
			g.Files = &e
		}
	case fsm.EventActionStart:
		if !g.acted && g.Acting == nil {
			g.Acting = &e
		}
	case fsm.EventActionComplete, fsm.EventActionKilled, fsm.EventLoopComplete, fsm.EventLoopResume, fsm.EventRoute,
		fsm.EventStateEnter:
		g.acted = true
	}
	if e.Kind == fsm.EventEvaluate && g.judged.event == nil {
		g.judged.event = &e
	}
	if e.Kind == fsm.EventRoute && g.left.event == nil {
		g.left.event = &e
	}
	if e.Kind == fsm.EventLoopComplete {
		g.end(e)
	}
	g.events++
	for len(g.levels) <= e.Depth {
		g.levels = append(g.levels, nil)
	}
	if e.Kind == fsm.EventStateEnter {
		g.visit(e)
	} else {
		g.levels[e.Depth] = append(g.levels[e.Depth], e)
	}
	return g.wanted()
}

// end notes how a sub-loop ended, for the visit that ran it: its state_enter is older than all that happened inside.
func (g *Glance) end(e fsm.Event) {
	for len(g.ends) <= e.Depth {
		g.ends = append(g.ends, nil)
	}
	if g.ends[e.Depth] == nil {
		g.ends[e.Depth] = &e
	}
}

// visit makes the visit that begins with a state_enter of what was seen after it.
func (g *Glance) visit(e fsm.Event) {
	v := &Visit{State: str(e, "state"), Step: whole(e, "iteration"), Entered: e}
	for _, e := range slices.Backward(g.levels[e.Depth]) {
		v.add(e, true)
	}
	g.levels = g.levels[:e.Depth] // what is deeper ran inside it
	if len(g.ends) > e.Depth+1 {
		v.Ended = g.ends[e.Depth+1]
		g.ends = g.ends[:e.Depth+1]
	}
	g.open = slices.DeleteFunc(g.open, func(o *Visit) bool {
		if o.Entered.Depth-len(o.Above) != e.Depth+1 {
			return false
		}
		o.Above = slices.Insert(o.Above, 0, v)
		return e.Depth == 0
	})
	for _, n := range []*newest{&g.judged, &g.left} {
		if n.visit == nil && n.event != nil && n.event.Depth == e.Depth {
			n.visit = v
			if e.Depth > 0 && !slices.Contains(g.open, v) {
				g.open = append(g.open, v)
			}
		}
	}
}

// wanted reports whether older events may have more.
func (g *Glance) wanted() bool {
	if g.events >= glanceEvents || g.output >= glanceOutput {
		return false
	}
	return g.judged.visit == nil || g.left.visit == nil || len(g.open) > 0
}

// Verdict says what the newest verdict of a visit was, and why. It is empty where the visit was not judged. l is the
// loop the state belongs to, or nil.
func Verdict(v *Visit, l *fsm.Loop) []Sentence { return onlyAbout(v, l, fsm.EventEvaluate) }

// Way says where a visit led, and by which rule.
func Way(v *Visit, l *fsm.Loop) []Sentence { return onlyAbout(v, l, fsm.EventRoute) }

// onlyAbout explains the newest event of a kind.
func onlyAbout(v *Visit, l *fsm.Loop, kind string) []Sentence {
	e := v.find(kind)
	if e == nil {
		return nil
	}
	x := explainer{v: v, l: l}
	if l != nil {
		x.st = l.States[v.State]
	}
	x.event(len(v.Events)-1, *e)
	return x.said
}

package report

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
)

// How much of a run a suite keeps: so many of its first steps and of its last ones, so many states of it and
// its sub-loops, and so many bytes of the beginning and of the end of what a state printed when the run was
// there last.
const (
	suiteFirst = 50
	suiteLast  = 950
	mostCases  = 2_000
	outputHead = 2 << 10
	outputTail = 6 << 10
)

// A suiteStep is a step of one of the states of a suite.
type suiteStep struct {
	Step

	apart string
	of    *visited
}

// visited is one state of one loop, over all its visits.
type visited struct {
	loop, state string
	depth       int
	visits      int
	spent       time.Duration
	last        *suiteStep
	output      output // of the last visit
}

// A Suite makes steps and states, as tests are, of the events of a run and the visits they belong to. The zero
// Suite has read nothing.
type Suite struct {
	items   inspect.ItemKeys
	kept    ends[*suiteStep]
	open    []*suiteStep // at each depth
	states  []*visited
	index   map[[2]string]*visited
	missing int      // visits of states beyond mostCases
	end     *visited // where the run itself was last
}

// Add takes the next event, with the visit it belongs to as an [inspect.Reader] returns it, and returns the
// step of that; nil before the first.
func (r *Suite) Add(e fsm.Event, v *inspect.Visit) *Step {
	if v == nil {
		return nil
	}
	s := r.step(v)
	r.items.Add(e)
	branch := inspect.InsideBranch(e)
	switch {
	case branch != "":
		if line := beside(e, r.items.Label(branch)); line != "" {
			s.of.output.line(line, outputHead, outputTail)
		}
	case e.Depth == s.Depth: // else of a sub-loop that has not entered a state
		s.add(e)
	}
	return &s.Step
}

// At returns the state that the run itself was in last, "" where it came to none.
func (r *Suite) At() string {
	if r.end == nil {
		return ""
	}
	return r.end.state
}

// step returns the step of a visit, which is made with its first event.
func (r *Suite) step(v *inspect.Visit) *suiteStep {
	depth := v.Depth()
	if depth < len(r.open) && r.open[depth].visit == v {
		return r.open[depth]
	}
	r.close(depth)
	for i := len(r.open); i < depth; i++ { // the events around it are lost
		r.open = append(r.open, &suiteStep{Step: Step{Depth: i, visit: v.Above[i]}, of: &visited{}})
	}
	s := &suiteStep{Step: Step{Number: v.Number(), Depth: depth, State: v.State, visit: v}}
	r.open = append(r.open, s)
	if v.Index < 0 {
		s.of = &visited{}
		return s
	}
	s.of = r.visit(s)
	if depth == 0 {
		r.end = s.of
	}
	r.kept.mostFirst, r.kept.mostLast = suiteFirst, suiteLast
	r.kept.add(s)
	return s
}

// visit counts the visit of a state.
func (r *Suite) visit(s *suiteStep) *visited {
	loops := make([]string, 0, s.Depth+1)
	for _, above := range append(s.visit.Above[:s.Depth:s.Depth], s.visit) {
		loops = append(loops, above.Loop)
	}
	key := [2]string{strings.Join(loops, "."), s.State}
	v := r.index[key]
	switch {
	case v == nil && len(r.states) >= mostCases:
		r.missing++
		v = &visited{}
	case v == nil:
		v = &visited{loop: key[0], state: s.State, depth: s.Depth}
		if r.index == nil {
			r.index = map[[2]string]*visited{}
		}
		r.index[key] = v
		r.states = append(r.states, v)
	}
	v.visits++
	v.last, v.output = s, output{}
	return v
}

// close ends the open steps from a depth on.
func (r *Suite) close(depth int) {
	for len(r.open) > depth {
		s := r.open[len(r.open)-1]
		r.open = r.open[:len(r.open)-1]
		s.apart = s.finish()
		s.of.spent += s.Took
	}
}

// add takes an event of the step itself.
func (s *suiteStep) add(e fsm.Event) {
	out := &s.of.output
	say := func(line string) { out.line(strings.TrimSuffix(line, "\n"), outputHead, outputTail) }
	switch e.Kind {
	case fsm.EventActionOutput:
		out.line(inspect.Text(e.Get("line")), outputHead, outputTail)
	case fsm.EventActionComplete:
		s.Exit = inspect.Text(e.Get("exit_code"))
		if out.size == 0 {
			say(inspect.Text(e.Get("output_preview")))
		}
		if errors := inspect.Text(e.Get("stderr_preview")); errors != "" {
			say("[standard error]\n" + errors)
		}
	case fsm.EventEvaluate:
		s.Verdict = inspect.Text(e.Get("verdict"))
	case fsm.EventRoute:
		s.To = inspect.Text(e.Get("to"))
	case fsm.EventActionError:
		say("[error] " + inspect.Text(e.Get("error")))
	}
}

// said returns what was kept of a state's output, with a line where something is missing.
func (v *visited) said() string {
	head, tail, missing := v.output.parts(outputTail)
	gap := ""
	if missing > 0 {
		gap = fmt.Sprintf("\n[… %d bytes are left out …]\n", missing)
	}
	return plain(head + gap + tail)
}

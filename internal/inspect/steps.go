package inspect

import (
	"slices"
	"time"

	"loops/fsm"
)

// An AlignedStep is what is kept of a visit to be compared with others.
type AlignedStep struct {
	Number string // see [Visit.Number]
	StepKind
	Took        time.Duration
	First, Last uint64 // numbers of its first and last event
}

// A StepKind is what a step did: steps of one Kind are the same where runs are compared.
type StepKind struct {
	Path, Verdict, To string
	Exit              int
	Exited            bool // an action ended with Exit
}

// StepKinds are the kinds of steps there are, each kept once. The zero Kinds has none.
type StepKinds struct {
	list  []StepKind
	index map[StepKind]uint32
}

func (k *StepKinds) number(kind StepKind) uint32 {
	n, ok := k.index[kind]
	if !ok {
		if k.index == nil {
			k.index = map[StepKind]uint32{}
		}
		n = uint32(len(k.list))
		k.list = append(k.list, kind)
		k.index[kind] = n
	}
	return n
}

// StepList are the visits of one run in the order they were entered, in 32 bytes each. Those of two runs that
// are compared have the same Kinds. Steps are not safe for concurrent use.
type StepList struct {
	kinds  *StepKinds
	chunks [][]stepRow // so that growing copies nothing
	n      int
}

const stepChunk = 4096

// A stepRow is a Step in little room.
type stepRow struct {
	above, step int32 // the row of the visit whose sub-loop it belongs to, or -1
	took        time.Duration
	first       uint64
	behind      uint32 // how far the last event is after the first
	kind        uint32
}

// NewStepList returns no steps yet.
func NewStepList(k *StepKinds) *StepList { return &StepList{kinds: k} }

// Len is how many steps there are.
func (s *StepList) Len() int { return s.n }

func (s *StepList) row(i int) *stepRow { return &s.chunks[i/stepChunk][i%stepChunk] }

// Add takes a visit that is over.
func (s *StepList) Add(v *Visit) {
	for len(s.chunks)*stepChunk <= v.Index {
		s.chunks = append(s.chunks, make([]stepRow, stepChunk))
	}
	s.n = max(s.n, v.Index+1)
	above := int32(-1)
	if n := len(v.Above); n > 0 {
		above = int32(v.Above[n-1].Index)
	}
	first, last := v.Span()
	exit, exited := v.Exit()
	*s.row(v.Index) = stepRow{
		above: above, step: int32(v.Step), took: v.Took(), first: first, behind: uint32(last - first),
		kind: s.kinds.number(StepKind{Path: v.Path(), Verdict: v.Verdict(), To: v.To(), Exit: exit, Exited: exited}),
	}
}

// At returns a step.
func (s *StepList) At(i int) AlignedStep {
	r := s.row(i)
	return AlignedStep{
		Number: s.number(r), StepKind: s.kinds.list[r.kind], Took: r.took, First: r.first,
		Last: r.first + uint64(r.behind),
	}
}

// number returns the address of a step as text.
func (s *StepList) number(r *stepRow) string {
	var a fsm.Address
	for {
		a.Hops = append(a.Hops, fsm.Hop{Step: int(r.step)})
		if r.above < 0 {
			slices.Reverse(a.Hops)
			return a.String()
		}
		r = s.row(int(r.above))
	}
}

// Behind returns the first step that was entered after an event; Len where there is none.
func (s *StepList) Behind(seq uint64) int {
	for i := range s.n {
		if s.row(i).first > seq {
			return i
		}
	}
	return s.n
}

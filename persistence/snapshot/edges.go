package snapshot

import "loops/fsm"

// How often each transition was taken. There may be as many as a loop has transitions, so a patch must not look
// at all of them.

func putEdges(e *Writer, s *fsm.Snapshot) bool {
	if s.Edges.Len() == 0 {
		return false
	}
	e.Open('{')
	for edge, n := range s.Edges.All() {
		e.Key(edge)
		e.int(n)
	}
	return e.Close('}')
}

func patchEdges(e *Writer, now, before *fsm.Snapshot) {
	e.Open('{')
	now.Edges.Changes(before.Edges, func(edge string, n int, gone bool) {
		if e.Key(edge); gone {
			e.Value(nil)
		} else {
			e.int(n)
		}
	})
	e.Close('}')
}

func takeEdges(r *memory, v any) error {
	return takeEntries(v, func(edge string, v any) error {
		var n int
		err := TakeInt(&n, v)
		r.Edges = r.Edges.With(edge, n)
		return err
	})
}

package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// A TraceID names the trace of a run, in hexadecimal. It follows from the id of the run, so that each process
// that carries the run, and each that links to it, has the same.
type TraceID string

// TraceOf returns the id of the trace of a run.
func TraceOf(run persistence.ID) TraceID {
	sum := sha256.Sum256([]byte("loops trace\x00" + string(run)))
	return TraceID(hex.EncodeToString(sum[:16]))
}

// span returns the id of the span with a name in the run: an address of a step or a task, with what distinguishes spans
// of one step.
func (t TraceID) span(name string) string {
	sum := sha256.Sum256([]byte(string(t) + "\x00" + name))
	return hex.EncodeToString(sum[:8])
}

// TraceParent returns the value of TRACEPARENT for an action: the span of its step, or of its item.
func TraceParent(run persistence.ID, a fsm.Action) string {
	t := TraceOf(run)
	return "00-" + string(t) + "-" + t.span(a.At) + "-01"
}

// segment is the name of the span of a part of a run that one process carried: that of its first event.
func segment(seq uint64) string { return "@" + decimal(seq) }

// visitName returns the address of a visit as actions have it: /2+lint/1.
func visitName(v *inspect.Visit) string { return v.Address().Recorded() }

// aboveName returns the name of the span that a visit is in: a step, or a branch or an item of one; "" = the run.
func aboveName(v *inspect.Visit) string {
	above := v.Address()
	last := len(above.Hops) - 2
	if last < 0 {
		return ""
	}
	above.Hops = above.Hops[:last+1]
	branch := above.Hops[last].Branch
	above.Hops[last].Branch = ""
	if branch == "" {
		return above.Recorded()
	}
	return taskName(above.Recorded(), branch)
}

// taskName returns the name of the span of a branch or an item. All tries of an item are in one.
func taskName(visit, branch string) string {
	if fsm.ItemOf(branch) > 0 {
		branch, _, _ = strings.Cut(branch, ".")
	}
	return visit + "+" + branch
}

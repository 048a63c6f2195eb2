package simtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
)

// lessons are the memories of loops in a world. Reading and writing take no time.
type lessons struct{ *World }

// Read implements [fsm.Lessons]. Each memory has a fact of another run.
func (w lessons) Read(_ context.Context, memory string) ([]fsm.Lesson, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]fsm.Lesson{{ID: "other/1", Run: "other", State: "s", At: "then", Text: "of " + memory}},
		w.facts[memory]...), nil
}

// Write implements [fsm.Lessons]. What is written has to be on record, and an id has one text.
func (w lessons) Write(_ context.Context, memory string, l fsm.Lesson) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text, ok := w.known[memory+" "+l.ID]; !ok || text != l.Text {
		w.fault(fmt.Sprintf("the fact %s %q is written, and on record is %q", l.ID, l.Text, text))
	}
	if i := slices.IndexFunc(w.facts[memory], func(x fsm.Lesson) bool { return x.ID == l.ID }); i >= 0 {
		if was := w.facts[memory][i]; was.Text != l.Text || was.Failed != l.Failed {
			w.fault(fmt.Sprintf("the fact %s was %q and is written as %q", l.ID, was.Text, l.Text))
		}
		return nil
	}
	w.facts[memory] = append(slices.Clone(w.facts[memory]), l)
	return nil
}

// Ended implements [fsm.Lessons].
func (w lessons) Ended(_ context.Context, memory string, u fsm.LessonUse) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	size := 0 // with what is around each text
	for _, l := range w.facts[memory] {
		size += len(l.Text) + 100
	}
	if !slices.Contains(u.Saw, "other/1") && (size < 4000 || len(u.Saw) == 0) { // a run sees the newest facts that fit
		w.fault(fmt.Sprintf("%s ended, and saw %v of %s", u.Run, u.Saw, memory))
	}
	w.uses[memory+" "+u.Run] = u
	if u.Run == "run" {
		w.atEnd.done = "its end was noted in its memory"
	}
	return nil
}

// learn counts what an event says of memories.
func (w *World) learn(ev fsm.Event) {
	switch ev.Kind {
	case fsm.EventMemoryRead:
		if ev.Depth > 0 {
			return
		}
		if w.recalled++; w.recalled > 1 {
			w.fault("the run has read its memory twice")
		}
	case fsm.EventRemember:
		key, text := fmt.Sprint(ev.Get("memory"), " ", ev.Get("id")), fmt.Sprint(ev.Get("fact"))
		if was, ok := w.known[key]; ok {
			w.fault(fmt.Sprintf("the fact %s was %q and is found again, as %q", key, was, text))
		}
		w.known[key] = text
	}
}

// learned is what is in the memories at the end, and how the run itself ended with them, without times. All facts on
// record have to be there where it has ended for good.
func (w *World) learned(ended bool) string {
	var all []string
	written := map[string]bool{}
	for memory, facts := range w.facts {
		for _, l := range facts {
			written[memory+" "+l.ID] = true
			all = append(all, fmt.Sprintf("%s %s %s %q %t", memory, l.ID, l.State, l.Text, l.Failed))
		}
	}
	for key := range w.known {
		if ended && !written[key] {
			w.fault("a fact on record was not written: " + key)
		}
	}
	for key, u := range w.uses {
		all = append(all, fmt.Sprintf("%s ended %s %t", key, u.Ended, u.Good))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

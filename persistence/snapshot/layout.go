package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"loops/fsm"
	"loops/fsm/value"
)

// This file is the one place where a Snapshot becomes a flat object and back. The first keys, their order and
// their meaning are those of little-loops; those after context are ours.

// A memory is what is read of the machine's memory.
type memory struct {
	fsm.Snapshot
	depth int // of the sub-loop whose memory this is; 0 = the run itself
}

// A field is one key of the flat object.
type field struct {
	key    string
	quoted string // the key as it is written, with its colon
	name   string // of the Snapshot's field; "" for what another key has too
	put    func(e *Writer, s *fsm.Snapshot) bool
	take   func(r *memory, v any) error
	// same reports whether nothing changed.
	same func(now, before *fsm.Snapshot) bool
	// patch, if not nil, writes less than the whole value; see patch.go.
	patch func(e *Writer, now, before *fsm.Snapshot)
	// apply, if not nil, brings a value up to date with such a patch.
	apply func(old, patch any) (any, error)
	// entries means that a patch of this key holds changed entries of a map. dropNull: null removes one.
	entries, dropNull bool
}

// layout holds the keys in their order. The memory of a sub-loop is written with all of them again, so it is made
// by init.
var (
	layout []field
	byKey  map[string]*field
)

func init() {
	layout = fields()
	byKey = make(map[string]*field, len(layout))
	for i := range layout {
		byKey[layout[i].key] = &layout[i]
		layout[i].quoted = strconv.Quote(layout[i].key) + ": "
	}
}

func fields() []field {
	return []field{
		text("loop_name", "Loop", true, func(s *fsm.Snapshot) *string { return &s.Loop }),
		text("current_state", "Current", true, func(s *fsm.Snapshot) *string { return &s.Current }),
		number("iteration", "Step", true, func(s *fsm.Snapshot) *int { return &s.Step }),
		captures(dict("captured", "Captured", true, func(s *fsm.Snapshot) **value.Map { return &s.Captured })),
		object("prev_result", "PrevResult", func(s *fsm.Snapshot) **value.Map { return &s.PrevResult }),
		object("last_result", "LastResult", func(s *fsm.Snapshot) **value.Map { return &s.LastResult }),
		{
			key: "started_at", name: "StartedAt",
			put:  func(e *Writer, s *fsm.Snapshot) bool { return e.Time(s.StartedAt) },
			take: func(r *memory, v any) error { return TakeTime(&r.StartedAt, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.StartedAt.Equal(b.StartedAt) },
		},
		{
			key: "accumulated_ms", name: "Elapsed",
			put:  func(e *Writer, s *fsm.Snapshot) bool { return e.Value(s.Elapsed.Milliseconds()) },
			take: func(r *memory, v any) error { return takeMillis(&r.Elapsed, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.Elapsed.Milliseconds() == b.Elapsed.Milliseconds() },
		},
		text("continuation_prompt", "Continuation", false, func(s *fsm.Snapshot) *string { return &s.Continuation }),
		counts("retry_counts", "Retries", func(s *fsm.Snapshot) *map[string]int { return &s.Retries }),
		{
			key: "rate_limit_retries", name: "RateLimits", put: putRateLimits, take: takeRateLimits, entries: true,
			dropNull: true,
			same:     func(a, b *fsm.Snapshot) bool { return maps.Equal(a.RateLimits, b.RateLimits) },
			patch:    func(e *Writer, a, b *fsm.Snapshot) { patchEntries(e, a.RateLimits, b.RateLimits, e.rateLimit) },
		},
		number("consecutive_rate_limit_exhaustions", "Storm", false, func(s *fsm.Snapshot) *int { return &s.Storm }),
		{
			key: "edge_revisit_counts", name: "Edges", put: putEdges, take: takeEdges, patch: patchEdges,
			entries: true, dropNull: true,
			// by memory: of others that are equal a patch says nothing,
			same: func(a, b *fsm.Snapshot) bool { return a.Edges == b.Edges },
		},
		number("iteration_count", "Passes", false, func(s *fsm.Snapshot) *int { return &s.Passes }),
		{
			key: "active_sub_loop",
			put: func(e *Writer, s *fsm.Snapshot) bool { return s.Child != nil && e.text(s.Child.Name) },
			// It is for people and for little-loops: without the memory of the sub-loop its name is of no use.
			take: func(*memory, any) error { return nil },
			same: func(a, b *fsm.Snapshot) bool {
				return a.Child == nil && b.Child == nil || a.Child != nil && b.Child != nil &&
					a.Child.Name == b.Child.Name
			},
		},
		{
			key: "messages", name: "Messages",
			put:   func(e *Writer, s *fsm.Snapshot) bool { return len(s.Messages) > 0 && e.texts(s.Messages) },
			take:  func(r *memory, v any) error { return takeTexts(&r.Messages, v) },
			same:  func(a, b *fsm.Snapshot) bool { return sameTexts(a.Messages, b.Messages) },
			patch: func(e *Writer, a, b *fsm.Snapshot) { patchTexts(e, a.Messages, b.Messages) },
		},
		dict("context", "Context", false, func(s *fsm.Snapshot) **value.Map { return &s.Context }),

		text("phase", "Phase", false, func(s *fsm.Snapshot) *fsm.Phase { return &s.Phase }),
		text("previous_state", "Previous", false, func(s *fsm.Snapshot) *string { return &s.Previous }),
		number("attempt", "Attempt", false, func(s *fsm.Snapshot) *int { return &s.Attempt }),
		number("retries_of_step", "Tries", false, func(s *fsm.Snapshot) *int { return &s.Tries }),
		{
			key: "pending_result", name: "Result", put: putResult, take: takeResult,
			same: func(a, b *fsm.Snapshot) bool {
				return a.Result == b.Result || a.Result != nil && b.Result != nil && *a.Result == *b.Result
			},
		},
		{
			key: "judge_answers", name: "Answers", put: putAnswers, take: takeAnswers,
			same: func(a, b *fsm.Snapshot) bool { return slices.Equal(a.Answers, b.Answers) },
		},
		boolean("judge_asked", "Asking", func(s *fsm.Snapshot) *bool { return &s.Asking }),
		counts("throttle_counts", "Throttles", func(s *fsm.Snapshot) *map[string]int { return &s.Throttles }),
		counts("abstention_counts", "Holds", func(s *fsm.Snapshot) *map[string]int { return &s.Holds }),
		counts("api_error_retries", "APIErrors", func(s *fsm.Snapshot) *map[string]int { return &s.APIErrors }),
		counts("infra_retries", "InfraErrors", func(s *fsm.Snapshot) *map[string]int { return &s.InfraErrors }),
		counts("ignored_failures", "Ignored", func(s *fsm.Snapshot) *map[string]int { return &s.Ignored }),
		counts("agents_out", "AgentsOut", func(s *fsm.Snapshot) *map[string]int { return &s.AgentsOut }),
		text("handover", "Handover", false, func(s *fsm.Snapshot) *string { return &s.Handover }),
		text("rate_in_flight", "Spared", false, func(s *fsm.Snapshot) *string { return &s.Spared }),
		{
			key: "session", name: "Session", put: putSession, take: takeSession,
			same: func(a, b *fsm.Snapshot) bool { return same(a.Session, b.Session) },
		},
		{
			key: "waits_for", name: "Wait", put: putWait, take: takeWait,
			same: func(a, b *fsm.Snapshot) bool { return same(a.Wait, b.Wait) },
		},
		{
			key: "limits_raised", name: "Raised", put: putRaised, take: takeRaised,
			same: func(a, b *fsm.Snapshot) bool { return same(a.Raised, b.Raised) },
		},
		formatField(),
		{
			key: "awaits", name: "Awaiting", put: putAwaiting, take: takeAwaiting,
			same: func(a, b *fsm.Snapshot) bool { return same(a.Awaiting, b.Awaiting) },
		},
		{
			key: "guard", name: "Guard", put: putGuard, take: takeGuard,
			same: func(a, b *fsm.Snapshot) bool { return a.Guard == b.Guard },
		},
		{
			key: "items", name: "Items", put: putItems, take: takeItems, same: sameItems,
		},
		{
			key: "items_ended", entries: true, dropNull: true, take: takeItemEnds,
			put:  func(e *Writer, s *fsm.Snapshot) bool { return len(itemEnds(s)) > 0 && e.Value(itemEnds(s)) },
			same: func(a, b *fsm.Snapshot) bool { return maps.Equal(itemEnds(a), itemEnds(b)) },
			patch: func(e *Writer, a, b *fsm.Snapshot) {
				patchEntries(e, itemEnds(a), itemEnds(b), func(s string) { e.Value(s) })
			},
		},
		{
			key: "items_through", take: takeItemsThrough,
			put: func(e *Writer, s *fsm.Snapshot) bool {
				return itemsThrough(s) > 0 && e.Value(int64(itemsThrough(s)))
			},
			same: func(a, b *fsm.Snapshot) bool { return itemsThrough(a) == itemsThrough(b) },
		},
		number("questions_asked", "Asked", false, func(s *fsm.Snapshot) *int { return &s.Asked }),
		counts("signals_taken", "Taken", func(s *fsm.Snapshot) *map[string]int { return &s.Taken }),
		{
			key: "event", name: "Event",
			put:  func(e *Writer, s *fsm.Snapshot) bool { return s.Event != nil && e.record(s.Event) },
			take: func(r *memory, v any) error { return TakeMap(&r.Event, v) },
			same: func(a, b *fsm.Snapshot) bool { return sameValue(a.Event, b.Event) },
		},
		{
			key: "param", name: "Param",
			put:  func(e *Writer, s *fsm.Snapshot) bool { return s.Param != nil && e.record(s.Param) },
			take: func(r *memory, v any) error { return TakeMap(&r.Param, v) },
			same: func(a, b *fsm.Snapshot) bool { return sameValue(a.Param, b.Param) },
		},
		boolean("under_pressure", "UnderPressure", func(s *fsm.Snapshot) *bool { return &s.UnderPressure }),
		text("start_tree", "StartTree", false, func(s *fsm.Snapshot) *string { return &s.StartTree }),
		parsed("memory_facts", "Recalled", func(s *fsm.Snapshot) **fsm.Recalled { return &s.Recalled }),
		parsed("decided", "Decided", func(s *fsm.Snapshot) **fsm.Decided { return &s.Decided }),
		parsed("memory_pending", "Lesson", func(s *fsm.Snapshot) **fsm.PendingLesson { return &s.Lesson }),
		boolean("failed_first", "FailedFirst", func(s *fsm.Snapshot) *bool { return &s.FailedFirst }),
		boolean("flushing", "Flushing", func(s *fsm.Snapshot) *bool { return &s.Flushing }),
		boolean("just_routed", "JustRouted", func(s *fsm.Snapshot) *bool { return &s.JustRouted }),
		boolean("steps_capped", "StepsCapped", func(s *fsm.Snapshot) *bool { return &s.StepsCapped }),
		boolean("passes_capped", "PassCapped", func(s *fsm.Snapshot) *bool { return &s.PassCapped }),
		text("capped_at", "CappedAt", false, func(s *fsm.Snapshot) *string { return &s.CappedAt }),
		{
			key: "stall_window", name: "StallRing", put: putRing, take: takeRing,
			same: func(a, b *fsm.Snapshot) bool { return equalSlices(a.StallRing, b.StallRing) },
		},
		counts("stall_counts", "StallCounts", func(s *fsm.Snapshot) *map[string]int { return &s.StallCounts }),
		{
			key: "stall_fingerprints", name: "StallPrints", entries: true, dropNull: true,
			put: func(e *Writer, s *fsm.Snapshot) bool { return len(s.StallPrints) > 0 && e.Value(s.StallPrints) },
			take: func(r *memory, v any) error {
				return takeEntries(v, func(k string, v any) error {
					var s string
					err := TakeText(&s, v)
					put(&r.StallPrints, k, s)
					return err
				})
			},
			same: func(a, b *fsm.Snapshot) bool { return maps.Equal(a.StallPrints, b.StallPrints) },
			patch: func(e *Writer, a, b *fsm.Snapshot) {
				patchEntries(e, a.StallPrints, b.StallPrints, func(s string) { e.Value(s) })
			},
		},
		{
			key: "evaluators", name: "Evaluators", put: putEvaluators, take: takeEvaluators, entries: true,
			dropNull: true,
			same:     func(a, b *fsm.Snapshot) bool { return maps.Equal(a.Evaluators, b.Evaluators) },
			patch:    func(e *Writer, a, b *fsm.Snapshot) { patchEntries(e, a.Evaluators, b.Evaluators, e.repeat) },
		},
		{
			key: "cumulative_mb", name: "CumulativeMB",
			put:  func(e *Writer, s *fsm.Snapshot) bool { return s.CumulativeMB != 0 && e.Value(s.CumulativeMB) },
			take: func(r *memory, v any) error { return takeFloat(&r.CumulativeMB, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.CumulativeMB == b.CumulativeMB },
		},
		{
			key: "spent", name: "Spent",
			put: func(e *Writer, s *fsm.Snapshot) bool {
				return s.Spent != fsm.Spent{} && e.Value(spentValue(s.Spent))
			},
			take: func(r *memory, v any) error { return takeSpent(&r.Spent, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.Spent == b.Spent },
		},
		{
			key: "spent_by_state", name: "StateSpent", put: putStateSpent, take: takeStateSpent, entries: true,
			dropNull: true,
			same:     func(a, b *fsm.Snapshot) bool { return maps.Equal(a.StateSpent, b.StateSpent) },
			patch: func(e *Writer, a, b *fsm.Snapshot) {
				patchEntries(e, a.StateSpent, b.StateSpent, func(s fsm.Spent) { e.Value(spentValue(s)) })
			},
		},
		counts("budget_warned", "BudgetWarned", func(s *fsm.Snapshot) *map[string]int { return &s.BudgetWarned }),
		boolean("budget_routed", "BudgetRouted", func(s *fsm.Snapshot) *bool { return &s.BudgetRouted }),
		boolean("budget_spent", "BudgetSpent", func(s *fsm.Snapshot) *bool { return &s.BudgetSpent }),
		text("pending_request", "PendingRequest", false, func(s *fsm.Snapshot) *string { return &s.PendingRequest }),
		text("pending_payload", "PendingPayload", false, func(s *fsm.Snapshot) *string { return &s.PendingPayload }),
		{
			key: "outcome", name: "Outcome", put: func(e *Writer, s *fsm.Snapshot) bool {
				return putOutcome(e, s.Outcome)
			},
			take: func(r *memory, v any) error { return TakeOutcome(&r.Outcome, v) },
			same: func(a, b *fsm.Snapshot) bool { return same(a.Outcome, b.Outcome) },
		},
		{
			key: "sub_loop", name: "Child", put: putChild, take: takeChild, apply: applyChild, patch: patchChild,
			same: func(a, b *fsm.Snapshot) bool { return a.Child == nil && b.Child == nil },
		},
		{
			key: "branches", name: "Branches", put: putBranches, take: takeBranches, apply: applyBranches,
			patch: patchBranches,
			same:  func(a, b *fsm.Snapshot) bool { return len(a.Branches) == 0 && len(b.Branches) == 0 },
		},
		{
			key: "items_open", entries: true, dropNull: true, take: takeItemStarts,
			put:  func(e *Writer, s *fsm.Snapshot) bool { return len(itemStarts(s)) > 0 && e.Value(itemStarts(s)) },
			same: func(a, b *fsm.Snapshot) bool { return maps.Equal(itemStarts(a), itemStarts(b)) },
			patch: func(e *Writer, a, b *fsm.Snapshot) {
				patchEntries(e, itemStarts(a), itemStarts(b), func(n int) { e.int(n) })
			},
		},
		{
			key: "visit_began_ms", name: "VisitBegan",
			put: func(e *Writer, s *fsm.Snapshot) bool {
				return s.VisitBegan > 0 && e.Value(s.VisitBegan.Milliseconds())
			},
			take: func(r *memory, v any) error { return takeMillis(&r.VisitBegan, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.VisitBegan.Milliseconds() == b.VisitBegan.Milliseconds() },
		},
		unsureField("prompts_outstanding", "Outstanding", func(s *fsm.Snapshot) *fsm.Unsure { return &s.Outstanding }),
		unsureField("prompts_lost", "Lost", func(s *fsm.Snapshot) *fsm.Unsure { return &s.Lost }),
		{
			key: "judge_max_cost_usd", name: "AskingMost",
			put:  func(e *Writer, s *fsm.Snapshot) bool { return s.AskingMost != 0 && e.Value(s.AskingMost) },
			take: func(r *memory, v any) error { return takeFloat(&r.AskingMost, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.AskingMost == b.AskingMost },
		},
		{
			key: "ending", name: "Ending", put: func(e *Writer, s *fsm.Snapshot) bool {
				return putOutcome(e, s.Ending)
			},
			take: func(r *memory, v any) error { return TakeOutcome(&r.Ending, v) },
			same: func(a, b *fsm.Snapshot) bool { return same(a.Ending, b.Ending) },
		},
	}
}

// Parse reads a flat object, or a patch of one.
func Parse(b []byte) (*value.Map, error) {
	v, err := value.ParseJSON(b)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*value.Map)
	if !ok {
		return nil, wrong("an object", v)
	}
	return m, nil
}

// Keys returns the keys of a memory in a flat object, in their order.
func Keys() []string {
	keys := make([]string, len(layout))
	for i := range layout {
		keys[i] = layout[i].key
	}
	return keys
}

// required are the keys without which a flat object is no memory.
var required = []string{"loop_name", "current_state", "iteration", "started_at"}

// Take reads a memory from a flat object. Other keys than those of a memory are passed over, and null is as
// good as absent; a missing key that a memory must have, one of these, and a value of a wrong type, are errors
// that name the key. The error is about the first one, and what can be read is returned with it.
func Take(m *value.Map, must ...string) (*fsm.Snapshot, error) {
	r := &memory{}
	return &r.Snapshot, r.takeAll(m, must...)
}

func (r *memory) takeAll(m *value.Map, must ...string) error {
	first := newer(m)
	for _, keys := range [][]string{required, must} {
		for _, k := range keys {
			if v, _ := m.Get(k); v == nil && first == nil {
				first = fmt.Errorf("there is no %q in it", k)
			}
		}
	}
	for i := range layout {
		v, _ := m.Get(layout[i].key)
		if v == nil {
			continue
		}
		if err := layout[i].take(r, v); err != nil && first == nil {
			first = fmt.Errorf("%s: %w", layout[i].key, err)
		}
	}
	return first
}

func text[T ~string](key, name string, always bool, at func(*fsm.Snapshot) *T) field {
	return field{
		key: key, name: name,
		put: func(e *Writer, s *fsm.Snapshot) bool {
			x := *at(s)
			return (always || x != "") && e.Short(string(x))
		},
		take: func(r *memory, v any) error { return TakeText(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return *at(a) == *at(b) },
	}
}

func number(key, name string, always bool, at func(*fsm.Snapshot) *int) field {
	return field{
		key: key, name: name,
		put: func(e *Writer, s *fsm.Snapshot) bool {
			n := *at(s)
			return (always || n != 0) && e.int(n)
		},
		take: func(r *memory, v any) error { return TakeInt(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return *at(a) == *at(b) },
	}
}

func boolean(key, name string, at func(*fsm.Snapshot) *bool) field {
	return field{
		key: key, name: name,
		put:  func(e *Writer, s *fsm.Snapshot) bool { return *at(s) && e.Value(true) },
		take: func(r *memory, v any) error { return takeBool(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return *at(a) == *at(b) },
	}
}

func counts(key, name string, at func(*fsm.Snapshot) *map[string]int) field {
	return field{
		key: key, name: name, entries: true, dropNull: true,
		put: func(e *Writer, s *fsm.Snapshot) bool {
			m := *at(s)
			return len(m) > 0 && e.Value(m)
		},
		take: func(r *memory, v any) error {
			return takeEntries(v, func(k string, v any) error {
				var n int
				err := TakeInt(&n, v)
				put(at(&r.Snapshot), k, n)
				return err
			})
		},
		same:  func(a, b *fsm.Snapshot) bool { return maps.Equal(*at(a), *at(b)) },
		patch: func(e *Writer, a, b *fsm.Snapshot) { patchEntries(e, *at(a), *at(b), func(n int) { e.int(n) }) },
	}
}

// dict is a map whose entries are replaced one by one.
func dict(key, name string, always bool, at func(*fsm.Snapshot) **value.Map) field {
	return field{
		key: key, name: name, entries: true,
		put: func(e *Writer, s *fsm.Snapshot) bool {
			m := *at(s)
			return (always || m.Len() > 0) && e.records(m)
		},
		take:  func(r *memory, v any) error { return TakeMap(at(&r.Snapshot), v) },
		same:  func(a, b *fsm.Snapshot) bool { return sameEntries(*at(a), *at(b)) },
		patch: func(e *Writer, a, b *fsm.Snapshot) { patchDict(e, *at(a), *at(b)) },
	}
}

// object is a map that is replaced as a whole, or null.
func object(key, name string, at func(*fsm.Snapshot) **value.Map) field {
	return field{
		key: key, name: name,
		put: func(e *Writer, s *fsm.Snapshot) bool {
			if m := *at(s); m != nil {
				return e.record(m)
			}
			return e.Value(nil)
		},
		take: func(r *memory, v any) error { return TakeMap(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return sameValue(*at(a), *at(b)) },
	}
}

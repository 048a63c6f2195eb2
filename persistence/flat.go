package persistence

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// This file is the one place where a Snapshot becomes the flat object of state.json and back. The first keys,
// their order and their meaning are those of the reference tool; those after context are ours.

// A record is everything state.json holds: the machine's memory and what the store knows about the run.
type record struct {
	fsm.Snapshot
	runID      string
	status     Status
	updated    time.Time
	seq        uint64 // of the last event that the memory includes
	journal    int64  // length of the event file up to there
	part       int    // full parts of the journal before that file
	owner      Owner
	options    *value.Map
	file       string
	sha        string
	def        definition
	maxSteps   int
	instance   ID // names the working folder, if it is not the ID that the archive folder tells; else ""
	segment    int
	origin     *Origin
	reconciled time.Time
	why        string
	depth      int // of the sub-loop whose memory this is; 0 = the run itself
}

// A field is one key of the flat object.
type field struct {
	key    string
	quoted string                                 // the key as it is written, with its colon
	name   string                                 // of the Snapshot's field; "" for what the store knows, and for what another key tells too
	put    func(e *encoder, s *fsm.Snapshot) bool // nil for what the store knows
	tell   func(e *encoder, r *record) bool       // instead, for what the store knows
	take   func(r *record, v any) error
	// same says whether nothing changed; nil for what the store knows, which is in no patch.
	same func(now, before *fsm.Snapshot) bool
	// patch, if not nil, writes less than the whole value; see patch.go.
	patch func(e *encoder, now, before *fsm.Snapshot)
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
		dict("captured", "Captured", true, func(s *fsm.Snapshot) **value.Map { return &s.Captured }),
		object("prev_result", "PrevResult", func(s *fsm.Snapshot) **value.Map { return &s.PrevResult }),
		object("last_result", "LastResult", func(s *fsm.Snapshot) **value.Map { return &s.LastResult }),
		{
			key: "started_at", name: "StartedAt",
			put:  func(e *encoder, s *fsm.Snapshot) bool { return e.time(s.StartedAt) },
			take: func(r *record, v any) error { return takeTime(&r.StartedAt, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.StartedAt.Equal(b.StartedAt) },
		},
		known("updated_at", func(e *encoder, r *record) bool { return e.time(r.updated) },
			func(r *record, v any) error { return takeTime(&r.updated, v) }),
		known("status", func(e *encoder, r *record) bool { return e.value(string(r.status)) },
			func(r *record, v any) error { return takeText(&r.status, v) }),
		{
			key: "accumulated_ms", name: "Elapsed",
			put:  func(e *encoder, s *fsm.Snapshot) bool { return e.value(s.Elapsed.Milliseconds()) },
			take: func(r *record, v any) error { return takeMillis(&r.Elapsed, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.Elapsed.Milliseconds() == b.Elapsed.Milliseconds() },
		},
		text("continuation_prompt", "Continuation", false, func(s *fsm.Snapshot) *string { return &s.Continuation }),
		counts("retry_counts", "Retries", func(s *fsm.Snapshot) *map[string]int { return &s.Retries }),
		{
			key: "rate_limit_retries", name: "RateLimits", put: putRateLimits, take: takeRateLimits, entries: true, dropNull: true,
			same:  func(a, b *fsm.Snapshot) bool { return maps.Equal(a.RateLimits, b.RateLimits) },
			patch: func(e *encoder, a, b *fsm.Snapshot) { patchEntries(e, a.RateLimits, b.RateLimits, e.rateLimit) },
		},
		number("consecutive_rate_limit_exhaustions", "Storm", false, func(s *fsm.Snapshot) *int { return &s.Storm }),
		counts("edge_revisit_counts", "Edges", func(s *fsm.Snapshot) *map[string]int { return &s.Edges }),
		number("iteration_count", "Passes", false, func(s *fsm.Snapshot) *int { return &s.Passes }),
		{
			key: "active_sub_loop",
			put: func(e *encoder, s *fsm.Snapshot) bool { return s.Child != nil && e.text(s.Child.Name) },
			// It is for people and for the reference tool: without the memory of the sub-loop its name is of no use.
			take: func(*record, any) error { return nil },
			same: func(a, b *fsm.Snapshot) bool {
				return a.Child == nil && b.Child == nil || a.Child != nil && b.Child != nil && a.Child.Name == b.Child.Name
			},
		},
		known("pid", func(e *encoder, r *record) bool { return r.owner.PID != 0 && e.value(r.owner.PID) },
			func(r *record, v any) error { return takeInt(&r.owner.PID, v) }),
		known("reconciled_at", func(e *encoder, r *record) bool { return !r.reconciled.IsZero() && e.time(r.reconciled) },
			func(r *record, v any) error { return takeTime(&r.reconciled, v) }),
		{
			key: "messages", name: "Messages",
			put:   func(e *encoder, s *fsm.Snapshot) bool { return len(s.Messages) > 0 && e.texts(s.Messages) },
			take:  func(r *record, v any) error { return takeTexts(&r.Messages, v) },
			same:  func(a, b *fsm.Snapshot) bool { return sameTexts(a.Messages, b.Messages) },
			patch: func(e *encoder, a, b *fsm.Snapshot) { patchTexts(e, a.Messages, b.Messages) },
		},
		dict("context", "Context", false, func(s *fsm.Snapshot) **value.Map { return &s.Context }),

		known("run_id", func(e *encoder, r *record) bool { return e.value(r.runID) },
			func(r *record, v any) error { return takeText(&r.runID, v) }),
		known("seq", func(e *encoder, r *record) bool { return e.value(r.seq) },
			func(r *record, v any) error { return takeInt(&r.seq, v) }),
		known("journal", func(e *encoder, r *record) bool { return e.value(r.journal) },
			func(r *record, v any) error { return takeInt(&r.journal, v) }),
		known("part", func(e *encoder, r *record) bool { return r.part != 0 && e.value(r.part) },
			func(r *record, v any) error { return takeInt(&r.part, v) }),
		text("phase", "Phase", false, func(s *fsm.Snapshot) *fsm.Phase { return &s.Phase }),
		text("previous_state", "Previous", false, func(s *fsm.Snapshot) *string { return &s.Previous }),
		number("attempt", "Attempt", false, func(s *fsm.Snapshot) *int { return &s.Attempt }),
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
			key: "param", name: "Param",
			put:  func(e *encoder, s *fsm.Snapshot) bool { return s.Param != nil && e.record(s.Param) },
			take: func(r *record, v any) error { return takeMap(&r.Param, v) },
			same: func(a, b *fsm.Snapshot) bool { return sameValue(a.Param, b.Param) },
		},
		boolean("under_pressure", "UnderPressure", func(s *fsm.Snapshot) *bool { return &s.UnderPressure }),
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
			put: func(e *encoder, s *fsm.Snapshot) bool { return len(s.StallPrints) > 0 && e.value(s.StallPrints) },
			take: func(r *record, v any) error {
				return takeEntries(v, func(k string, v any) error {
					var s string
					err := takeText(&s, v)
					put(&r.StallPrints, k, s)
					return err
				})
			},
			same: func(a, b *fsm.Snapshot) bool { return maps.Equal(a.StallPrints, b.StallPrints) },
			patch: func(e *encoder, a, b *fsm.Snapshot) {
				patchEntries(e, a.StallPrints, b.StallPrints, func(s string) { e.value(s) })
			},
		},
		{
			key: "evaluators", name: "Evaluators", put: putEvaluators, take: takeEvaluators, entries: true, dropNull: true,
			same:  func(a, b *fsm.Snapshot) bool { return maps.Equal(a.Evaluators, b.Evaluators) },
			patch: func(e *encoder, a, b *fsm.Snapshot) { patchEntries(e, a.Evaluators, b.Evaluators, e.repeat) },
		},
		{
			key: "cumulative_mb", name: "CumulativeMB",
			put:  func(e *encoder, s *fsm.Snapshot) bool { return s.CumulativeMB != 0 && e.value(s.CumulativeMB) },
			take: func(r *record, v any) error { return takeFloat(&r.CumulativeMB, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.CumulativeMB == b.CumulativeMB },
		},
		{
			key: "spent", name: "Spent",
			put:  func(e *encoder, s *fsm.Snapshot) bool { return s.Spent != fsm.Spent{} && e.value(spentValue(s.Spent)) },
			take: func(r *record, v any) error { return takeSpent(&r.Spent, v) },
			same: func(a, b *fsm.Snapshot) bool { return a.Spent == b.Spent },
		},
		{
			key: "spent_by_state", name: "StateSpent", put: putStateSpent, take: takeStateSpent, entries: true, dropNull: true,
			same: func(a, b *fsm.Snapshot) bool { return maps.Equal(a.StateSpent, b.StateSpent) },
			patch: func(e *encoder, a, b *fsm.Snapshot) {
				patchEntries(e, a.StateSpent, b.StateSpent, func(s fsm.Spent) { e.value(spentValue(s)) })
			},
		},
		counts("budget_warned", "BudgetWarned", func(s *fsm.Snapshot) *map[string]int { return &s.BudgetWarned }),
		boolean("budget_routed", "BudgetRouted", func(s *fsm.Snapshot) *bool { return &s.BudgetRouted }),
		boolean("budget_spent", "BudgetSpent", func(s *fsm.Snapshot) *bool { return &s.BudgetSpent }),
		text("pending_request", "PendingRequest", false, func(s *fsm.Snapshot) *string { return &s.PendingRequest }),
		text("pending_payload", "PendingPayload", false, func(s *fsm.Snapshot) *string { return &s.PendingPayload }),
		{
			key: "outcome", name: "Outcome", put: putOutcome, take: takeOutcome,
			same: func(a, b *fsm.Snapshot) bool {
				return a.Outcome == b.Outcome || a.Outcome != nil && b.Outcome != nil && *a.Outcome == *b.Outcome
			},
		},
		{
			key: "sub_loop", name: "Child", put: putChild, take: takeChild, apply: applyChild, patch: patchChild,
			same: func(a, b *fsm.Snapshot) bool { return a.Child == nil && b.Child == nil },
		},

		known("reconciled_why", func(e *encoder, r *record) bool { return r.why != "" && e.value(r.why) },
			func(r *record, v any) error { return takeText(&r.why, v) }),
		known("max_steps", func(e *encoder, r *record) bool { return r.maxSteps != 0 && e.value(r.maxSteps) },
			func(r *record, v any) error { return takeInt(&r.maxSteps, v) }),
		known("definition", putDefinition, takeDefinition),
		known("options", func(e *encoder, r *record) bool { return r.options.Len() > 0 && e.value(r.options) },
			func(r *record, v any) error { return takeMap(&r.options, v) }),
		known("instance", func(e *encoder, r *record) bool { return r.instance != "" && e.value(string(r.instance)) },
			func(r *record, v any) error { return takeText(&r.instance, v) }),
		known("segment", func(e *encoder, r *record) bool { return r.segment != 0 && e.value(r.segment) },
			func(r *record, v any) error { return takeInt(&r.segment, v) }),
		known("forked_from", putOrigin, takeOrigin),
		known("owner", putOwner, takeOwner),
	}
}

// appendFlat writes the whole record as one line, with s for its memory. A line of the journal does without its own
// place and its writer, which only state.json tells.
func appendFlat(e *encoder, r *record, s *fsm.Snapshot, journal bool) {
	e.open('{')
	for i := range layout {
		f := &layout[i]
		switch {
		case f.put != nil:
			e.field(f, s)
		case !journal || lasting[f.key]:
			e.entry(f.key, func() bool { return f.tell(e, r) })
		}
	}
	if journal && r.def.text != "" {
		e.entry(definitionText, func() bool { return e.short(r.def.text) })
	}
	e.close('}')
}

// lasting are the keys outside the machine's memory that a journal must hold, so that it is enough to rebuild
// state.json.
var lasting = map[string]bool{"run_id": true, "max_steps": true, "definition": true, "options": true, "instance": true, "segment": true, "forked_from": true}

// required are the keys without which a state file is none, and, but for the last, a memory is none.
var required = []string{"loop_name", "current_state", "iteration", "started_at", "status"}

// takeFlat reads a flat object. Unknown keys are ignored, null is as good as absent; a value of a wrong type is
// an error that names its key. The error is about the first one, the rest is read all the same.
func takeFlat(m *value.Map) (*record, error) {
	r := &record{}
	return r, r.takeAll(m, required)
}

func (r *record) takeAll(m *value.Map, required []string) error {
	var first error
	for _, k := range required {
		if v, _ := m.Get(k); v == nil {
			first = fmt.Errorf("there is no %q in it", k)
			break
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

func known(key string, tell func(*encoder, *record) bool, take func(*record, any) error) field {
	return field{key: key, tell: tell, take: take}
}

func text[T ~string](key, name string, always bool, at func(*fsm.Snapshot) *T) field {
	return field{
		key: key, name: name,
		put: func(e *encoder, s *fsm.Snapshot) bool {
			x := *at(s)
			return (always || x != "") && e.short(string(x))
		},
		take: func(r *record, v any) error { return takeText(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return *at(a) == *at(b) },
	}
}

func number(key, name string, always bool, at func(*fsm.Snapshot) *int) field {
	return field{
		key: key, name: name,
		put: func(e *encoder, s *fsm.Snapshot) bool {
			n := *at(s)
			return (always || n != 0) && e.int(n)
		},
		take: func(r *record, v any) error { return takeInt(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return *at(a) == *at(b) },
	}
}

func boolean(key, name string, at func(*fsm.Snapshot) *bool) field {
	return field{
		key: key, name: name,
		put:  func(e *encoder, s *fsm.Snapshot) bool { return *at(s) && e.value(true) },
		take: func(r *record, v any) error { return takeBool(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return *at(a) == *at(b) },
	}
}

func counts(key, name string, at func(*fsm.Snapshot) *map[string]int) field {
	return field{
		key: key, name: name, entries: true, dropNull: true,
		put: func(e *encoder, s *fsm.Snapshot) bool {
			m := *at(s)
			return len(m) > 0 && e.value(m)
		},
		take: func(r *record, v any) error {
			return takeEntries(v, func(k string, v any) error {
				var n int
				err := takeInt(&n, v)
				put(at(&r.Snapshot), k, n)
				return err
			})
		},
		same:  func(a, b *fsm.Snapshot) bool { return maps.Equal(*at(a), *at(b)) },
		patch: func(e *encoder, a, b *fsm.Snapshot) { patchEntries(e, *at(a), *at(b), func(n int) { e.int(n) }) },
	}
}

// dict is a map whose entries are replaced one by one.
func dict(key, name string, always bool, at func(*fsm.Snapshot) **value.Map) field {
	return field{
		key: key, name: name, entries: true,
		put: func(e *encoder, s *fsm.Snapshot) bool {
			m := *at(s)
			return (always || m.Len() > 0) && e.records(m)
		},
		take:  func(r *record, v any) error { return takeMap(at(&r.Snapshot), v) },
		same:  func(a, b *fsm.Snapshot) bool { return sameEntries(*at(a), *at(b)) },
		patch: func(e *encoder, a, b *fsm.Snapshot) { patchDict(e, *at(a), *at(b)) },
	}
}

// object is a map that is replaced as a whole, or null.
func object(key, name string, at func(*fsm.Snapshot) **value.Map) field {
	return field{
		key: key, name: name,
		put: func(e *encoder, s *fsm.Snapshot) bool {
			if m := *at(s); m != nil {
				return e.record(m)
			}
			return e.value(nil)
		},
		take: func(r *record, v any) error { return takeMap(at(&r.Snapshot), v) },
		same: func(a, b *fsm.Snapshot) bool { return sameValue(*at(a), *at(b)) },
	}
}

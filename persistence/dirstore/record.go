package dirstore

import (
	"fmt"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// A record is everything state.json holds: the machine's memory and what the store knows about the run.
type record struct {
	fsm.Snapshot
	runID      string
	status     persistence.Status
	updated    time.Time
	seq        uint64 // of the last event that the memory includes
	journal    int64  // length of the event file up to there
	part       int    // full parts of the journal before that file
	owner      persistence.Owner
	options    *value.Map
	file       string
	sha        string
	def        definition
	maxSteps   int
	instance   persistence.ID // names the working folder, if it is not the ID that the archive folder gives; else ""
	segment    int
	origin     *persistence.Origin
	reconciled time.Time
	why        string
}

// A known is a key of state.json that only the store knows.
type known struct {
	key  string
	tell func(e *snapshot.Writer, r *record) bool // false: it has nothing to say
	take func(r *record, v any) error
}

// knowns are these keys in their order, each after the key of the memory that it follows. Those of
// little-loops are the first four.
var knowns = map[string][]known{
	"started_at": {
		{
			"updated_at", func(e *snapshot.Writer, r *record) bool { return e.Time(r.updated) },
			func(r *record, v any) error { return snapshot.TakeTime(&r.updated, v) },
		},
		{
			"status", func(e *snapshot.Writer, r *record) bool { return e.Value(string(r.status)) },
			func(r *record, v any) error { return snapshot.TakeText(&r.status, v) },
		},
	},
	"active_sub_loop": {
		{
			"pid", func(e *snapshot.Writer, r *record) bool { return r.owner.PID != 0 && e.Value(r.owner.PID) },
			func(r *record, v any) error { return snapshot.TakeInt(&r.owner.PID, v) },
		},
		{
			"reconciled_at", func(e *snapshot.Writer, r *record) bool {
				return !r.reconciled.IsZero() && e.Time(r.reconciled)
			},
			func(r *record, v any) error { return snapshot.TakeTime(&r.reconciled, v) },
		},
	},
	"context": {
		{
			"run_id", func(e *snapshot.Writer, r *record) bool { return e.Value(r.runID) },
			func(r *record, v any) error { return snapshot.TakeText(&r.runID, v) },
		},
		{
			"seq", func(e *snapshot.Writer, r *record) bool { return e.Value(r.seq) },
			func(r *record, v any) error { return snapshot.TakeInt(&r.seq, v) },
		},
		{
			"journal", func(e *snapshot.Writer, r *record) bool { return e.Value(r.journal) },
			func(r *record, v any) error { return snapshot.TakeInt(&r.journal, v) },
		},
		{
			"part", func(e *snapshot.Writer, r *record) bool { return r.part != 0 && e.Value(r.part) },
			func(r *record, v any) error { return snapshot.TakeInt(&r.part, v) },
		},
	},
	"sub_loop": {
		{
			"reconciled_why", func(e *snapshot.Writer, r *record) bool { return r.why != "" && e.Value(r.why) },
			func(r *record, v any) error { return snapshot.TakeText(&r.why, v) },
		},
		{
			"max_steps", func(e *snapshot.Writer, r *record) bool { return r.maxSteps != 0 && e.Value(r.maxSteps) },
			func(r *record, v any) error { return snapshot.TakeInt(&r.maxSteps, v) },
		},
		{"definition", putDefinition, takeDefinition},
		{
			"options", func(e *snapshot.Writer, r *record) bool { return r.options.Len() > 0 && e.Value(r.options) },
			func(r *record, v any) error { return snapshot.TakeMap(&r.options, v) },
		},
		{
			"instance", func(e *snapshot.Writer, r *record) bool {
				return r.instance != "" && e.Value(string(r.instance))
			},
			func(r *record, v any) error { return snapshot.TakeText(&r.instance, v) },
		},
		{
			"segment", func(e *snapshot.Writer, r *record) bool { return r.segment != 0 && e.Value(r.segment) },
			func(r *record, v any) error { return snapshot.TakeInt(&r.segment, v) },
		},
		{"forked_from", putOrigin, takeOrigin},
		{"owner", putOwner, takeOwner},
	},
}

// lasting are the keys outside the machine's memory that a journal must hold, so that it is enough to rebuild
// state.json.
var lasting = map[string]bool{
	"run_id": true, "max_steps": true, "definition": true, "options": true,
	"instance": true, "segment": true, "forked_from": true,
}

// layout is the order of all keys.
var layout = stateKeys()

// A slot is a key of state.json: one of the memory, and then those that follow it.
type slot struct {
	key    string
	behind []known
}

func stateKeys() []slot {
	keys := snapshot.Keys()
	slots := make([]slot, len(keys))
	for i, key := range keys {
		slots[i] = slot{key, knowns[key]}
	}
	return slots
}

// appendFlat writes the whole record as one line, with s for its memory. A line of the journal does without its own
// place and its writer, which only state.json has.
func appendFlat(e *snapshot.Writer, r *record, s *fsm.Snapshot, journal bool) {
	e.Open('{')
	for i, slot := range layout {
		e.Field(i, s)
		for _, k := range slot.behind {
			if !journal || lasting[k.key] {
				e.Entry(k.key, func() bool { return k.tell(e, r) })
			}
		}
	}
	if journal && r.def.text != "" {
		e.Entry(definitionText, func() bool { return e.Short(r.def.text) })
	}
	e.Close('}')
}

// takeFlat reads a flat object. Unknown keys are ignored, null is as good as absent; a value of a wrong type is
// an error that names its key. The error is about the first one, the rest is read all the same.
func takeFlat(m *value.Map) (*record, error) {
	memory, first := snapshot.Take(m, "status")
	r := &record{Snapshot: *memory}
	for _, slot := range layout {
		for _, k := range slot.behind {
			v, _ := m.Get(k.key)
			if v == nil {
				continue
			}
			if err := k.take(r, v); err != nil && first == nil {
				first = fmt.Errorf("%s: %w", k.key, err)
			}
		}
	}
	return r, first
}

func putDefinition(e *snapshot.Writer, r *record) bool {
	if r.file == "" && r.sha == "" && r.def.sha == "" {
		return false
	}
	m := value.NewMap("file", r.file, "sha256", r.sha)
	if r.def.sha != "" {
		m.Set("text_sha256", r.def.sha)
	}
	return e.Value(m)
}

func takeDefinition(r *record, v any) error {
	return snapshot.TakeParts(v, map[string]func(any) error{
		"file":   func(v any) error { return snapshot.TakeText(&r.file, v) },
		"sha256": func(v any) error { return snapshot.TakeText(&r.sha, v) },

		"text_sha256": func(v any) error { return snapshot.TakeText(&r.def.sha, v) },
	})
}

func putOwner(e *snapshot.Writer, r *record) bool {
	o := r.owner
	if o.Host == "" && o.Boot == "" && o.Start == 0 {
		return false // pid says it all
	}
	m := value.NewMap("host", o.Host, "boot", o.Boot, "pid", o.PID, "start", o.Start)
	if o.PIDNS != 0 {
		m.Set("pid_ns", o.PIDNS)
	}
	return e.Value(m)
}

func takeOwner(r *record, v any) error {
	return snapshot.TakeParts(v, map[string]func(any) error{
		"host":   func(v any) error { return snapshot.TakeText(&r.owner.Host, v) },
		"boot":   func(v any) error { return snapshot.TakeText(&r.owner.Boot, v) },
		"pid":    func(v any) error { return snapshot.TakeInt(&r.owner.PID, v) },
		"start":  func(v any) error { return snapshot.TakeInt(&r.owner.Start, v) },
		"pid_ns": func(v any) error { return snapshot.TakeInt(&r.owner.PIDNS, v) },
	})
}

func putOrigin(e *snapshot.Writer, r *record) bool { return r.origin != nil && e.Value(r.origin.Map()) }

func takeOrigin(r *record, v any) (err error) {
	r.origin, err = persistence.ParseOrigin(v)
	return err
}

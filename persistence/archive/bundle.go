package archive

import (
	"fmt"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// The names in an archive.
const (
	runFile        = "run.json"
	definitionFile = "definition.yaml"
	memoryFile     = "memory.json"
	eventsFile     = "events.jsonl"
	commandsFile   = "commands.jsonl"
	workFolder     = "work"
	undoFile       = "undo.bundle"
	lessonFolder   = "memories"
	sumsFile       = "SHA256SUMS"
)

// format is the version of what is written.
const format = 1

// DefaultLimit is how many bytes an archive may hold when it is unpacked, unless a caller says otherwise.
const DefaultLimit = 4 << 30

// An Error means that a file is no archive of a run, is damaged, or would do harm.
type Error struct{ What string }

func (e *Error) Error() string { return e.What }

func bad(text string, args ...any) error { return &Error{fmt.Sprintf(text, args...)} }

// encodeRun writes what a listing says. Of what differs between stores nothing is kept, nor of the owner.
func encodeRun(r persistence.Run, d persistence.Digest) []byte {
	m := value.NewMap(
		"format", int64(format), "id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "status", string(r.Status),
		"state", r.State,
		"step", int64(r.Step), "passes", int64(r.Passes), "max_steps", int64(r.MaxSteps), "started_at",
		fsm.FormatTime(r.StartedAt),
		"updated_at", fsm.FormatTime(r.UpdatedAt), "elapsed_ns", int64(r.Elapsed), "ended", r.Ended, "error", r.Error,
		"rate_limited", r.Limited, "refused", r.Refused, "archived", r.Archived, "foreign", r.Foreign,
		"reconciled_at", "", "why", r.Why,
		"continuation", r.Continuation, "file", r.File, "sha256", r.SHA256, "segment", int64(r.Segment), "options", nil,
		"events", int64(d.Events), "digest", d.Hash,
	)
	if !r.Reconciled.IsZero() {
		m.Set("reconciled_at", fsm.FormatTime(r.Reconciled))
	}
	if r.Message != "" {
		m.Set("message", r.Message)
	}
	if r.Reason != "" {
		m.Set("reason", r.Reason)
	}
	if r.SuspendedBy != "" {
		m.Set("suspended_by", r.SuspendedBy)
	}
	if r.Remedy != "" {
		m.Set("remedy", r.Remedy)
	}
	if r.Options != nil {
		m.Set("options", r.Options)
	}
	if r.Origin != nil {
		m.Set("forked_from", r.Origin.Map())
	}
	return append(value.AppendJSONIndent(nil, m, "  "), '\n')
}

// decodeRun reads what encodeRun wrote.
func decodeRun(text []byte) (r persistence.Run, d persistence.Digest, err error) {
	v, err := value.ParseJSON(text)
	m, ok := v.(*value.Map)
	if err != nil || !ok {
		return r, d, bad("%s is no JSON object", runFile)
	}
	f := fields{m: m}
	if n := f.number("format"); f.err == nil && n != format {
		return r, d, bad("a newer version of loops wrote it, in format %d, and this version reads format %d: use "+
			"the newer version", n, format)
	}
	r = persistence.Run{
		ID: persistence.ID(f.text("id")), RunID: f.text("run_id"), Loop: f.text("loop"),
		Status: persistence.Status(f.text("status")),
		State:  f.text("state"), Step: int(f.number("step")), Passes: int(f.number("passes")),
		MaxSteps:  int(f.number("max_steps")),
		StartedAt: f.time("started_at"), UpdatedAt: f.time("updated_at"),
		Elapsed: time.Duration(f.number("elapsed_ns")), Ended: f.text("ended"),
		Error: f.text("error"), Message: later[string](&f, "message"), Reason: later[string](&f, "reason"),
		Limited: f.flag("rate_limited"), Refused: later[bool](&f, "refused"), Archived: f.flag("archived"),
		Foreign:    f.flag("foreign"),
		Reconciled: f.time("reconciled_at"), Why: f.text("why"), Continuation: f.text("continuation"),
		File:   f.text("file"),
		SHA256: f.text("sha256"), Segment: int(f.number("segment")), SuspendedBy: later[string](&f, "suspended_by"),
		Remedy: later[string](&f, "remedy"),
	}
	if v, _ := m.Get("options"); v != nil {
		if r.Options, ok = v.(*value.Map); !ok {
			f.err = bad("%s: options is no object", runFile)
		}
	}
	if v, ok := m.Get("forked_from"); ok { // a key that older archives lack, as runs do that are no forks
		if r.Origin, err = persistence.ParseOrigin(v); err != nil && f.err == nil {
			f.err = bad("%s: forked_from: %v", runFile, err)
		}
	}
	d = persistence.Digest{Events: int(f.number("events")), Hash: f.text("digest")}
	switch {
	case f.err != nil:
		return r, d, f.err
	case !r.ID.Valid() || persistence.CheckLoop(r.Loop) != nil || r.Status == "" || r.StartedAt.IsZero():
		return r, d, bad("%s names no run: id %q of loop %q", runFile, r.ID, r.Loop)
	}
	r.Resumable = r.Status.CanGoOn(r.Retriable()) && !(r.Archived && r.Foreign)
	return r, d, nil
}

// fields reads the values of an object, and remembers the first that is missing or of another kind.
type fields struct {
	m   *value.Map
	err error
}

func field[T any](f *fields, key string) (value T) {
	v, _ := f.m.Get(key)
	value, ok := v.(T)
	if !ok && f.err == nil {
		f.err = bad("%s: %s is missing, or of the wrong kind", runFile, key)
	}
	return value
}

// later is field for a key that older programs do not write.
func later[T any](f *fields, key string) (none T) {
	if v, _ := f.m.Get(key); v == nil {
		return none
	}
	return field[T](f, key)
}

func (f *fields) text(key string) string  { return field[string](f, key) }
func (f *fields) number(key string) int64 { return field[int64](f, key) }
func (f *fields) flag(key string) bool    { return field[bool](f, key) }

func (f *fields) time(key string) (t time.Time) {
	s := f.text(key)
	if s == "" {
		return t
	}
	t, err := fsm.ParseTime(s)
	if err != nil && f.err == nil {
		f.err = bad("%s: %s: %v", runFile, key, err)
	}
	return t
}

package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// A row is what the tables runs and leases say about a run.
type row struct {
	persistence.Run
	n, epoch   int64
	project    string // see Store.Projects
	seq, whole uint64
	definition string
	now        int64 // by the database, when it was read
	until      int64 // of the lease; 0 = it has no owner
	scope      []string
	place      string   // of the project that the owner has; "" = unknown
	shared     []string // the scope inside of that
	singleton  bool
	since      time.Time // the owner has the run
	given      time.Time // when the lease was asked for, if it was given to this process
}

// columns are those that scan reads.
const columns = `r.n, r.id, r.loop, r.run_id, r.started_at, r.updated_at, r.status, r.archived, r.seq, r.whole, r.epoch,
	r.definition, r.about, {now}, coalesce(l.until, 0), coalesce(l.owner, ''), coalesce(l.scope, ''),
		coalesce(l.singleton, 0),
	coalesce(l.since, 0), coalesce(l.segment, 0), EXISTS (SELECT 1 FROM commands c WHERE c.run = r.n), r.project`

const fromRuns = ` FROM runs r LEFT JOIN leases l ON l.run = r.n `

// scan reads a row of columns. What is damaged in it is noted.
func (s *Store) scan(scan func(...any) error) (*row, error) {
	var r row
	var id, owner, scope, about, status string
	var started, updated, archived, seq, whole, singleton, since, segment int64
	var asked bool
	err := scan(&r.n, &id, &r.Loop, &r.RunID, &started, &updated, &status, &archived, &seq, &whole, &r.epoch,
		&r.definition, &about, &r.now, &r.until, &owner, &scope, &singleton, &since, &segment, &asked, &r.project)
	if err != nil {
		return nil, err
	}
	r.ID, r.Status, r.Log = persistence.ID(id), persistence.Status(status), s.name
	r.StartedAt, r.UpdatedAt = time.UnixMicro(started).UTC(), time.UnixMilli(updated).UTC()
	r.Unasked = !asked
	r.Archived, r.seq, r.whole = archived != 0, uint64(seq), uint64(whole)
	if err := readAbout(&r.Run, about); err != nil {
		r.note(s, "about", err)
	}
	if r.until != 0 {
		r.singleton, r.since = singleton != 0, time.UnixMicro(since).UTC()
		var o recordedOwner
		if err := json.Unmarshal([]byte(owner), &o); err != nil {
			r.note(s, "owner", err)
		}
		r.Owner, r.place, r.shared = o.Owner, o.Place, o.Shared
		if r.scope, err = parseScope(scope); err != nil {
			r.note(s, "scope", err)
		}
	}
	s.stand(&r)
	if r.Held { // what is saved may be the last owner's
		r.Segment = max(r.Segment, int(segment))
	}
	r.Resumable = r.Status.CanGoOn(r.Retriable()) && !(r.Archived && r.Foreign)
	return &r, nil
}

func (r *row) note(s *Store, column string, err error) {
	r.Damage = append(r.Damage, fmt.Sprintf("%s: run %s: %s cannot be read: %v", s.name, r.ID, column, err))
}

// stand finds out whether a run is owned. An owner that is seen to live keeps its run although its lease ran out: only
// Resume, which can wait, finds out whether it lives. For one that cannot be seen only the lease counts.
func (s *Store) stand(r *row) {
	if r.until == 0 || s.dead(r.Owner, r.UpdatedAt) {
		return
	}
	sight := s.sight(r.Owner)
	r.Leased, r.Lapsed = time.UnixMilli(r.until).UTC(), r.now >= r.until
	r.Held = !r.Lapsed || sight == persistence.Visible
	r.Unsure = r.Lapsed && sight == persistence.Hidden
	if r.Held {
		r.Scope = r.scope
	}
}

// find reads the row of a run of which something is recorded. The run of another project is a
// [persistence.ElsewhereError].
func (s *Store) find(ctx context.Context, q queryer, id persistence.ID, behind string) (*row, error) {
	if !legible(string(id)) {
		return nil, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
	}
	r, err := s.scan(
		q.QueryRowContext(ctx, s.q(`SELECT `+columns+fromRuns+`WHERE r.id = ? AND r.status <> ''`+behind),
			string(id)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", id, persistence.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return r, s.checkOwn(ctx, r)
}

// about is the rest of what a listing says, as JSON.
func appendAbout(dst []byte, r *persistence.Run) []byte {
	m := value.NewMap("state", r.State, "step", int64(r.Step), "passes", int64(r.Passes), "elapsed_ns",
		int64(r.Elapsed))
	for _, f := range []struct{ key, value string }{
		{"ended", r.Ended},
		{"error", r.Error},
		{"continuation", r.Continuation},
		{"marker", r.Marker},
		{"file", r.File},
		{"sha256", r.SHA256},
		{"why", r.Why},
		{"suspended_by", r.SuspendedBy},
		{"remedy", r.Remedy},
	} {
		if f.value != "" {
			m.Set(f.key, f.value)
		}
	}
	if r.MaxSteps != 0 {
		m.Set("max_steps", int64(r.MaxSteps))
	}
	if r.Segment != 0 {
		m.Set("segment", int64(r.Segment))
	}
	if !r.Reconciled.IsZero() {
		m.Set("reconciled_at", fsm.FormatTime(r.Reconciled))
	}
	if r.Foreign {
		m.Set("foreign", true)
	}
	if r.Limited {
		m.Set("rate_limited", true)
	}
	if r.Refused {
		m.Set("refused", true)
	}
	if r.Message != "" {
		m.Set("message", r.Message)
	}
	if r.Reason != "" {
		m.Set("reason", r.Reason)
	}
	if r.Ignored != "" {
		m.Set("ignored_failures", r.Ignored)
	}
	if r.Merge != "" {
		m.Set("merge", r.Merge)
	}
	if r.FailedItems > 0 {
		m.Set("failed_items", r.FailedItems)
	}
	if r.Options != nil {
		m.Set("options", r.Options)
	}
	if r.Origin != nil {
		m.Set("forked_from", r.Origin.Map())
	}
	return snapshot.AppendSum(value.AppendJSON(dst, m), len(dst))
}

func readAbout(r *persistence.Run, about string) error {
	b, err := snapshot.CutSum([]byte(about))
	if err != nil {
		return err
	}
	v, err := value.ParseJSON(b)
	m, ok := v.(*value.Map)
	if err == nil && !ok {
		err = errors.New("expected an object")
	}
	if err != nil {
		return err
	}
	text := func(key string) string {
		v, _ := m.Get(key)
		s, _ := v.(string)
		return s
	}
	number := func(key string) int64 {
		v, _ := m.Get(key)
		n, _ := v.(int64)
		return n
	}
	r.State, r.Step, r.Passes, r.Elapsed = text("state"), int(number("step")), int(number("passes")),
		time.Duration(number("elapsed_ns"))
	r.Ended, r.Error, r.Message, r.Continuation, r.Marker = text("ended"), text("error"), text("message"),
		text("continuation"), text("marker")
	r.Reason, r.Ignored, r.Merge = text("reason"), text("ignored_failures"), text("merge")
	r.SuspendedBy, r.Remedy = text("suspended_by"), text("remedy")
	r.FailedItems = int(number("failed_items"))
	r.File, r.SHA256, r.Why, r.MaxSteps, r.Segment = text("file"), text("sha256"), text("why"),
		int(number("max_steps")), int(number("segment"))
	if at := text("reconciled_at"); at != "" {
		if r.Reconciled, err = fsm.ParseTime(at); err != nil {
			return err
		}
	}
	foreign, _ := m.Get("foreign")
	r.Foreign = foreign == true
	limited, _ := m.Get("rate_limited")
	r.Limited = limited == true
	refused, _ := m.Get("refused")
	r.Refused = refused == true
	options, _ := m.Get("options")
	r.Options, _ = options.(*value.Map)
	origin, _ := m.Get("forked_from")
	r.Origin, err = persistence.ParseOrigin(origin)
	return err
}

// learn takes from a memory what a listing shows of it.
func learn(r *persistence.Run, m *fsm.Snapshot) {
	r.State, r.Step, r.Passes, r.Elapsed, r.Continuation = m.Current, m.Step, m.Passes, m.Elapsed, m.Continuation
	r.StartedAt = m.StartedAt
	r.SetOutcome(m.Outcome)
	r.Marker = persistence.Marker(r.ID, r.Segment, m)
}

// Paths can hold any bytes, so a scope is recorded as quoted texts, a line each.
func formatScope(scope []string) string {
	var b strings.Builder
	for _, p := range scope {
		b.WriteString(strconv.QuoteToASCII(p) + "\n")
	}
	return b.String()
}

func parseScope(text string) (scope []string, err error) {
	for line := range strings.Lines(text) {
		p, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return scope, err
		}
		scope = append(scope, p)
	}
	return scope, nil
}

// A recordedOwner is an owner with the project in which it runs.
type recordedOwner struct {
	persistence.Owner
	Place  string   `json:"place,omitempty"`  // see placeFile
	Shared []string `json:"shared,omitempty"` // see shared
}

func formatOwner(o recordedOwner) string {
	b, _ := json.Marshal(o) // a struct of texts and numbers
	return string(b)
}

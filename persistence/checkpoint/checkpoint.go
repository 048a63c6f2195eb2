package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"
)

// Meta says which run a checkpoint is of. Only Run must be set. It must stay the same over restarts. Texts are
// UTF-8; of others, here and in phases and kinds of events, the bytes that are not come back as U+FFFD.
type Meta struct {
	// id: UTF-8, at most 200 bytes, of which / \ % and control characters count three times
	Run       string `json:"run"`
	Agent     string `json:"agent,omitempty"`      // who does the work
	Caller    string `json:"caller,omitempty"`     // who asked for it
	Channel   string `json:"channel,omitempty"`    // where the answer goes
	Parent    string `json:"parent,omitempty"`     // id of the run that started this one
	Prompt    string `json:"prompt,omitempty"`     // what was asked
	ModelTier string `json:"model_tier,omitempty"` // which class of model does it

	// More is whatever else is known of the run. It is kept, and comes back as encoding/json decodes it:
	// numbers as float64. What a stored checkpoint says of its run beyond the fields above is here, too; for an
	// object of elsewhere, MetaFromMap does that.
	More map[string]any `json:"more,omitempty"`
}

// A Checkpoint is all that a run needs to continue.
type Checkpoint struct {
	Meta
	Iteration int `json:"iteration"`
	// completed ones, in their order; one that was completed twice is listed twice
	Phases []string `json:"phases,omitempty"`
	// the conversation so far, kept byte for byte; see Pack and Unpack
	Messages []json.RawMessage `json:"messages,omitempty"`
	Data     json.RawMessage   `json:"data,omitempty"`    // whatever else the run must remember; null = nothing
	Seq      uint64            `json:"seq,omitempty"`     // the last event that this checkpoint includes, see Log
	SavedAt  time.Time         `json:"saved_at,omitzero"` // set by Save; zero = never saved
}

// Remaining returns those of the phases of a pipeline that are still to be done, in their order. A phase may
// stand there several times, as in draft, review, draft: as many of a name are left out, from the first, as
// have been completed. It is asked once, of the checkpoint that was loaded.
func (c *Checkpoint) Remaining(phases ...string) []string {
	completed := map[string]int{}
	for _, p := range c.Phases {
		completed[p]++
	}
	var rest []string
	for _, p := range phases {
		if completed[p] > 0 {
			completed[p]--
			continue
		}
		rest = append(rest, p)
	}
	return rest
}

// Completed reports whether a phase has been completed at least once.
func (c *Checkpoint) Completed(phase string) bool { return slices.Contains(c.Phases, phase) }

// Complete adds a phase to the completed ones. It is remembered from the next Save on.
func (c *Checkpoint) Complete(phase string) { c.Phases = append(c.Phases, phase) }

// Interrupted is what ListInterrupted returns about a run.
type Interrupted struct {
	Meta
	Iteration int
	Phases    []string
	SavedAt   time.Time
	Err       error // a *DamageError where the newest checkpoint is damaged; only Run is known if no other is good
}

func (c *Checkpoint) interrupted() Interrupted {
	return Interrupted{Meta: c.Meta, Iteration: c.Iteration, Phases: c.Phases, SavedAt: c.SavedAt}
}

// A Clock returns the time. The zero Clock is that of the machine. It is called by several goroutines at once.
type Clock func() time.Time

// Now returns the time.
func (c Clock) Now() time.Time {
	if c == nil {
		return time.Now()
	}
	return c()
}

// A Store keeps the newest checkpoint of each run. All methods may be called by several goroutines at once. A run has
// one writer at a time: of two at once the last wins, whole, and neither is notified.
type Store interface {
	// Save replaces the checkpoint of run c.Run. It is durable when Save returns nil. After an error the store
	// holds the checkpoint before or this one. Save neither changes c nor keeps any part of it.
	Save(ctx context.Context, c *Checkpoint) error
	// Load returns the newest good checkpoint of a run, to keep and change. Without one the error is ErrNotFound.
	// If a newer one is damaged the error is ErrDamaged and the one before is returned with it, or nil where that
	// is not good either.
	Load(ctx context.Context, run string) (*Checkpoint, error)
	// Delete forgets the checkpoint of a run, durably. It is no error if there is none.
	Delete(ctx context.Context, run string) error
	// ListInterrupted returns the runs that have a checkpoint, the newest first: at the start of a program, those
	// that neither completed nor failed. It cannot know whether a process is working on one just now. A damaged
	// checkpoint hides no other.
	ListInterrupted(ctx context.Context) ([]Interrupted, error)
}

// An Event is one entry of a log.
type Event struct {
	Seq  uint64          `json:"seq"`  // 1 for the first of the run; set by Append if it is zero
	Time time.Time       `json:"time"` // set by Append if it is zero
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}

// A Log keeps the events of each run, for as long as nothing clears them: they outlive the run's checkpoint, so that
// a watcher can read the end. All methods may be called by several goroutines at once, also for one run.
type Log interface {
	// Append adds events and returns the number of the last one; numbers have no gaps. The events are durable when
	// Append returns nil. After an error none of them is in the log; after a crash in between, the first few may be.
	// Without events it returns the number of the last one there is, 0 if none. An event with a number that is not
	// the next one is ErrSeq: so a caller can append only after the events that it has read.
	Append(ctx context.Context, run string, events ...Event) (uint64, error)
	// Since yields the events after number seq, oldest first; those appended meanwhile may be missing. An error that
	// is ErrDamaged stands for one or more events, and reading continues after it; after any other it ends. A run
	// without events yields none.
	Since(ctx context.Context, run string, seq uint64) iter.Seq2[Event, error]
	// Clear removes all events of a run. The next one is number 1 again.
	Clear(ctx context.Context, run string) error
}

var (
	// ErrNotFound means that there is no such checkpoint or stage.
	ErrNotFound = errors.New("nothing is saved")
	// ErrDamaged means that stored bytes cannot be believed. The error is a *DamageError.
	ErrDamaged = errors.New("damaged")
	// ErrRunID means that a run id is empty, too long or not UTF-8, see Meta.
	ErrRunID = errors.New("not a run id")
	// ErrNotJSON means that a message, data or the value of a stage is not JSON.
	ErrNotJSON = errors.New("not JSON")
	// ErrSeq means that an event has another number than it would get in the log. Nothing was appended.
	ErrSeq = errors.New("not the next number")
	// ErrEnded means that a run was completed or failed already, so that it can no longer be saved.
	ErrEnded = errors.New("the run has ended")
	// ErrNewer means that a file was written by a newer version of this package.
	ErrNewer = errors.New("written by a newer version")
	// ErrBusy means that another process did not release a lock for 30 seconds. Nothing was changed.
	ErrBusy = errors.New("another process does not let go of this lock")
)

// A DamageError says what is damaged. It is ErrDamaged.
type DamageError struct {
	File   string // path; "" where the store has no files
	Offset int64  // byte at which the damaged part begins
	What   string
	Kept   string // path under which a call that replaced the file keeps what it was; "" = it did not replace it
}

func (e *DamageError) Error() string {
	if e.File == "" {
		return "damaged: " + e.What
	}
	if e.Offset == 0 {
		return fmt.Sprintf("%s: damaged: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s: damaged at byte %d: %s", e.File, e.Offset, e.What)
}

// Is makes every DamageError ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// Pack turns messages of the caller's own type into those of a checkpoint.
func Pack[M any](messages []M) ([]json.RawMessage, error) {
	raw := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		raw[i] = b
	}
	return raw, nil
}

// Unpack turns the messages of a checkpoint into the caller's own type.
func Unpack[M any](raw []json.RawMessage) ([]M, error) {
	messages := make([]M, len(raw))
	for i, b := range raw {
		if err := json.Unmarshal(b, &messages[i]); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return messages, nil
}

const maxRunID = 200 // bytes, also as the name of a folder

// CheckRun reports whether run can be the id of a run, see Meta. The error is ErrRunID.
func CheckRun(run string) error {
	switch {
	case run == "":
		return fmt.Errorf("%w: it is empty", ErrRunID)
	case !utf8.ValidString(run):
		return fmt.Errorf("%w: %q is not UTF-8", ErrRunID, run)
	case len(folderName(run)) > maxRunID:
		return fmt.Errorf("%w: %.40q… is longer than %d bytes", ErrRunID, run, maxRunID)
	}
	return nil
}

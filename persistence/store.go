package persistence

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
)

// An ID names one run for life. It is the name of its loop, a dash and a second in UTC (fix-20261121T103405),
// moved on until no one else has it, so that little-loops finds the files too.
type ID string

// A Status is what a run's record says about it, in the words of little-loops.
type Status string

// The statuses.
const (
	Running     Status = "running"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
	TimedOut    Status = "timed_out"
	Awaiting    Status = "awaiting_continuation"
	UserStopped Status = "user_stopped"
	Starting    Status = "starting" // never recorded: a live process of little-loops is about to record a run
	Queued      Status = "queued"   // submitted for workers, of which none has begun it
)

// Resumable reports whether a run with this status can be resumed.
func (s Status) Resumable() bool {
	return s == Running || s == Interrupted || s == Awaiting || s == UserStopped
}

// CanGoOn reports whether a run with this status can be resumed. retriable is [fsm.Outcome.Retriable], or
// [Run.Retriable].
func (s Status) CanGoOn(retriable bool) bool { return s.Resumable() || s == Failed && retriable }

// StatusOf returns the status of a run that ended so.
func StatusOf(o fsm.Outcome) Status {
	switch o.TerminatedBy {
	case fsm.EndTerminal:
		if o.Failure {
			return Failed
		}
		return Completed
	case fsm.EndMaxSteps, fsm.EndMaxIterations, fsm.EndInterrupted, fsm.EndBudget:
		return Interrupted
	case fsm.EndUserStopped:
		return UserStopped
	case fsm.EndTimeout:
		return TimedOut
	case fsm.EndHandoff, fsm.EndParked, fsm.EndSuspended:
		return Awaiting
	}
	return Failed
}

// Retriable reports whether the run failed because its host refused, and may not do so later.
func (r *Run) Retriable() bool { return r.Limited || r.Refused }

// An Owner is the process of a run. Host, boot, PID namespace and start tell it from a later one with the same pid.
type Owner struct {
	Host string `json:"host,omitempty"`
	Boot string `json:"boot,omitempty"`
	// number of its PID namespace; 0 = unknown, recorded by an earlier version, or the system has none
	PIDNS int64 `json:"pid_ns,omitempty"`
	PID   int   `json:"pid"`
	Start int64 `json:"start,omitempty"` // of the process, milliseconds since the epoch; 0 = unknown
}

// A Sight is what a process can know of an owner by looking for its pid.
type Sight int

// The sights.
const (
	Elsewhere Sight = iota // nothing: it was recorded on another machine, or before this one was started
	Hidden                 // nothing: it is on this machine, in another PID namespace
	Visible                // whether it lives
)

// A Run is what a store knows about one run without reading its history.
type Run struct {
	ID           ID
	RunID        string // 2026-11-21T103405: with the loop's name, its folder in the archive
	Loop         string
	Status       Status // as recorded: a dead run still says running until it is reconciled
	State        string
	Step, Passes int
	MaxSteps     int // effective; 0 = unknown
	StartedAt    time.Time
	UpdatedAt    time.Time
	Elapsed      time.Duration // all segments
	Ended        string        // terminated_by, where known
	Error        string
	Message      string // what its terminal state said last (message:); "" = nothing
	Reason       string // why it ended so, in one line; "" = that was not recorded, or it has not ended
	Ignored      string // which actions failed on the way without changing it; "" = none
	// what became of the merge that it asked for when it completed, as [fsm.Outcome] has it; "" = none was to
	// be made
	Merge string
	// items that failed of the list that decided how it ended; 0 = no list did, or that was not recorded
	FailedItems int
	Unowned     bool // it says running, and nothing names a process that runs it: it is not known whether one does
	Limited     bool // it failed because a rate limit lasted, so it can be resumed all the same
	// it failed because something failed permanently (D29), so it can be resumed once the cause is removed
	Refused bool
	// of a suspended run, what it waits for, as [fsm.Outcome] has it
	SuspendedBy string
	Remedy      string // what a person does first; "" = that is not known

	Owner Owner    // zero where unknown
	Held  bool     // a process owns it: a live process on this host holds its lock, or its lease
	Scope []string // what its owner locks, absolute and resolved; nil where no process owns it
	// until then, by the clock of the store, its owner keeps it without renewing it; zero = it has no lease
	Leased    time.Time
	Lapsed    bool // its owner may live, but let its lease run out: Resume finds out whether it continues
	Unsure    bool // Lapsed, and the owner may be on this machine, out of sight: see Store.SecondLook
	Archived  bool
	Resumable bool // by its status and place; says nothing about a live owner
	Foreign   bool // written by little-loops, and not yet resumed
	// its id before it was archived, if that was another: little-loops makes ids of local times; "" = the same
	Earlier      ID
	Leftover     bool      // archived, and a crash left live files of it behind; Store.Archive removes them
	Reconciled   time.Time // when its owner was found dead; zero = never
	Why          string    // it was interrupted then
	Continuation string

	// in a listing with the runs of other projects, the one that it belongs to, by its name or its real path;
	// "" = unknown
	Project string
	File    string     // the loop file, as recorded; "" where unknown
	SHA256  string     // of the definition the run was started with; "" where unknown
	Options *value.Map // overrides given when it was started, for resume
	Origin  *Origin    // the run it was forked from; nil = none
	Segment int        // how often it was resumed
	Marker  string     // environment marker of the action in flight; "" = none
	Events  string     // path of the event file, for a person; "" where there is none
	Log     string     // path of the state file
	Damage  []string   // what could not be read, each with its file
	// bytes that its records take, as they were when it was listed; 0 = that was not looked at
	Bytes int64
	// when it was read nothing had ever been asked of it: it has no commands. false = it may have some
	Unasked bool
	Unread  error // what kept its journal from being read; Damage names it, too. nil = it was read
	// of a run in the archive, which files its events were in when it was listed, in a form that only the store
	// knows, for [Summaries]; "" = that was not looked at
	Version string

	// of a submitted run that no process owned when it was read; nil = it has none, or that was not read
	Placement *Placement
	Reading   Reading // what more was read of it; nil where Query.Readings did not ask for that, or nothing was read
}

// A Reading is what a store has read of a run in order to list it. It gives more of that without reading it
// again, as the run was then. It belongs to one goroutine.
type Reading interface {
	// Memory returns what Store.Snapshot would.
	Memory(ctx context.Context) (*fsm.Snapshot, error)
	// Definition returns what Store.Definition would.
	Definition(ctx context.Context) ([]byte, error)
	// Events yields what Store.Events would, also those that came since.
	Events(ctx context.Context, after uint64) iter.Seq2[fsm.Event, error]
}

// A Spec describes a run that is about to begin or to continue.
type Spec struct {
	// the id that a new run is to have, or none: then Create fails with ErrTaken; "" = the first one that is
	// free
	ID         ID
	Loop       string
	File       string
	SHA256     string
	Definition []byte // text of the loop file, kept with the run
	Scope      []string
	// more of the scope of a new run, which only one with this id can have: no conflict is looked for; nil =
	// none
	ScopeOf   func(ID) []string
	Singleton bool
	MaxSteps  int
	Options   *value.Map
	Origin    *Origin // of a run that is created; nil = it is no fork
	Owner     Owner
	Ancestors []ID     // runs whose action started us: their scopes are ours too
	Mark      string   // distinguishes the place where the run is recorded from all others
	Around    []string // Ancestors and those recorded elsewhere, each as its Mark and its ID
	StartedAt time.Time
}

// A Journal is the memory of one run that this process owns. Record is for the machine; see fsm.Recorder.
type Journal interface {
	fsm.Recorder
	// Run returns what the store knows about the run now.
	Run() Run
	// Dir is the absolute path of the run's working folder. It exists.
	Dir() string
	// Redefine keeps another text instead of Spec.Definition: a state may run a loop whose name or text is not known
	// before. It is called by the goroutine that calls Record. After an error nothing more is recorded.
	Redefine(ctx context.Context, definition []byte) error
	// Lost is closed when the run was taken over, or when the lease ran out and could not be renewed. The action in
	// flight must be ended at once: another process may start it again. The next Record explains why. nil = the
	// run cannot be lost: it has no lease.
	Lost() <-chan struct{}
	// Removed reports whether the record of the run was removed. What the run does from then on is lost, so its
	// action is to be ended. The next Record says what was removed.
	Removed() bool
	// Epoch is the number of this owner of the run, which grows from owner to owner: what an owner leaves elsewhere
	// is known by it from what an earlier one does. 0 = owners have no numbers.
	Epoch() int64
	// Close releases the run. A run whose last recorded snapshot has an Outcome is archived first; any other
	// stays as it is and counts as interrupted from now on. Close is called once, after the last Record. Its
	// error is an *ArchiveError where all is recorded and only the archive could not take the run, and a *LeftoverError
	// where all is recorded and only other files could not be written or removed.
	Close(ctx context.Context) error
}

// A Source is what a run can be read from: a [Store], or what was written from one. All methods may be called
// concurrently.
type Source interface {
	// Runs returns the runs that match, newest first. A damaged run is listed with what can be read.
	Runs(ctx context.Context, q Query) ([]Run, error)
	// Snapshot returns the memory of a run, brought up to date from its journal, without changing anything.
	Snapshot(ctx context.Context, id ID) (*fsm.Snapshot, error)
	// Definition returns the text of the loop file that a run was begun with, nil where it is not recorded.
	Definition(ctx context.Context, id ID) ([]byte, error)
	// Events yields the history of a run after seq, oldest first. A damaged line is an error of type
	// *DamageError, and reading continues after it. Any other error is the last that is yielded, an
	// *UnreadableError too.
	Events(ctx context.Context, id ID, after uint64) iter.Seq2[fsm.Event, error]
	// Commands returns the commands of a run after number after, in their order: those for all segments, see
	// Command.For. It costs next to nothing where there are none, so that an owner can ask several times a
	// second. A command that cannot be read is missing among them, and the error is a *DamageError beside those
	// that can. An unknown run is ErrNotFound.
	Commands(ctx context.Context, id ID, after uint64) ([]Command, error)
}

// A Store keeps runs. All methods may be called concurrently, also by several processes. One that cannot do all of
// it embeds [Plain].
type Store interface {
	Source
	Controller
	// Create makes a new run, takes its scope and gives it to the caller. Another live run in the way is a
	// *ConflictError. Nothing is listed before the first Record. A run that is to have an id gets that, also
	// where a process died that had made it and had not recorded anything; where another run has it, or had it
	// and is not gone whole, the error is ErrTaken.
	Create(ctx context.Context, spec Spec) (Journal, error)
	// Resume takes over a recorded run that no live process owns, back from the archive if need be, and
	// returns its memory. spec gives the new owner, scope and options. A live owner is a *HeldError, a run
	// that cannot be resumed a *NotResumableError, an unknown one ErrNotFound.
	Resume(ctx context.Context, id ID, spec Spec) (Journal, *fsm.Snapshot, error)
	// Import adds a run as another store recorded it, with its ID, status, times and numbers, whole or not at all. An
	// error of its events ends it. A run that has the ID already is fs.ErrExist. The working folder is not among what
	// is recorded.
	Import(ctx context.Context, r Recorded) error

	// Tail yields the events of a run, newest first, for those who ask the status of a run and not what it did in all
	// its life. What is damaged is left out: Events reports it. Events that carry no number of their own have none
	// here either. The error, the last thing yielded, is ErrNotFound for an unknown run, and that of reading where
	// what is older cannot be read.
	Tail(ctx context.Context, id ID) iter.Seq2[fsm.Event, error]
	// Track returns what reads the events of a run after the one with a number while they are recorded. What came
	// with the Reading of the run is not read again.
	Track(r Run, after uint64) Track
	// Around returns what a run remembered on both sides of an event: as it was recorded last before it, and as it
	// was recorded first with it, or after it. Nothing is changed by asking, and the run may continue meanwhile. Where
	// the store never had that, or does not have it any more, there is no memory, or that of the nearest event that
	// has one; Seq shows which. Bytes that cannot be read in between are a *DamageError.
	Around(ctx context.Context, id ID, seq uint64) (before, after Moment, err error)
	// Count returns how many of the runs that a query selects ended in the same way, began within the same step
	// of time, and are in the archive; those that are not it does not count. Of the Filter no more than Loops,
	// Since and Until is set. It is errors.ErrUnsupported where each record would be read for it.
	Count(ctx context.Context, q Query, within time.Duration) ([]Count, error)
	// Summaries returns the texts that readers worked out from the events of archived runs and the store keeps, so
	// that these are read once. Close is to be called.
	Summaries() Summaries
	// Each yields what Runs returns, in the same order, without holding all of it.
	Each(ctx context.Context, q Query) iter.Seq2[Run, error]
	// Sizes returns how many bytes each of some runs takes: what is recorded about it, and the files of its working
	// folder; 0 for a run that is gone. Symlinks are not followed. listed has [Run.Bytes] of each.
	Sizes(ctx context.Context, ids []ID, listed []int64) ([]int64, error)

	// Crowded reports at once, without reading runs, whether there may be more than n runs among the running ones;
	// false where that is not known.
	Crowded(n int) bool
	// SecondLook waits for half the length of a lease, or until no run is left, and returns those of the runs
	// whose owners did not renew their leases: of a [Run] that is Unsure the lease may have run out although its
	// owner is alive, because the machine slept or its clock was set. Resume looks twice by itself.
	SecondLook(ctx context.Context, ids []ID) ([]ID, error)
	// Interrupt records that a run's owner died and archives it. It is ErrNotFound or *HeldError where that
	// is no longer so.
	Interrupt(ctx context.Context, id ID, at time.Time, why string) error
	// Archive moves a run that has ended out of the way of running ones. It never overwrites.
	Archive(ctx context.Context, id ID) error
	// Tidy does Interrupt or Archive for many runs at once, for far less. It returns an error, or nil, for each that
	// was tried: after ErrBusy no more are, nor when ctx is done.
	Tidy(ctx context.Context, todo []Tidying) []error
	// MarkInterrupted records durably, of runs of this program, what Interrupt would, and returns an error, or
	// nil, for each: that of Interrupt. A run that is marked is shown as interrupted where it is, and Archive, or Tidy,
	// moves it later. A mark is about the segment that is given with it. It returns nil, and marks nothing, where
	// moving runs to the archive does not take long.
	MarkInterrupted(ctx context.Context, todo []Tidying) []error
	// Scrub replaces each text of the record of a run (events, memory, definition, commands) by what change returns
	// for it, and reports whether any became another one. The record is as it was or as it is to be, whenever this
	// process dies. Keys, names and numbers stay. The working folder is not among what is recorded, and neither are
	// copies that a file system or a server keeps of what was overwritten. beside is called once while no process can
	// take the run over; its error is returned. A live owner is a *HeldError, an unknown run
	// ErrNotFound; a run that was not archived yet, or that little-loops wrote, errors.ErrUnsupported. change may be
	// called more than once for a text, and never at once.
	Scrub(ctx context.Context, id ID, change func(text string) string, beside func() error) (bool, error)
	// Remove removes a run permanently: what is recorded about it, and then its logs and its working folder,
	// unless that is another run's, too. It is listed whole or not at all, also if this process dies meanwhile,
	// and Create gives its ID to no other run; Import may bring it back. It does not ask whether the run could
	// be resumed. A live owner is a *HeldError, an unknown run ErrNotFound; a *RemainsError says that the run
	// is gone, but not all of its files.
	Remove(ctx context.Context, id ID) error
	// FinishRemovals removes the rest of runs whose removal was begun by a process that died, as far as it
	// is in the project of this process, and returns their ids. The first Remove does so, too. What live
	// processes are at stays.
	FinishRemovals(ctx context.Context) ([]ID, error)
	Close() error
}

// A Tidying is what Interrupt, or else Archive, is to do about one run.
type Tidying struct {
	ID        ID
	Interrupt bool
	At        time.Time // see Store.Interrupt
	Why       string
	Segment   int // of the run, when it was found dead; see Store.MarkInterrupted
}

// MaxSteps returns the cap on steps that holds for a run in a segment, which began with the cap most: it is
// higher where the run remembers that it was raised since. 0 = none. Stores use it.
func MaxSteps(most, segment int, m *fsm.Snapshot) int {
	if most > 0 {
		most += m.Raised.In(segment + 1).Steps
	}
	return most
}

// Live reports whether a run has files among the running ones.
func (r Run) Live() bool { return !r.Archived || r.Leftover }

// ErrNotFound means that there is no such run.
var ErrNotFound = errors.New("no such run")

// ErrName means that a loop's name is too long to make file names of.
var ErrName = errors.New("its name is too long")

// ErrBusy means that another process has held a lock of the store for too long. Nothing was changed.
var ErrBusy = disk.ErrBusy

// ErrRemoved means that a user removed the records of a run while it was running.
var ErrRemoved = errors.New("the file was removed")

// An ArchiveError means that a run that ended, and is recorded whole, could not be moved to the archive. Store.Archive
// can do it later.
type ArchiveError struct {
	ID  ID
	Err error
}

func (e *ArchiveError) Error() string {
	return fmt.Sprintf("run %s cannot be archived: %v", e.ID, e.Err)
}

// Unwrap returns the cause.
func (e *ArchiveError) Unwrap() error { return e.Err }

// A LeftoverError means that a run is recorded whole, but that files beside its journal could not be written or
// removed: its state file, or those that name its owner. The next process that looks for runs without an owner
// does it.
type LeftoverError struct {
	ID  ID
	Err error
}

func (e *LeftoverError) Error() string {
	return fmt.Sprintf("files beside the journal of run %s cannot be brought up to date: %v", e.ID, e.Err)
}

// Unwrap returns the cause.
func (e *LeftoverError) Unwrap() error { return e.Err }

// A RemainsError means that a run was removed, and some of its files could not be.
type RemainsError struct {
	ID  ID
	Err error
}

func (e *RemainsError) Error() string {
	return fmt.Sprintf("run %s is gone, but not all of its files: %v", e.ID, e.Err)
}

// Unwrap returns the cause.
func (e *RemainsError) Unwrap() error { return e.Err }

// A StartingError means that a live process of little-loops is about to record a run, and nothing of it is on
// record yet. It is an ErrNotFound, too.
type StartingError struct {
	ID    ID
	Owner Owner
}

func (e *StartingError) Error() string {
	return fmt.Sprintf("run %s is starting (pid %d), and has recorded nothing yet", e.ID, e.Owner.PID)
}

// Is reports whether target is [ErrNotFound].
func (e *StartingError) Is(target error) bool { return target == ErrNotFound }

// A HeldError means that a live process owns the run.
type HeldError struct {
	ID    ID
	Owner Owner
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("run %s is owned by a live process (pid %d)", e.ID, e.Owner.PID)
}

// A NotResumableError means that a run has finished.
type NotResumableError struct {
	ID     ID
	Status Status
}

func (e *NotResumableError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("what is recorded of run %s cannot be read, so it cannot be resumed", e.ID)
	}
	return fmt.Sprintf("run %s is %s and cannot be resumed", e.ID, e.Status)
}

// A ConflictError means that a live run has locked an overlapping scope.
type ConflictError struct {
	Holder ID // "" = not known yet, as it begins just now in another store
	Loop   string
	Owner  Owner
	Path   string // of the holder's that overlaps
	Since  time.Time
	Store  string // where the holder is recorded, as --store takes it; "" = in the store that was asked
	Lock   string // the file whose flock the holder has; "" = there is none

	// what the holder waits for, where the caller of the store has looked; nil = nothing, or it is not known
	Waits *fsm.Wait
}

func (e *ConflictError) Error() string {
	holder := "a run"
	if e.Holder != "" {
		holder = "run " + string(e.Holder)
	}
	return fmt.Sprintf("%s is locked by %s (pid %d) since %s", e.Path, holder, e.Owner.PID,
		e.Since.Local().Format("2006-01-02 15:04:05 MST"))
}

// A DamageError names recorded bytes of one run that cannot be believed. Others can be read.
type DamageError struct {
	File   string
	Offset int64 // negative: it is no place in the file that is damaged
	What   string
}

func (e *DamageError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: damaged: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s: damaged at byte %d: %s", e.File, e.Offset, e.What)
}

// An UnreadableError means that a store is damaged as a whole, as a database is, and not one of its records:
// nothing more can be read from it.
type UnreadableError struct {
	Store string // the file
	Err   error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("%s: damaged: %v", e.Store, e.Err) }

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

package persistence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence/snapshot"
)

// A CommandKind is what a command asks for. A store keeps any kind; the owner of the run knows what to do about it.
type CommandKind string

// The kinds.
const (
	CommandStop    CommandKind = "stop"    // end, as a user wants it
	CommandDrain   CommandKind = "drain"   // end when the running items of a list have ended; no more are started
	CommandKill    CommandKind = "kill"    // end, and kill the action in flight at once
	CommandPause   CommandKind = "pause"   // enter no state; see PausedSince
	CommandUnpause CommandKind = "unpause" // enter states again
	CommandWake    CommandKind = "wake"    // end the wait that the run is in
	// an event for a state that waits for it: Args says its name, data and who sent it
	CommandSignal CommandKind = "signal"
	// to a question that the run asks: Args says which, the choice and what was said besides
	CommandAnswer CommandKind = "answer"
	CommandExtend CommandKind = "extend" // raise limits: Args says which, and by how much
)

// AnySegment is the segment of a command that is meant for the run, whatever its owner and its number of resumes.
const AnySegment = -1

// A Command is what a user, or a program, asks of a run that another process may own. It is recorded for the
// run, and the run's owner acts on it. Nothing removes it but the removal of the run.
type Command struct {
	N       uint64      // 1, 2, 3 … for one run, over all its segments; Send gives it
	Kind    CommandKind // not ""
	Segment int         // the [Run].Segment it is meant for, which alone acts on it, or AnySegment
	At      time.Time   // when it was sent; Send gives it if it is zero
	Args    *value.Map  // what the kind needs to know; nil = nothing
}

// For reports whether the owner of this segment of the run acts on the command. A stop that was sent as a run
// ended does not stop the segment after it.
func (c Command) For(segment int) bool { return c.Segment == segment || c.Segment == AnySegment }

// A Controller keeps commands: a [Store] does. All methods may be called concurrently, also by several
// processes, and by others than the owner of the run. It does not wake the owner, which looks for commands by
// itself, several times a second.
//
// What holds over the segments of a run is not kept anywhere else: it follows from the commands for any
// segment, in their order. So a pause outlives the process that owned the run; see [PausedSince].
type Controller interface {
	// Send records a command behind all others of the run and returns it with its number and time. It is
	// durable when Send returns, unless the store's Durability is None. Where no owner would ever act on it,
	// nothing is recorded: an *EndedError says that the run finished, or that the segment is over. An unknown
	// run is ErrNotFound; one that little-loops carries on takes no commands: errors.ErrUnsupported. After any
	// other error nothing is recorded, except after an *UncertainError, where no one knows.
	Send(ctx context.Context, id ID, c Command) (Command, error)
	// Commands is that of [Source].
	Commands(ctx context.Context, id ID, after uint64) ([]Command, error)
}

// PausedSince returns when a run was asked to pause, and whether a pause holds for a segment: the last pause or
// unpause for it is a pause. One that is to outlive its owner is sent for AnySegment. all are the commands of
// the run, in their order.
func PausedSince(all []Command, segment int) (since time.Time, paused bool) {
	for _, c := range all {
		switch {
		case !c.For(segment):
		case c.Kind == CommandPause && !paused:
			since, paused = c.At, true
		case c.Kind == CommandUnpause:
			since, paused = time.Time{}, false
		}
	}
	return since, paused
}

// An EndedError means that no owner would act on a command: the run finished, or the segment that it was meant for did.
type EndedError struct {
	ID      ID
	Status  Status // of the run
	Segment int    // that the run is in, or was in last
	Meant   int    // Segment of the command
}

func (e *EndedError) Error() string {
	if e.Meant != AnySegment && e.Meant != e.Segment {
		return fmt.Sprintf("run %s has been resumed since: the command was meant for its segment %d, and it is "+
			"in segment %d", e.ID, e.Meant, e.Segment)
	}
	return fmt.Sprintf("run %s is %s: commands no longer have an effect", e.ID, e.Status)
}

// An UncertainError means that something may have been recorded, or not: the last step of recording it failed,
// and others may have seen it already. Who repeats it without a look may do it twice.
type UncertainError struct {
	Err error // of that step
}

func (e *UncertainError) Error() string {
	return "it may have been recorded all the same: " + e.Err.Error()
}
func (e *UncertainError) Unwrap() error { return e.Err }

// Takes returns nil if an owner of the run, now or later, acts on the command, and otherwise why not: what Send says.
func (r Run) Takes(c Command) error {
	if r.Foreign {
		return fmt.Errorf("run %s was begun by little-loops, which takes no commands: %w", r.ID, errors.ErrUnsupported)
	}
	open := r.Held || r.Resumable
	if c.Segment != AnySegment {
		open = c.Segment == r.Segment && (r.Held || r.Status == Running)
	}
	if !open {
		return &EndedError{ID: r.ID, Status: r.Status, Segment: r.Segment, Meant: c.Segment}
	}
	return nil
}

// MaxCommand is how many bytes a command may have as it is recorded.
const MaxCommand = 1 << 20

// AppendCommand appends a command as it is recorded: a JSON object on one line, without its end, closed with a
// checksum. One that ParseCommand could not read again is an error.
func AppendCommand(dst []byte, c Command) ([]byte, error) {
	m := value.NewMap("n", int64(c.N), "command", string(c.Kind), "at", fsm.FormatTime(c.At), "segment",
		int64(c.Segment))
	if c.Args != nil {
		m.Set("args", c.Args)
	}
	start := len(dst)
	dst = snapshot.AppendSum(value.AppendJSON(dst, m), start)
	if n := len(dst) - start; n > MaxCommand {
		return dst[:start], fmt.Errorf("the command has %d bytes, and at most %d can be recorded", n, MaxCommand)
	}
	if _, err := ParseCommand(slices.Clone(dst[start:])); err != nil {
		return dst[:start], fmt.Errorf("command %q for segment %d cannot be recorded: %w", c.Kind, c.Segment, err)
	}
	return dst, nil
}

// ParseCommand reads what AppendCommand wrote. It changes line.
func ParseCommand(line []byte) (Command, error) {
	text, err := snapshot.CutSum(line)
	if err != nil {
		return Command{}, err
	}
	v, err := value.ParseJSON(text)
	if err != nil {
		return Command{}, err
	}
	m, _ := v.(*value.Map)
	if m == nil {
		return Command{}, errors.New("expected an object")
	}
	n, kind, at, segment := valueOf[int64](m, "n"), valueOf[string](m, "command"), valueOf[string](m, "at"),
		valueOf[int64](m, "segment")
	_, numbered := m.Get("segment")
	if n < 1 || kind == "" || !numbered || segment < AnySegment {
		return Command{}, errors.New("a key is missing, or has a value that it cannot have")
	}
	c := Command{N: uint64(n), Kind: CommandKind(kind), Segment: int(segment), Args: valueOf[*value.Map](m, "args")}
	c.At, err = fsm.ParseTime(at)
	return c, err
}

// valueOf is the value of a key, zero where there is none of this kind.
func valueOf[T any](m *value.Map, key string) T {
	v, _ := m.Get(key)
	t, _ := v.(T)
	return t
}

// Numbered is a command as Send records it, with its number, and a time if it has none.
func (c Command) Numbered(n uint64) Command {
	if c.At.IsZero() {
		c.At = time.Now()
	}
	c.N, c.At = n, c.At.UTC().Truncate(time.Microsecond) // as it is read again
	return c
}

// AppendCommands appends the commands of a run that is imported, a line each, and checks that their numbers rise.
func AppendCommands(dst []byte, all []Command) (_ []byte, err error) {
	last := uint64(0)
	for _, c := range all {
		if c.N <= last {
			return dst, fmt.Errorf("command %d is followed by %d", last, c.N)
		}
		if dst, err = AppendCommand(dst, c); err != nil {
			return dst, err
		}
		dst, last = append(dst, '\n'), c.N
	}
	return dst, nil
}

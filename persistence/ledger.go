package persistence

import (
	"context"
	"errors"
	"time"
)

// An Entry is one thing on record in a [Ledger]: a time of a schedule, a delivery of a webhook, an alarm.
type Entry struct {
	List  string    // what it is one of; not empty, 230 bytes at most as a file name
	Key   string    // its name in the list; as List
	Rev   int64     // how often it was written, from 1
	Open  bool      // something remains to be done about it
	Added time.Time // when it was added, in whole milliseconds and UTC; by the clock of the caller
	Body  []byte    // JSON, 2 MiB at most

	// Last has Add refuse the entry unless its key is behind all keys of the list, byte by byte. It is not recorded.
	Last bool
}

// A Ledger keeps what a project does on its own account and must do once, whichever of several processes does it. All
// methods may be called at once, also by several processes.
type Ledger interface {
	// Add records a new entry, of revision 1. It is durable on return. Where the list has the key, or one
	// behind it and the entry is to be the last, the error is ErrTaken.
	Add(ctx context.Context, e Entry) error
	// Change records an entry instead of the one that was read with its revision, and returns it with the
	// next one. It is durable on return. Where the entry was changed or removed since, the error is ErrChanged.
	Change(ctx context.Context, e Entry) (Entry, error)
	// Entries returns the entries of a list in the order of their keys; none where there is no such list. Where
	// keys are given, only those.
	Entries(ctx context.Context, list string, keys ...string) ([]Entry, error)
	// Trim removes the entries of a list that are not open and were added before a time, but for the last so
	// many of the list.
	Trim(ctx context.Context, list string, before time.Time, keep int) error
}

// MostBody is the length of the body of an [Entry] at most, in bytes.
const MostBody = 2 << 20

// ErrTaken means that another has a name: a run an id, or an entry its key.
var ErrTaken = errors.New("another one has this name")

// ErrChanged means that another process was faster.
var ErrChanged = errors.New("it was changed meanwhile")

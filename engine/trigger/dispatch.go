package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/persistence"
)

// The default queue, and the priorities of jobs.
const (
	DefaultQueue    = "default"
	FirstPriority   = 1
	DefaultPriority = 3
	LastPriority    = 4
)

// A QueueEngine hands jobs to workers: one whose worker is there is handed to one of them. It keeps no truth: a
// job that it lost is placed again. Its methods may be called concurrently, also by several processes.
type QueueEngine interface {
	// Prepare makes the tables of the engine, or brings them up to date. A *NewerError means that a newer program did.
	Prepare(ctx context.Context) error
	// Place queues a job, unless the run has one already, or there are so many of its queue and key that others
	// are to have their turn first: then a worker places it later. It reports whether the job is queued.
	Place(ctx context.Context, j persistence.Job) (bool, error)
	// Arrange changes what is queued to what plan says of it, in one transaction. Where another process is at
	// it, nothing is done.
	Arrange(ctx context.Context, plan func(queued map[persistence.ID]Ticket) (QueuePlan, error)) error
	// Cancel takes the job of a run out of the queue, whether a worker has it or not. The run itself is the store's.
	Cancel(ctx context.Context, id persistence.ID) error
	// Work hands jobs of channels to do, at most slots at once, until ctx ends. It returns when every call of
	// do has. When do reports false the job is handed to others.
	Work(ctx context.Context, w Subscription, do func(context.Context, persistence.ID) bool) error
	Close() error
}

// A NewerError means that a newer program made the tables of an engine.
type NewerError struct {
	What       string
	Has, Knows int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s have version %d, and this program knows versions up to %d: a newer one made "+
		"them, use that", e.What, e.Has, e.Knows)
}

// A Subscription is what a worker takes jobs of.
type Subscription struct {
	Worker   string
	Slots    int
	Channels []string
	More     <-chan string // channels that it is to take jobs of from then on
}

// A Ticket is what an engine holds of a run that is queued, or that a worker has.
type Ticket struct {
	Taken  bool      // a worker has it
	Worker string    // that one, by its id
	Since  time.Time // it was placed, by the clock of the database
}

// A QueuePlan is how a queue is to change.
type QueuePlan struct {
	Place   []persistence.Job // are queued
	Replace []persistence.Job // the same, instead of what is there: what a worker that is gone had is void
	Drop    []persistence.ID  // are taken out
}

// QueueChannel is the name under which jobs of a queue that need these labels are queued, and this mode of
// files: "" is persistence.FilesPinned.
func QueueChannel(queue, files string, labels []string) string {
	labels = slices.Clone(labels)
	if !pinned(files) {
		labels = append(labels, "\x00"+files) // which no label is
	}
	if len(labels) == 0 {
		return queue
	}
	slices.Sort(labels)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(labels), "\x00")))
	return queue + "-" + hex.EncodeToString(sum[:8])
}

var queueName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`) })

// CheckQueue returns an error unless a text can be the name of a queue.
func CheckQueue(name string) error {
	if len(name) > 40 || !queueName().MatchString(name) {
		return fmt.Errorf("%q is no name of a queue: up to 40 letters a-z and digits, with single dashes and "+
			"underscores between them", name)
	}
	return nil
}

func pinned(files string) bool { return files == "" || files == persistence.FilesPinned }

// ChannelOf is the channel of a job.
func ChannelOf(j persistence.Job) string { return QueueChannel(j.Queue, j.Files, j.Labels) }

// Fits reports whether a worker of a queue with these labels may have a job, to which files get in this mode.
func Fits(j persistence.Job, queue, files string, labels []string) bool {
	return j.Queue == queue && (j.Files == files || pinned(j.Files) && pinned(files)) &&
		!slices.ContainsFunc(j.Labels, func(l string) bool { return !slices.Contains(labels, l) })
}

// Window is how many jobs of one queue and key are queued beyond those that workers have: those of other keys
// come at the latest behind so many.
const Window = 8

// MaxTries is how often a run is tried again that makes no progress; then it is left to its user.
const MaxTries = 5

package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"loops/internal/humanize"
)

// recordWait is how long a run may take until it is on record. A database can be slow.
const recordWait = time.Minute

// keptMessages is how many bytes of the last messages of a process are kept.
const keptMessages = 8 << 10

// A ChildStart is what the process of a run reports when the run is on record, in one line of JSON.
type ChildStart struct {
	ID    string `json:"instance_id"`
	RunID string `json:"run_id"`
	Loop  string `json:"loop"`
	PID   int    `json:"pid"`
	Log   string `json:"log"` // absolute; "" = its output cannot be kept

	Queue *ChildWait `json:"queue,omitempty"` // it waits for other runs first, and has no id yet
}

// A ChildWait is what a process reports that has to wait for other runs before its run begins.
type ChildWait struct {
	ID   string `json:"id"`   // of its place in the queue
	Text string `json:"text"` // what it waits for, for a person
}

// Report writes the line for the process that waits for it, which may have ended.
func (s ChildStart) Report(to io.Writer) {
	if b, err := json.Marshal(s); err == nil {
		_, _ = to.Write(append(b, '\n'))
	}
}

// ReportRefusal writes why the run does not begin, for the process that waits for [Start.Report], which may have ended.
func ReportRefusal(to io.Writer, reason string) {
	if b, err := json.Marshal(reason); err == nil {
		_, _ = to.Write(append(b, '\n'))
	}
}

// A Child is a run that a process of this program carries, watched until it ends.
type Child struct {
	Process *os.Process
	Ended   <-chan struct{} // closed when the process has ended

	life *os.File // nil = it is not bound to this process
	code int      // of its end; valid when Ended is closed, as is
	said []byte   // the end of what it said

	reason string // why the run did not begin; valid when Ended is closed; "" = it began, or that is not known
}

// Release has a bound run stop, so that it can be resumed. It may be called again.
func (c *Child) Release() {
	if c.life != nil {
		_ = c.life.Close() // nothing was written
	}
}

// End returns the exit code of a process that has ended and the end of what it said.
func (c *Child) End() (code int, said []byte) {
	<-c.Ended
	return c.code, c.said
}

// An EarlyError is the end of a process before its run was on record.
type EarlyError struct {
	Code   int
	Said   []byte // all that it printed, in lines; may be empty
	Reason string // why the run did not begin, in lines; "" = the process did not report it
}

func (e *EarlyError) Error() string { return string(e.Said) }

// Notes returns what the process printed before the reason, in lines.
func (e *EarlyError) Notes() string {
	said := string(e.Said)
	if i := strings.LastIndex(said, e.Reason); e.Reason != "" && i >= 0 {
		said = strings.TrimSuffix(said[:i], "loops: ") + strings.TrimPrefix(said[i+len(e.Reason):], "\n")
	}
	return strings.TrimRight(said, "\n")
}

// Text returns the reason, an empty line, and what the process printed before it, in lines; "" = it printed nothing.
func (e *EarlyError) Text() string {
	notes := e.Notes()
	if e.Reason == "" || notes == "" {
		return e.Reason + notes
	}
	return e.Reason + "\n\n" + notes
}

// Begin spawns a process for the run and returns when the run is on record. A process that ends before that is
// an [EarlyError]; one that takes longer than a minute, or than ctx allows, is asked to stop, which undoes what
// it began.
func (h Handover) Begin(ctx context.Context, env []string) (*Child, ChildStart, error) {
	p, err := h.Spawn(env)
	if err != nil {
		return nil, ChildStart{}, fmt.Errorf("a process for the run cannot be started: %w", err)
	}
	ended := make(chan struct{})
	c := &Child{Process: p.Cmd.Process, Ended: ended, life: p.Life}
	recorded := make(chan ChildStart, 1)
	go c.watch(p, recorded, ended) // until the run ends, or this process

	ctx, cancel := context.WithTimeout(ctx, recordWait)
	defer cancel()
	select {
	case start, ok := <-recorded:
		if ok {
			return c, start, nil
		}
		code, said := c.End()
		return nil, start, &EarlyError{code, said, c.reason}
	case <-ctx.Done():
		_ = c.Process.Signal(syscall.SIGTERM) // before it is on record that undoes it
		return nil, ChildStart{}, errors.New("the run was not on record within " + humanize.Duration(recordWait) +
			" and was stopped")
	}
}

// watch passes on that the run is on record, and reads what its process says until it has ended.
func (c *Child) watch(p *ChildProcess, recorded chan<- ChildStart, ended chan<- struct{}) {
	defer close(ended)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(recorded)
		var start ChildStart
		var line json.RawMessage
		switch { // a process that ends without a line died
		case json.NewDecoder(p.Report).Decode(&line) != nil:
		case json.Unmarshal(line, &c.reason) == nil: // refused
		case json.Unmarshal(line, &start) == nil:
			recorded <- start
		}
		_ = p.Report.Close()
	}()
	tail := &tail{}
	_, _ = io.Copy(tail, p.Messages)
	<-read
	c.said, c.code = tail.kept, p.Wait()
	_ = p.Messages.Close()
	c.Release()
}

// A tail keeps the last whole lines of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - keptMessages; over > 0 {
		if end := bytes.IndexByte(t.kept[over:], '\n'); end >= 0 {
			over += end + 1
		}
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// Children are runs that end with this process. It may be used by several goroutines at once.
type Children struct {
	mu  sync.Mutex
	all []*Child // guarded by mu
}

// Add has a run end with this process.
func (s *Children) Add(c *Child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, c)
}

// Stop asks all of them to stop, and waits for their end, for all together as long as grace.
func (s *Children) Stop(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		select {
		case <-c.Ended:
		default:
			_ = c.Process.Signal(syscall.SIGTERM) // it may end just now
		}
	}
	limit := time.After(grace)
	for _, c := range s.all {
		select {
		case <-c.Ended:
		case <-limit:
			return
		}
	}
}

package terminal

import (
	"errors"
	"io"
	"sync"
	"syscall"
	"time"
)

// holdBack is how long lines may wait for others before they are written. A transition prints several.
const holdBack = 10 * time.Millisecond

// A Sink is a writer that swallows everything after the first error: a reader that has gone away is no reason
// to end a run. It may be used by several goroutines at once.
type Sink struct {
	w     io.Writer
	delay time.Duration // how long text may be held back to go out with more; 0 = not at all

	mu   sync.Mutex
	err  error  // guarded by mu; the first one
	held []byte // guarded by mu
}

// maxHeld is how much text is held back at most, in bytes.
const maxHeld = 32 << 10

func (s *Sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delay > 0 && len(s.held) == 0 {
		time.AfterFunc(s.delay, s.Flush)
	}
	s.held = append(s.held, b...)
	if s.delay == 0 || len(s.held) > maxHeld {
		s.release()
	}
	return len(b), nil
}

// Flush writes what is held back.
func (s *Sink) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release()
}

func (s *Sink) release() {
	if len(s.held) > 0 && s.err == nil {
		_, s.err = s.w.Write(s.held)
	}
	s.held = s.held[:0]
}

// Gone reports whether nothing reads any more, as far as has been noticed.
func (s *Sink) Gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// Close writes what is held back and returns what went wrong at any time. That nothing reads on is nothing wrong.
func (s *Sink) Close() error {
	s.Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, syscall.EPIPE) {
		return nil
	}
	return s.err
}

// NewSink returns a sink that writes at once.
func NewSink(w io.Writer) *Sink { return &Sink{w: w} }

// NewBatchedSink returns a sink that may hold lines back for a moment, to write them together.
func NewBatchedSink(w io.Writer) *Sink { return &Sink{w: w, delay: holdBack} }

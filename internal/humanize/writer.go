package humanize

import (
	"io"
	"sync"
)

// A PlainWriter passes on what is written to it, harmless. Text may be cut anywhere between two writes. It may
// be used by several goroutines at once.
type PlainWriter struct {
	w io.Writer

	mu     sync.Mutex
	rest   []byte // guarded by mu: the beginning of a character or a mark
	before func() // guarded by mu; nil = nothing
}

// Before has do called before each write to the writer behind, instead of what was given before: a line that is
// drawn on a terminal is erased so. do may not write to w.
func (w *PlainWriter) Before(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = do
}

// NewPlainWriter returns a Writer to w.
func NewPlainWriter(w io.Writer) *PlainWriter { return &PlainWriter{w: w} }

// Unwrap returns the writer behind w, for what is to be written as it is.
func (w *PlainWriter) Unwrap() io.Writer { return w.w }

// Write writes b with at most one write to the writer behind. It keeps the beginning of a character whose end
// is missing.
func (w *PlainWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := b
	if len(w.rest) > 0 {
		text = append(w.rest, b...)
	}
	out, rest := harmless(nil, text, filter{more: true})
	w.rest = append([]byte(nil), text[len(text)-rest:]...)
	return len(b), w.pass(out)
}

// Flush writes the beginning of a character that was not completed.
func (w *PlainWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, _ := harmless(nil, w.rest, filter{})
	w.rest = nil
	return w.pass(out)
}

func (w *PlainWriter) pass(out []byte) error {
	if len(out) == 0 {
		return nil
	}
	if w.before != nil {
		w.before()
	}
	n, err := w.w.Write(out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	return err
}

package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"loops/internal/testenv"
)

type brokenWriter struct{ calls int }

func (w *brokenWriter) Write([]byte) (int, error) { w.calls++; return 0, errors.New("gone") }

// A reader that has gone away is written to once and never again.
func TestSink(t *testing.T) {
	t.Parallel()
	w := &brokenWriter{}
	s := NewSink(w)
	for range 3 {
		if n, err := s.Write([]byte("abc")); n != 3 || err != nil {
			t.Fatalf("%d %v", n, err)
		}
	}
	if w.calls != 1 {
		t.Errorf("%d writes", w.calls)
	}
}

// Lines that are held back go out in time, in order, and at the latest when asked for.
func TestSinkHoldsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		s := NewBatchedSink(&b)
		fmt.Fprint(s, "one ")
		fmt.Fprint(s, "two ")
		s.mu.Lock() // the timer of the sink writes
		if b.Len() != 0 {
			t.Errorf("written at once: %q", &b)
		}
		s.mu.Unlock()
		testenv.Pass(2 * holdBack)
		synctest.Wait()
		if b.String() != "one two " {
			t.Errorf("after the delay: %q", &b)
		}
		fmt.Fprint(s, "three")
		s.Flush()
		if b.String() != "one two three" {
			t.Errorf("after flush: %q", &b)
		}
		fmt.Fprint(s, strings.Repeat("x", maxHeld))
		if b.Len() != len("one two three") {
			t.Errorf("%d bytes written before there were too many", b.Len())
		}
		fmt.Fprint(s, "y")
		if b.Len() != len("one two three")+maxHeld+1 {
			t.Errorf("%d bytes written of a long text", b.Len())
		}
	})
}

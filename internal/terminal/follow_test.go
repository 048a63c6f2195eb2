package terminal

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A screen keeps what is written to it.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestManyRunsShowNothing_35_2_24: stats of 20,000 runs took half a minute in which nothing was seen.
func TestManyRunsShowNothing_35_2_24(t *testing.T) {
	t.Parallel()
	var s screen
	now := time.Now()
	m := &Meter{Out: &s, What: "Reading", Width: 80, Clock: func() time.Time { now = now.Add(time.Second); return now }}
	var n atomic.Int64
	n.Store(4120)
	end := m.Follow(&n)
	testenv.Wait(t, "the number", func() bool { return strings.Contains(s.String(), "\rReading  4120  ") })
	end()
	end()
	shown := s.String()
	if !strings.HasSuffix(shown, "\r\x1b[K") || strings.HasSuffix(shown, "\r\x1b[K\r\x1b[K") {
		t.Errorf("it ends with %q", shown[max(0, len(shown)-40):])
	}
	var none *Meter
	if none.Follow(&n) != nil {
		t.Error("a meter that shows nothing follows")
	}
}

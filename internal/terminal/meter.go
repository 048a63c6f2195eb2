package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"loops/internal/humanize"
)

const (
	barAfter  = 500 * time.Millisecond // shorter work shows no bar
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second // which is when the first line comes, too
	barWidth  = 24
)

// A Meter shows how far work has come. A nil Meter shows nothing. End may be called at any time, the other
// methods by one goroutine.
type Meter struct {
	Out   io.Writer
	What  string             // is done: "Removing runs"
	Width int                // columns of the terminal; 0 = Out is not one
	ASCII bool               // the terminal has no other characters
	Count func(int64) string // nil = as a number
	Clock func() time.Time   // nil = time.Now

	began, last time.Time

	mu    sync.Mutex
	drawn bool // guarded by mu: the bar is in the last line of the terminal
}

// Set says that so much of total is done; a total of 0 is not known.
func (m *Meter) Set(done, total int64) {
	if m == nil {
		return
	}
	now := time.Now
	if m.Clock != nil {
		now = m.Clock
	}
	at := now()
	first, every := lineEvery, lineEvery
	if m.Width > 0 {
		first, every = barAfter, barEvery
	}
	switch {
	case m.began.IsZero():
		m.began, m.last = at, at
		return
	case at.Sub(m.began) < first, at.Sub(m.last) < every:
		return
	}
	m.last = at
	text := m.text(done, total, at.Sub(m.began))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Width > 0 {
		m.drawn = true
		text = "\r" + humanize.Cut(text, max(1, m.Width-1)) + "\x1b[K"
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(m.Out, text) // progress that cannot be shown stops no work
}

// End takes the bar away; the next Set draws it again.
func (m *Meter) End() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drawn {
		_, _ = io.WriteString(m.Out, "\r\x1b[K")
		m.drawn = false
	}
}

// Above has each write to these writers take the bar away first, as far as they are a [humanize.PlainWriter],
// and returns m.
func (m *Meter) Above(writers ...io.Writer) *Meter {
	for _, w := range writers {
		if p, ok := w.(*humanize.PlainWriter); ok {
			p.Before(m.End)
		}
	}
	return m
}

func (m *Meter) text(done, total int64, took time.Duration) string {
	count := m.Count
	if count == nil {
		count = func(n int64) string { return fmt.Sprint(n) }
	}
	rate := float64(done) / took.Seconds()
	parts := []string{m.What}
	if m.Width > 0 && total > 0 {
		parts = append(parts, m.bar(done, total))
	}
	if total > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", count(done), count(total)),
			fmt.Sprintf("%d%%", 100*min(done, total)/total))
	} else {
		parts = append(parts, count(done))
	}
	parts = append(parts, count(int64(rate))+"/s")
	if left := time.Duration(float64(total-done) / max(rate, 1e-9) * float64(time.Second)); total > done &&
		rate > 0 && left < 1000*time.Hour {
		parts = append(parts, humanize.Seconds(left)+" left")
	}
	return strings.Join(parts, "  ")
}

func (m *Meter) bar(done, total int64) string {
	full, empty := "█", "░"
	if m.ASCII {
		full, empty = "#", "-"
	}
	n := int(barWidth * min(done, total) / total)
	return strings.Repeat(full, n) + strings.Repeat(empty, barWidth-n)
}

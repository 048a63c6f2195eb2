package action

import (
	"io"
	"time"
)

// A watcher calls back when nothing was heard for some time. A nil one never does.
type watcher struct {
	most  time.Duration
	timer *time.Timer
}

func watch(most time.Duration, silent func()) *watcher {
	if most <= 0 {
		return nil
	}
	return &watcher{most, time.AfterFunc(most, silent)}
}

func (w *watcher) heard() {
	if w != nil {
		w.timer.Reset(w.most)
	}
}

func (w *watcher) stop() {
	if w != nil {
		w.timer.Stop()
	}
}

// reader passes on what r reads, and notes that something came.
func (w *watcher) reader(r io.Reader) io.Reader { return &heardReader{r, w} }

type heardReader struct {
	r io.Reader
	w *watcher
}

func (h *heardReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if n > 0 {
		h.w.heard()
	}
	return n, err
}

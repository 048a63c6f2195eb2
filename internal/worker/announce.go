package worker

import (
	"context"
	"time"
)

// announceFor is how long a worker that begins waits for a database that is slow or away for a moment.
const announceFor = 20 * time.Second

// announce reports the worker for the first time. An error that may pass is no end of it: it is tried again.
func (w *worker) announce(ctx context.Context, passing func(error) bool) error {
	for end := time.Now().Add(announceFor); ; {
		err := w.beat(ctx)
		if err == nil || !passing(err) || time.Now().After(end) {
			return err
		}
		w.trouble(err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(w.lease / 6):
		}
	}
}

package engine

import (
	"errors"

	"loops/internal/humanize"
	"loops/persistence"
)

// errLost stops a run whose lease is gone.
var errLost = errors.New("this process no longer owns the run")

// whileOwned calls run, and lost if the run is lost to another process before run returns. It reports whether it was.
func whileOwned(j persistence.Journal, lost, run func()) (gone bool) {
	out := j.Lost()
	if out == nil {
		run()
		return false
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
		case <-out:
			gone = true
			lost()
		}
	}()
	run()
	close(stop)
	<-done
	return gone
}

// takenOver says that another process has the run now, or none has.
func takenOver(run persistence.Run, fenced *persistence.FencedError) error {
	next := textf("See how it runs: %s", Do(OpStatus, run.Loop))
	if fenced.Owner == (persistence.Owner{}) {
		next = textf("Resume with: %s", Do(OpResume, string(run.ID)))
	}
	return &Refusal{
		Kind: Conflict,
		Text: textf("%s; this one stopped, and recorded nothing after that\n%s", humanize.OneLine(fenced), next),
		Err:  fenced,
	}
}

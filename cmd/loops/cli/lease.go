package cli

import (
	"errors"

	"loops/persistence"
)

// errLost stops a run whose lease is gone.
var errLost = errors.New("this process does not own the run any more")

// whileOwned calls run, and lost if the run is lost to another process before run returns. It says whether it was.
func whileOwned(j persistence.Journal, lost, run func()) (gone bool) {
	leased, ok := j.(persistence.Leased)
	if !ok {
		run()
		return false
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
		case <-leased.Lost():
			gone = true
			lost()
		}
	}()
	run()
	close(stop)
	<-done
	return gone
}

// takenOver says that another process has the run now, or nobody.
func (a *app) takenOver(run persistence.Run, fenced *persistence.FencedError) error {
	next := "See how it goes on: " + a.command("status", run.Loop)
	if fenced.Owner == (persistence.Owner{}) {
		next = "Go on with it: " + a.command("resume", string(run.ID))
	}
	return failure(exitConflict, "%s; this one stopped, and recorded nothing after that\n%s", oneLine(fenced), next)
}

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"loops/engine"
	"loops/fsm"
)

// signalStops collects the signals that stop a run, the one that wakes it (loops retry-now) and the one that
// announces a pause (loops pause). Signals that arrive before During was called are kept.
type signalStops struct {
	ch   chan os.Signal
	usr1 chan os.Signal // a person wants the run to wait no longer
	usr2 chan os.Signal // a person paused the run, or let it continue
}

// signalEnds are the signals that ask any command to end. Where nothing catches SIGQUIT (Ctrl-\), the Go
// runtime prints all goroutines and exits, and leaves the children of this process behind; SIGABRT remains for
// that.
var signalEnds = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// signalCatch begins to collect. SIGHUP stays ignored where it is (nohup).
func signalCatch() *signalStops {
	s := &signalStops{make(chan os.Signal, 8), make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signalDenyTerminal()
	// For good: where nothing catches them, they end the process.
	signal.Notify(s.usr1, syscall.SIGUSR1)
	signal.Notify(s.usr2, syscall.SIGUSR2)
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(s.ch, syscall.SIGHUP)
	}
	return s
}

// signalDenyTerminal has an action that asks the terminal for a password get an error. It inherits that these
// are ignored; else, in the background of the terminal as it is, it would be stopped and wait for ever.
func signalDenyTerminal() { signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU) }

// Release ends it.
func (s *signalStops) Release() { signal.Stop(s.ch) }

// Before calls run, which prepares a run and may have to wait for others, and ends its context with the first signal.
// If run succeeds all the same the signal is kept for During; if it does not, stopped is the name of the signal.
func (s *signalStops) Before(ctx context.Context, run func(context.Context) error) (stopped string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var first os.Signal
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
		case first = <-s.ch:
			cancel(&fsm.Stop{Signal: signalName(first)})
		}
	}()
	err = run(ctx)
	close(stop)
	<-done
	switch {
	case first == nil:
	case err == nil:
		select {
		case s.ch <- first:
		default: // others wait there
		}
	default:
		stopped = signalName(first)
	}
	return stopped, err
}

// sameSignal is how soon after a signal another one, of whatever kind, is the same request: timeout of
// coreutils signals its child and then its group, of which the child is a part, and terminals and supervisors
// send several kinds at once.
const sameSignal = 250 * time.Millisecond

// During calls run, and until it returns handle for each signal that stops it, with how many there have been
// and whether one of them was of this kind. Those that wake the run r, or announce a pause, it passes on.
func (s *signalStops) During(r *engine.Run, handle func(n int, sig os.Signal, again bool), run func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var since time.Time
		seen := map[os.Signal]bool{}
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			case <-s.usr1:
				n--
				r.Wake()
			case <-s.usr2:
				n--
				r.Look()
			case sig := <-s.ch:
				if at := time.Now(); n > 1 && at.Sub(since) < sameSignal {
					n--
				} else {
					since = at
					handle(n, sig, seen[sig])
					seen[sig] = true
				}
			}
		}
	}()
	run()
	close(stop)
	<-done
}

// signalName returns the name of a signal of Ends.
func signalName(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGQUIT:
		return "SIGQUIT"
	}
	return "SIGTERM"
}

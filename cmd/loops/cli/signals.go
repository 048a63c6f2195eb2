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

// A stops collects the signals that stop a run, the one that wakes it (see retrynow.go) and the one that tells of a pause
// (see hold.go). Signals that arrive before during was called are kept.
type stops struct {
	ch   chan os.Signal
	usr1 chan os.Signal // a person wants the run to wait no longer
	usr2 chan os.Signal // a person paused the run, or let it continue
}

// ends are the signals that ask any command to end. Where nobody catches SIGQUIT (Ctrl-\), the Go runtime prints all
// goroutines and exits, and leaves the children of this process behind; SIGABRT remains for that.
var ends = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// catchSignals begins to collect. SIGHUP stays ignored where it is (nohup).
func catchSignals() *stops {
	s := &stops{make(chan os.Signal, 8), make(chan os.Signal, 1), make(chan os.Signal, 1)}
	denyTerminal()
	// For good: where nobody catches them, they end the process.
	signal.Notify(s.usr1, syscall.SIGUSR1)
	signal.Notify(s.usr2, syscall.SIGUSR2)
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(s.ch, syscall.SIGHUP)
	}
	return s
}

// denyTerminal has an action that asks the terminal for a password get an error. It inherits that these are ignored; else, in
// the background of the terminal as it is, it would be stopped and wait for ever.
func denyTerminal() { signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU) }

func (s *stops) release() { signal.Stop(s.ch) }

// before calls run, which prepares a run and may have to wait for others, and ends its context with the first signal.
// If run succeeds all the same the signal is kept for during.
func (s *stops) before(ctx context.Context, run func(context.Context) error) error {
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
	err := run(ctx)
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
		name := signalName(first)
		return endedByText(name, "stopped by %s before the run began; nothing was run", name)
	}
	return err
}

// sameSignal is how soon after a signal another of its kind is the same one: timeout of coreutils signals its child and then
// its group, of which the child is a part.
const sameSignal = 250 * time.Millisecond

// during calls run, and until it returns handle for each signal that stops it, with how many there have been. Those that wake
// the run r, or tell it of a pause, it passes on.
func (s *stops) during(r *engine.Run, handle func(n int, sig os.Signal), run func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var last os.Signal
		var since time.Time
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
				if at := time.Now(); sig == last && at.Sub(since) < sameSignal {
					n--
				} else {
					last, since = sig, at
					handle(n, sig)
				}
			}
		}
	}()
	run()
	close(stop)
	<-done
}

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

// untilSignal calls do with a context that a signal ends.
func untilSignal(ctx context.Context, do func(context.Context) error) error {
	stops := catchSignals()
	defer stops.release()
	return stops.before(ctx, do)
}

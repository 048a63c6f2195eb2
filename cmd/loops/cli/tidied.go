package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signalTidied has a signal call tidy before the signal ends the process, until end is called, which calls tidy
// too. It is for work that a signal may end at any place. tidy may be called twice, and at once; nil = there is
// nothing to tidy, and signals are left alone.
func signalTidied(tidy func()) (end func()) {
	if tidy == nil {
		return func() {}
	}
	signals := make(chan os.Signal, 1)
	for _, s := range signalEnds {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	stop := make(chan struct{})
	go func() {
		select {
		case <-stop:
		case s := <-signals:
			tidy()
			signal.Reset(s)
			if number, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(os.Getpid(), number)
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(stop)
		tidy()
	})
}

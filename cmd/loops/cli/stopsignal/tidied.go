package stopsignal

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Tidied has a signal call tidy before it ends the process as it would without this, until the function that it returns is called, which calls
// tidy too. So it is for work that a signal may end at any place. tidy may be called twice; nil = there is nothing to tidy, and a signal does what it did.
func Tidied(tidy func()) (end func()) {
	if tidy == nil {
		return func() {}
	}
	signals := make(chan os.Signal, 1)
	for _, s := range Ends {
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

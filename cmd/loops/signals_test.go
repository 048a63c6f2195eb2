package main_test

import (
	"os"
	"os/signal"
	"syscall"
)

// defaultSignals lets the programs of tests have the default action for signals that this process was started
// to ignore: under nohup that is SIGHUP, in a shell's background SIGINT and SIGQUIT. A signal that is caught
// here has its default action in a child.
func defaultSignals() {
	ends := make(chan os.Signal, 1)
	for _, sig := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGPIPE,
	} {
		if signal.Ignored(sig) {
			signal.Notify(ends, sig) // nobody reads it: here it stays without effect
		}
	}
}

package stopsignal

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestTimeoutSignalsTwice: timeout of coreutils signals its child and then the group of that child, and the second signal
// within milliseconds counted as another, which kills what cleans up.
func TestTimeoutSignalsTwice(t *testing.T) {
	s := &Stops{ch: make(chan os.Signal, 8)}
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, os.Interrupt} {
		s.ch <- sig
	}
	type call struct {
		n   int
		sig os.Signal
	}
	var got []call
	seen := make(chan struct{}, 8)
	s.During(nil, func(n int, sig os.Signal) {
		got = append(got, call{n, sig})
		seen <- struct{}{}
	}, func() {
		for range 2 {
			select {
			case <-seen:
			case <-time.After(time.Minute):
			}
		}
	})
	if want := []call{{1, syscall.SIGTERM}, {2, os.Interrupt}}; !slices.Equal(got, want) {
		t.Errorf("handled %v, want %v", got, want)
	}
}

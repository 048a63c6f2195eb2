package cli

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"loops/internal/testenv"
)

// TestTimeoutSignalsTwice: timeout of coreutils signals its child and then the group of that child, and the
// second signal within milliseconds counted as another, which kills what cleans up.
func TestTimeoutSignalsTwice(t *testing.T) {
	signals(t, []sent{{0, syscall.SIGTERM}, {time.Millisecond, syscall.SIGTERM}, {time.Second, syscall.SIGTERM}},
		call{1, syscall.SIGTERM, false}, call{2, syscall.SIGTERM, true})
}

// TestAnotherKindIsNotAgain: SIGINT, and SIGTERM 50 ms later, were taken for two requests, and the message was
// "Received SIGTERM again".
func TestAnotherKindIsNotAgain(t *testing.T) {
	signals(t, []sent{
		{0, os.Interrupt},
		{50 * time.Millisecond, syscall.SIGTERM},
		{time.Second, syscall.SIGTERM},
		{time.Second, syscall.SIGTERM},
		{time.Second, os.Interrupt},
	},
		call{1, os.Interrupt, false}, call{2, syscall.SIGTERM, false}, call{3, syscall.SIGTERM, true},
		call{4, os.Interrupt, true})
}

type sent struct {
	after time.Duration
	sig   os.Signal
}

type call struct {
	n     int
	sig   os.Signal
	again bool
}

// signals sends signals, each some time after the one before, and compares how they are handled.
func signals(t *testing.T, all []sent, want ...call) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &signalStops{ch: make(chan os.Signal, 8)}
		var got []call
		s.During(nil, func(n int, sig os.Signal, again bool) { got = append(got, call{n, sig, again}) }, func() {
			for _, next := range all {
				testenv.Pass(next.after)
				s.ch <- next.sig
				synctest.Wait()
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

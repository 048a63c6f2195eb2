package action

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
)

// An action for which there was no process failed at once.
func TestPatiently(t *testing.T) {
	for no, want := range map[syscall.Errno]bool{
		syscall.EAGAIN: true, syscall.ENOMEM: true, syscall.EMFILE: true, syscall.ENFILE: true, syscall.ENOENT: false,
		syscall.E2BIG: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			tries, began := 0, time.Now()
			_, err := patiently(t.Context(), func() (fsm.Result, error) {
				tries++
				return fsm.Result{}, fmt.Errorf("no pipe can be made: %w", no)
			})
			if errors.Is(err, fsm.ErrScarce) != want || !errors.Is(err, no) || (tries == 3) != want || tries != 3 &&
				tries != 1 {
				t.Errorf("%v: %d tries, %v", no, tries, err)
			}
			if took := time.Since(began); want && took != 2100*time.Millisecond {
				t.Errorf("%v: the tries took %s", no, took)
			}
		})
	}
	tries := 0
	_, err := patiently(context.Background(), func() (fsm.Result, error) {
		tries++
		return fsm.Result{}, ranError{fmt.Errorf("its output cannot be written: %w", syscall.EMFILE)}
	})
	if tries != 1 || errors.Is(err, fsm.ErrScarce) {
		t.Errorf("an action that ran was started %d times: %v", tries, err)
	}
}

package process

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killWait is how long End waits for processes it killed. Only one that hangs in the kernel needs so long.
const killWait = 5 * time.Second

// End ends processes: TERM for each, KILL for those that are still there after grace, and then waits until they
// are gone, five seconds at most. When ctx ends, the rest of grace is skipped. It returns how many that were
// alive at the call are gone now; the error names the others.
func End(ctx context.Context, ps []Identity, grace time.Duration) (ended int, err error) {
	left := living(ps)
	began := len(left)
	for _, id := range left {
		if e := id.Signal(syscall.SIGTERM); e != nil {
			err = e
		}
		// A stopped process sees TERM only when it continues.
		_ = id.Signal(syscall.SIGCONT)
	}
	left = await(ctx, left, grace)
	for _, id := range left {
		if e := id.Signal(syscall.SIGKILL); e != nil {
			err = e
		}
	}
	left = await(context.WithoutCancel(ctx), left, killWait)
	if len(left) == 0 {
		return began, nil
	}
	pids := make([]string, len(left))
	for i, id := range left {
		pids[i] = strconv.Itoa(id.PID)
	}
	if err == nil {
		err = context.DeadlineExceeded
	}
	return began - len(left), fmt.Errorf("cannot end pid %s: %w", strings.Join(pids, ", "), err)
}

func living(ps []Identity) []Identity {
	return slices.DeleteFunc(slices.Clone(ps), func(id Identity) bool {
		alive, _ := id.Alive()
		return !alive
	})
}

// await waits until no process is left, ctx ends or the time is over, and returns those that are left.
func await(ctx context.Context, ps []Identity, limit time.Duration) []Identity {
	over := time.NewTimer(limit)
	defer over.Stop()
	pause := time.Millisecond
	for len(ps) > 0 {
		select {
		case <-ctx.Done():
			return living(ps)
		case <-over.C:
			return living(ps)
		case <-time.After(pause):
		}
		pause = min(2*pause, 50*time.Millisecond)
		ps = living(ps)
	}
	return nil
}

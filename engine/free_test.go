package engine

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"loops/persistence"
)

func TestUntilFree(t *testing.T) {
	t.Parallel()
	const gone = 1 << 30 // no system has so many processes
	dead, living := persistence.Owner{PID: gone}, persistence.Owner{PID: os.Getpid()}
	other := errors.New("other")
	ended := func(_ context.Context, id persistence.ID) bool { return id == "over" }
	for _, c := range []struct {
		name  string
		errs  []error // of each try; the last one again and again
		tries int
		want  error
	}{
		{"free", []error{nil}, 1, nil},
		{"another error", []error{other}, 1, other},
		{"held by a live process", []error{&persistence.HeldError{Owner: living}}, 1, &persistence.HeldError{}},
		{
			"locked by a live process",
			[]error{&persistence.ConflictError{Owner: living}},
			1,
			&persistence.ConflictError{},
		},
		{
			"held by a dead one for a while",
			[]error{&persistence.HeldError{Owner: dead}, &persistence.ConflictError{Owner: dead}, nil},
			3, nil,
		},
		{
			"held by a live process whose run has ended",
			[]error{&persistence.HeldError{ID: "over", Owner: living}, nil},
			2, nil,
		},
		{
			"locked by a live process whose run has ended",
			[]error{&persistence.ConflictError{Holder: "over", Owner: living}, nil},
			2, nil,
		},
		{
			"locked by a run that is not ended",
			[]error{&persistence.ConflictError{Holder: "on", Owner: living}},
			1,
			&persistence.ConflictError{},
		},
		{
			"locked by a run of that name in another store",
			[]error{&persistence.ConflictError{Holder: "over", Store: "elsewhere", Owner: living}},
			1,
			&persistence.ConflictError{},
		},
		{
			"held by a dead one for ever",
			[]error{&persistence.HeldError{Owner: dead}},
			freeTries,
			&persistence.HeldError{},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			err := untilFree(t.Context(), ended, func() error {
				n++
				return c.errs[min(n, len(c.errs))-1]
			})
			if n != c.tries || (err == nil) != (c.want == nil) {
				t.Errorf("%s: %d tries and %v, want %d and %v", c.name, n, err, c.tries, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	held := &persistence.HeldError{Owner: dead}
	if err := untilFree(ctx, ended, func() error { return held }); !errors.Is(err, held) {
		t.Errorf("cancelled: %v", err)
	}
}

package cli

import (
	"context"
	"errors"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/terminal"
	"loops/persistence"
)

// errUnread means that nothing reads any more what is printed.
var errUnread = errors.New("nobody reads on")

// tail calls each for the events of a run after a number, and with follow for those that are still to come,
// until the run ends or its reader is gone. With follow it calls stderr with what actions write to standard
// error meanwhile; nil = that is not wanted.
func (a *program) tail(ctx context.Context, f project.Finder, r persistence.Run, after uint64, follow bool,
	stderr func(file, text string), each func(fsm.Event),
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in := project.Follower{Store: f.Store, ID: r.ID, After: after, Stderr: stderr}
	show := func(e fsm.Event, err error) {
		if err != nil {
			terminal.Say(a.Err, "loops: %v; reading continues after it\n", err)
			return
		}
		each(e)
		if a.out.Gone() {
			cancel(errUnread)
		}
	}
	var err error
	if follow {
		_, err = in.Follow(ctx, r, show)
	} else {
		err = in.Read(ctx, r, true, show)
	}
	if errors.Is(err, errUnread) {
		return nil
	}
	return err
}

// damaged reports damage in the records of a run.
func (a *program) damaged(err error, then string) { terminal.Say(a.Err, "loops: %v; %s\n", err, then) }

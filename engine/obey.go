package engine

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"loops/fsm"
	"loops/persistence"
)

// How often the owner of a run looks for commands that it was not woken for. In files that is a look at the length of
// one.
const (
	filesLook    = 250 * time.Millisecond
	databaseLook = 750 * time.Millisecond
	removalLook  = time.Second // whether the files of the run are still there
)

// errRemoved stops a run whose record is gone.
var errRemoved = errors.New("the record of the run was removed while it ran")

// A subordinate acts on the commands of a run that this process carries. It is used by one goroutine.
type subordinate struct {
	run     *Run
	store   persistence.Controller
	id      persistence.ID
	segment int
	last    uint64 // number of the last command that was read
	tell    func(Notice)
	removed func() error // why the run cannot continue, once what it needs was removed
	looked  time.Time    // when removed was asked
	unread  bool         // that commands cannot be read was reported
	ending  bool         // it was removed
	stopped bool         // a stop was reported
	drained bool         // the channel of the run is closed
}

// obey acts on commands until ctx ends. It begins when on is closed, by which the segment of the run is on
// record: one that recorded nothing gives its number, and so its commands, to the next one.
func (s *subordinate) obey(ctx context.Context, on <-chan struct{}, every time.Duration) {
	select {
	case <-on:
	case <-ctx.Done():
		return
	}
	for {
		next := every
		if s.run.inbox.awaited() {
			next = min(next, signalLook)
		}
		select {
		case <-time.After(next):
		case <-s.run.look:
		case <-ctx.Done():
			return
		}
		s.read(ctx)
		s.look()
	}
}

// look ends the run if what it needs was removed: else an action would work for hours for nothing, and a
// question wait for ever.
func (s *subordinate) look() {
	if s.ending || time.Since(s.looked) < removalLook {
		return
	}
	s.looked = time.Now()
	if err := s.removed(); err != nil {
		s.ending = true
		s.tell(Said{Run: s.id, Text: textf("The run cannot continue: %s. Ending the action, then the run.", err)})
		s.run.stop(err)
	}
}

// read acts on what was asked for since the last time. What cannot be read now is looked for again.
func (s *subordinate) read(ctx context.Context) {
	commands, err := s.store.Commands(ctx, s.id, s.last)
	if errors.Is(err, fs.ErrPermission) && !s.unread {
		s.unread = true
		s.tell(Said{
			Run: s.id,
			Text: textf("The run cannot read what it is sent (stop, pause, answers, signals): %v. Give the file to "+
				"the user of this process.", err), Problem: true,
		})
	}
	for _, c := range commands {
		s.last = max(s.last, c.N)
		if c.For(s.segment) {
			s.act(c)
		}
	}
}

func (s *subordinate) act(c persistence.Command) {
	switch c.Kind {
	case persistence.CommandStop:
		if !s.stopped {
			s.tell(Said{
				Run:  s.id,
				Text: textf("Asked to stop by %s: ending the action, then the run.", Do(OpStop, "")),
			})
		}
		s.stop(from(c))
	case persistence.CommandDrain:
		if !s.drained {
			s.tell(Said{
				Run: s.id,
				Text: textf("Asked to stop by %s: no further item begins; when those at work have ended, "+
					"the run ends.", Do(OpStop, "", Setting{SetAfterItem, ""})),
			})
			s.drained = true
			close(s.run.drain)
		}
	case persistence.CommandKill:
		s.tell(Said{Run: s.id, Text: textf("Asked to end at once: killing the action, then ending the run.")})
		s.stop(from(c))
		s.run.Kill()
	case persistence.CommandPause:
		s.run.hold.set(true, from(c))
		s.run.notice.post()
	case persistence.CommandUnpause:
		s.run.hold.set(false, "")
	case persistence.CommandSignal, persistence.CommandAnswer:
		s.run.notice.post()
	case persistence.CommandWake:
		s.run.Wake()
	case persistence.CommandExtend:
		s.run.raises.add(numberedRaise{c.N, raiseOf(c), from(c)})
		s.run.notice.post()
	}
}

func (s *subordinate) stop(by string) {
	s.stopped = true
	s.run.stop(&fsm.Stop{ByUser: true, By: by})
}

// from is who sent a command, where known.
func from(c persistence.Command) string {
	if c.Args == nil {
		return ""
	}
	name, _ := c.Args.Value("from").(string)
	return name
}

// whileObeying calls run, and meanwhile acts on the commands of the run.
func (e *Engine) whileObeying(j *job, r *Run, site *site, on <-chan struct{}, run func()) {
	r.raises.add(j.raises...)
	every := filesLook
	if j.journal.Lost() != nil {
		every = databaseLook
	}
	s := &subordinate{
		run: r, store: j.store, id: r.id, segment: j.journal.Run().Segment, last: j.heard, tell: j.tell,
		removed: func() error { return removed(j.journal, site) },
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.obey(ctx, on, every)
	}()
	run()
	end()
	<-done
}

// removed returns an error if the record of a run was removed, or its project.
func removed(j persistence.Journal, site *site) error {
	if site.project.unlinked() {
		if m := site.moved(); m != nil && m.removed {
			return m
		}
	}
	if j.Removed() {
		return errRemoved
	}
	return nil
}

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/mask"
	"loops/internal/process"
)

// pipeMost is the most a pipe can hold by default. So much is read after the exit of an action's process whatever
// the clock says, so that nothing it wrote itself is lost.
const pipeMost = 1 << 20

// After a piece shorter than smallPiece the next is waited for so long without looking: being woken for every line
// costs more than the line.
const (
	smallPiece = 4 << 10
	restTime   = time.Millisecond
)

// pieceRoom is how long the end of a line may be that is held back until the next piece and does not have that copied.
const pieceRoom = 4 << 10

// showAfter is how long an action has run before its standard error is seen while it runs. Most are over by
// then, and need no file.
const showAfter = 200 * time.Millisecond

// mostSpare is how many scratches are kept while no action uses them: as many actions begin side by side
// without making a control group.
const mostSpare = 8

// A scratch is the memory an action needs while it runs, used again by the next.
type scratch struct {
	alarm    *alarm
	buf      [pieceRoom + 64<<10]byte // before a piece there is room for the end of a line
	out, err keeper
	outText  value.OutputDecoder
	errText  value.OutputDecoder
	lines    lines
	group    *process.Cgroup // nil: none
	left     bool            // it has processes that an action left
}

// A stream is one output of an action.
type stream struct {
	fd    int // -1 after its end
	mask  mask.Stream
	text  *value.OutputDecoder
	keep  *keeper
	lines *lines // nil: not passed on
}

// A job is an action that runs. One goroutine does everything, in turns: it waits in poll(2) for output, for the exit
// of the process, for an alarm or for the next moment something is due.
type job struct {
	*scratch
	r     *Runner
	a     fsm.Action
	child child
	sweep bool  // what the process leaves running is still to be ended
	talk  *talk // of a prompt or judge; else nil

	streams [2]stream // standard output, standard error
	began   time.Time
	now     time.Time // of this turn
	heard   time.Time // last byte on either stream, later by what this process was suspended for since

	suspended time.Duration // since began
	resting   bool          // the last piece was small

	exited   bool
	exitAt   time.Time
	sinceEnd int64 // bytes read since then

	reaped   time.Time // the last time ended orphans were waited for
	sampleAt time.Time // next look at the memory; zero = never
	peak     int64

	ending ending
	fault  error // why the action could not be carried through
}

// start starts the process of an action.
func (r *Runner) start(c command, a fsm.Action, out func(string)) (*job, error) {
	r.mu.Lock()
	var s *scratch
	if n := len(r.spare); n > 0 {
		s, r.spare = r.spare[n-1], r.spare[:n-1]
	}
	if r.null == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			r.mu.Unlock()
			return nil, err
		}
		r.null = null
	}
	null := r.null.Fd()
	r.mu.Unlock()
	if s == nil {
		bell, err := newAlarm()
		if err != nil {
			return nil, fmt.Errorf("no pipe can be made: %w", err)
		}
		s = &scratch{alarm: bell}
	}
	j := &job{scratch: s, r: r, a: a, sweep: c.sweep}
	limit := cmp.Or(r.Cap, DefaultCap)
	s.out.reset(limit, int64(min(fileFrom, limit)), r.outputFile(a, ".out"), r.settler())
	s.err.reset(limit, int64(limit), r.outputFile(a, ".err"), r.settler())
	if a.Quiet {
		out = nil
	}
	s.lines = lines{out: out, pend: s.lines.pend[:0]}

	outR, outW, err := pipe()
	if err != nil {
		r.release(j)
		return nil, fmt.Errorf("no pipe can be made: %w", err)
	}
	errR, errW, err := pipe()
	if err != nil {
		_, _ = unix.Close(outR), unix.Close(outW)
		r.release(j)
		return nil, fmt.Errorf("no pipe can be made: %w", err)
	}
	if a.Kind == fsm.KindPrompt || a.Kind == fsm.KindJudge {
		widen(outW)
	}
	j.streams = [2]stream{
		{outR, mask.NewStream(r.Mask), &s.outText, &s.out, &s.lines},
		{errR, mask.NewStream(r.Mask), &s.errText, &s.err, nil},
	}

	r.mu.Lock()
	if r.busy == nil {
		r.busy = map[*alarm]struct{}{}
	}
	r.busy[s.alarm] = struct{}{}
	r.mu.Unlock()
	j.began = time.Now()
	err = j.spawn(c, null, uintptr(outW), uintptr(errW))
	_, _ = unix.Close(outW), unix.Close(errW)
	if err != nil {
		_, _ = unix.Close(outR), unix.Close(errR)
		r.release(j)
		r.mu.Lock()
		r.bash = "" // it may be found elsewhere next time
		r.mu.Unlock()
		return nil, err
	}
	j.now, j.heard, j.reaped = j.began, j.began, j.began
	if a.RSS {
		j.sampleAt = j.began
	}
	return j, nil
}

// release gives the memory of a job back.
func (r *Runner) release(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, j.alarm)
	if len(r.spare) < mostSpare {
		r.spare = append(r.spare, j.scratch)
	} else {
		j.alarm.close()
		r.forsake(j.scratch)
	}
}

// run sees the action through to its end.
func (j *job) run(ctx context.Context) (fsm.Result, error) {
	for {
		ready, err := j.wait()
		if err != nil {
			j.fail(fmt.Errorf("the output of state %q cannot be read: %w", j.a.State, err))
		}
		j.sample()
		j.reap()
		if wait, ok := j.lines.due(j.now); ok && wait == 0 {
			j.lines.pass()
		}
		if j.showIn() == 0 {
			j.err.show()
		}
		if !ready {
			j.flush()
		}
		if j.ending.on && !j.reconsider(ctx) || j.mustEnd(ctx, ready) {
			if !j.end() {
				continue
			}
		} else if !j.exited {
			continue
		}
		if j.drained(ready) {
			return j.finish()
		}
	}
}

// wait waits for something to happen or to be due, and reads what came. ready says that output came or may be
// waiting.
func (j *job) wait() (ready bool, err error) {
	if j.r.turn != nil {
		j.r.turn(j)
	}
	watch := j.child.watch
	if j.exited {
		watch = -1
	}
	fds := [4]unix.PollFd{
		{Fd: int32(j.alarm.r), Events: unix.POLLIN},
		{Fd: int32(watch), Events: unix.POLLIN},
		{Fd: int32(j.streams[0].fd), Events: unix.POLLIN},
		{Fd: int32(j.streams[1].fd), Events: unix.POLLIN},
	}
	if ready = j.resting && !j.exited; ready {
		// Output may be there, but it is not looked at in this turn.
		fds[2].Fd, fds[3].Fd = -1, -1
	}
	before, patience := j.r.time(), j.patience()
	if _, err := unix.Poll(fds[:], patience); err != nil && !errors.Is(err, unix.EINTR) &&
		!errors.Is(err, unix.EAGAIN) {
		return false, err
	}
	j.now = j.r.time()
	j.awake(before, patience)
	j.resting = false
	if fds[0].Revents != 0 {
		j.alarm.clear()
	}
	for i := range j.streams {
		if ev := fds[2+i].Revents; ev != 0 {
			ready = true
			if e := j.read(&j.streams[i], ev); e != nil {
				err = e
			}
		}
	}
	if !j.exited && j.child.exited(fds[1].Revents != 0) {
		j.exited, j.exitAt = true, j.now
	}
	return ready, err
}

// patience returns for how many milliseconds there is nothing to do unless something happens; -1 is for ever.
func (j *job) patience() int {
	left := time.Duration(math.MaxInt64)
	until := func(d time.Duration) { left = min(left, max(d, 0)) }
	if j.resting && !j.exited {
		until(restTime)
	}
	if wait, ok := j.lines.due(j.now); ok {
		until(wait)
	}
	if len(j.out.wait) > 0 || len(j.err.wait) > 0 {
		until(batchTime)
	}
	if wait := j.showIn(); wait >= 0 {
		until(wait)
	}
	if j.r.adopting.Load() && !j.exited {
		until(reapEvery - j.now.Sub(j.reaped))
	}
	if !j.sampleAt.IsZero() && !j.exited {
		until(j.sampleAt.Sub(j.now))
	}
	switch {
	case j.ending.on && !j.ending.done:
		until(j.ending.next.Sub(j.now))
	case j.exited || j.ending.done:
		until(j.drainLeft())
	case j.talk.done():
		until(doneGrace - j.now.Sub(j.talk.doneAt))
	default:
		if j.a.Timeout > 0 {
			until(min(pollMost, j.a.Timeout-j.ran()))
		}
		if j.a.Idle > 0 {
			until(min(pollMost, j.a.Idle-j.now.Sub(j.heard)))
		}
	}
	if left == math.MaxInt64 {
		return -1
	}
	return int(min((left+time.Millisecond-1)/time.Millisecond, math.MaxInt32))
}

// read reads once from a stream that has something to say.
func (j *job) read(s *stream, events int16) error {
	if events&unix.POLLIN == 0 { // nothing but the end
		j.shut(s)
		return nil
	}
	n, err := unix.Read(s.fd, j.buf[pieceRoom:])
	switch {
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		return nil
	case n <= 0:
		j.shut(s)
		return err
	}
	j.heard, j.resting = j.now, n < smallPiece
	if j.exited {
		j.sinceEnd += int64(n)
	}
	j.got(s, s.mask.FeedAfter(j.buf[:pieceRoom+n], pieceRoom))
	return nil
}

// got takes what a stream says, without secrets.
func (j *job) got(s *stream, b []byte) {
	switch {
	case len(b) == 0:
	case j.talk != nil && s == &j.streams[0]:
		j.talk.feed(b, j.now, j.said)
	case j.talk != nil && j.ending.on:
		j.talk.late = append(j.talk.late, b[:min(len(b), lateMost-len(j.talk.late))]...)
	default:
		j.take(s, b, s.text.Decode(b))
	}
}

func (j *job) shut(s *stream) {
	_ = unix.Close(s.fd)
	s.fd = -1
}

// said takes a piece of the text that a host's stream holds. A secret may be in several lines of the stream.
func (j *job) said(b []byte) { j.spoke(j.talk.mask.Feed(b)) }

func (j *job) spoke(b []byte) {
	s := &j.streams[0]
	j.take(s, b, s.text.Decode(b))
}

// take keeps text, passes it on, and writes the bytes that it was made of to the file of standard output. The
// file of standard error holds text: it is read while it grows.
func (j *job) take(s *stream, raw, text []byte) {
	if s.keep == &j.err {
		raw = text
	}
	if err := s.keep.add(raw, text); err != nil {
		j.unwritable(err)
	}
	if s.lines != nil {
		s.lines.add(text, j.now)
	}
}

func (j *job) flush() {
	if j.talk != nil {
		j.talk.log.flush()
	}
	for i := range j.streams {
		if err := j.streams[i].keep.flush(); err != nil {
			j.unwritable(err)
		}
	}
}

// showIn returns when standard error goes to a file where others see it; below 0 = there is nothing to see, or
// that was done.
func (j *job) showIn() time.Duration {
	if j.err.total == 0 || j.err.file != nil || j.err.shown || j.err.create == nil || j.a.Quiet || j.exited {
		return -1
	}
	return max(0, showAfter-j.now.Sub(j.began))
}

func (j *job) unwritable(err error) {
	j.fail(fmt.Errorf("the output of state %q cannot be written to a file: %w", j.a.State, err))
}

// fail makes the action end, with the first error that is said.
func (j *job) fail(err error) {
	if j.fault == nil {
		j.fault = err
	}
}

func (j *job) drainLeft() time.Duration {
	grace := cmp.Or(j.r.DrainGrace, DefaultDrainGrace)
	quiet := j.exitAt
	if j.heard.After(quiet) {
		quiet = j.heard
	}
	return min(grace-j.now.Sub(quiet), 3*grace-j.now.Sub(j.exitAt))
}

// drained reports whether enough of the output was read after the exit.
func (j *job) drained(ready bool) bool {
	if j.streams[0].fd < 0 && j.streams[1].fd < 0 {
		return true
	}
	return j.drainLeft() <= 0 && (!ready || j.sinceEnd > pipeMost)
}

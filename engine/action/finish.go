package action

import (
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loops/fsm"
	"loops/internal/process"
)

// finish gathers the result of the action and releases it.
func (j *job) finish() (fsm.Result, error) {
	held := false
	for i := range j.streams {
		s := &j.streams[i]
		j.got(s, s.mask.End())
		if j.talk != nil && i == 0 {
			j.talk.end(j.now, j.said)
			j.spoke(j.talk.mask.End())
		}
		j.take(s, nil, s.text.End())
		if s.fd >= 0 {
			held = true
			j.r.leave(s.fd)
		}
	}
	j.lines.end()
	if err := j.out.end(j.a.Keep); err != nil {
		j.unwritable(err)
	}
	j.err.hide()
	if err := j.err.end(false); err != nil {
		j.unwritable(err)
	}
	res := fsm.Result{Bytes: j.out.total, File: j.out.path}
	if j.ending.kind != overdue {
		res.TimeoutKind = j.ending.kind
	}
	res.Stdout, res.Truncated = j.out.text()
	res.Stderr, res.StderrCut = j.err.text()
	j.exit(&res)
	j.settle()
	// The tools of an agent have sessions of their own, so its group says nothing of them.
	if stays := !j.ending.on || j.ending.kind == overdue; stays &&
		(held || j.left || j.talk != nil || syscall.Kill(-j.child.pid, 0) == nil) {
		if left, err := j.marked(); err == nil {
			res.Background = len(left)
		}
	}
	if j.talk != nil {
		j.talk.reply(j, &res)
	}
	j.r.release(j)
	if j.fault != nil {
		return res, ranError{j.fault}
	}
	return res, nil
}

// exit says how the process ended.
func (j *job) exit(res *fsm.Result) {
	res.Duration = time.Since(j.began)
	if !j.exited { // it cannot be ended: nothing waits for it any more
		go j.child.reap()
		res.ExitCode = -int(syscall.SIGKILL)
		return
	}
	ws := j.child.reap()
	if !j.ending.on {
		res.Duration = j.exitAt.Sub(j.began)
	}
	res.ExitCode = ws.ExitStatus()
	if ws.Signaled() {
		res.ExitCode = -int(ws.Signal())
	}
	if j.a.RSS {
		res.PeakRSS = j.peak
		// The kernel's own figure catches a peak between two looks, but counts what this process held when it started
		// the other: it says something only where it is more than that.
		var self syscall.Rusage
		if m := maxRSS(j.child.usage); syscall.Getrusage(syscall.RUSAGE_SELF, &self) == nil && m > maxRSS(self) {
			res.PeakRSS = max(res.PeakRSS, m)
		}
	}
	if res.TimeoutKind == "" {
		return
	}
	res.ExitCode = 124
	if res.Stderr == "" {
		what, how := "Action", "timed out"
		if j.a.Kind == fsm.KindMCP {
			what = "MCP call"
		}
		switch res.TimeoutKind {
		case "idle":
			how = "idle-timed out"
		case fsm.TimeoutVelocity:
			how = "was " + j.talk.pace.why
		}
		res.Stderr = what + " " + how
	}
}

// leave reads and drops what comes from a pipe that others hold, until they close it or Close is called.
func (r *Runner) leave(fd int) {
	_ = unix.SetNonblock(fd, true) // so that Close ends the reading
	f := os.NewFile(uintptr(fd), "output of a background process")
	r.mu.Lock()
	r.left = append(r.left, f)
	r.mu.Unlock()
	r.draining.Go(func() { _, _ = io.Copy(io.Discard, f) })
}

// sample looks at the memory of the action, where that is asked for.
func (j *job) sample() {
	if j.sampleAt.IsZero() || j.now.Before(j.sampleAt) && !j.exited {
		return
	}
	j.peak = max(j.peak, process.TreeRSS(j.child.pid))
	j.sampleAt = j.now.Add(250 * time.Millisecond)
	if j.exited {
		j.sampleAt = time.Time{}
	}
}

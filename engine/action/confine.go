package action

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"loops/internal/process"
)

// Processes of an action can leave its process group and clear their environment. So that they are found all
// the same, an action runs in a control group where this process may make one; where it may not, the program
// may adopt orphans (Runner.Adopt). A control group is used again for the next action if nothing was left in
// it: making one takes as long as a tenth of a spawn.

// reapEvery is how often ended orphans are waited for while an action runs.
const reapEvery = 10 * time.Second

// confine gives a command a control group, if it can, with the marker that its processes are found by. The
// error is that the system lacks memory or a descriptor for it now.
func (r *Runner) confine(s *scratch, marker string) (*process.Cgroup, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.left {
		r.forsake(s)
	}
	if s.group == nil && !r.unconfined {
		r.crowded = slices.DeleteFunc(r.crowded, (*process.Cgroup).Remove)
		group, err := process.NewCgroup()
		// EAGAIN is a limit on groups, which lasts.
		if scarce(err) && !errors.Is(err, syscall.EAGAIN) {
			return nil, fmt.Errorf("no control group can be made: %w", err)
		}
		if err != nil {
			r.adopt()
			return nil, nil
		}
		s.group = group
	}
	if s.group != nil && s.group.Mark(marker) != nil {
		r.forsake(s)
		r.adopt()
	}
	return s.group, nil
}

// forsake releases the control group of a scratch. One that has processes is removed when they have ended.
func (r *Runner) forsake(s *scratch) {
	if s.group != nil {
		s.group.Close()
		r.crowded = append(r.crowded, s.group)
	}
	s.group, s.left = nil, false
}

// adopt does without control groups from now on.
func (r *Runner) adopt() {
	if r.unconfined {
		return
	}
	r.unconfined = true
	r.adopting.Store(r.Adopt != nil && r.Adopt() == nil)
}

// spawn starts the process of an action, without a control group where that is what the system refuses.
func (j *job) spawn(c command, null, out, err uintptr) (started error) {
	defer func() {
		if started == nil {
			j.r.orphans.Begin()
		}
	}()
	group, e := j.r.confine(j.scratch, j.r.markers(j.a))
	if e != nil {
		return e
	}
	c.group = group
	e = j.child.start(c, null, out, err, j.alarm.ring)
	if e == nil || c.group == nil || scarce(e) {
		return e
	}
	c.group = nil
	if j.child.start(c, null, out, err, j.alarm.ring) != nil {
		return e // it was not the group
	}
	j.r.mu.Lock()
	defer j.r.mu.Unlock()
	j.r.forsake(j.scratch)
	j.r.adopt()
	return nil
}

// settle looks whether anything of the action is left, when its process was waited for.
func (j *job) settle() {
	if j.group != nil {
		j.left = !j.group.Empty()
	}
	j.r.orphans.Over(j.group == nil && j.r.adopting.Load())
}

// reap waits for orphans that have ended, now and then.
func (j *job) reap() {
	if j.r.adopting.Load() && j.now.Sub(j.reaped) >= reapEvery {
		j.r.orphans.Reap(j.child.pid)
		j.reaped = j.now
	}
}

// adopted returns the live processes that the action left to this one.
func (j *job) adopted() ([]process.Identity, error) {
	if !j.r.adopting.Load() || j.child.reaped {
		return nil, nil
	}
	return j.r.orphans.Since(j.child.pid)
}

// unconfine removes the control groups that have no processes, when no action runs any more.
func (r *Runner) unconfine(spare ...*scratch) {
	for _, s := range spare {
		r.forsake(s)
	}
	for _, group := range r.crowded {
		group.Remove()
	}
	r.crowded = nil
}

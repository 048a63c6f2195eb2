//go:build !linux

package process

import "errors"

// A Cgroup is a control group, which this system has none of.
type Cgroup struct{}

// NewCgroup returns an error: there are no cgroups.
func NewCgroup() (*Cgroup, error) { return nil, errors.ErrUnsupported }

// CgroupControllers returns none.
func CgroupControllers() []string { return nil }

// FD is no descriptor.
func (*Cgroup) FD() int { return -1 }

// Mark does nothing.
func (*Cgroup) Mark(string) error { return errors.ErrUnsupported }

// Limit does nothing.
func (*Cgroup) Limit(int64, int, float64) {}

// Empty is true of what cannot have processes.
func (*Cgroup) Empty() bool { return true }

// Kill does nothing.
func (*Cgroup) Kill() {}

// Close does nothing.
func (*Cgroup) Close() {}

// Remove has nothing to remove.
func (*Cgroup) Remove() bool { return true }

type cgroupMarks map[string]string

func (cgroupMarks) of(int, func(string) bool) {}

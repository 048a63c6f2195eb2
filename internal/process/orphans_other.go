//go:build !linux

package process

import "errors"

// AdoptOrphans says that this system has no such thing.
func AdoptOrphans() error { return errors.ErrUnsupported }

// Orphans are the processes that this one has adopted: none.
type Orphans struct{}

// Since returns nothing.
func (*Orphans) Since(int) ([]Identity, error) { return nil, nil }

// Reap does nothing.
func (*Orphans) Reap(int) {}

// Begin does nothing.
func (*Orphans) Begin() {}

// Over does nothing.
func (*Orphans) Over(bool) {}

package persistence

import (
	"context"
	"fmt"
)

// A Redefiner is a [Journal] that can be told, while a run goes on, what the run is made of: a state may run a loop
// whose name or text is not known before.
type Redefiner interface {
	Journal
	// Redefine keeps another text in the place of Spec.Definition. It is called by the goroutine that calls Record.
	// After an error nothing more is recorded.
	Redefine(ctx context.Context, definition []byte) error
}

// Redefine implements [Redefiner].
func (j *journal) Redefine(_ context.Context, definition []byte) error {
	if j.failed == nil {
		if err := keepDefinition(j.work, definition); err != nil {
			j.failed = fmt.Errorf("the definition of the run could not be recorded, so it stops: %w", err)
			return j.failed
		}
		j.define(definition)
	}
	return j.failed
}

// Redefine implements [Redefiner].
func (j *memoryJournal) Redefine(_ context.Context, definition []byte) error {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	j.r.spec.Definition = definition
	return nil
}

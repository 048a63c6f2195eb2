package app

import (
	"loops/engine"
	"loops/engine/project"
	"loops/persistence"
)

// InQueue returns those who wait for a scope of the project.
func InQueue(p *project.Project) ([]persistence.Waiter, error) {
	line, err := p.Queue().Waiters()
	if err != nil {
		return nil, engine.Refuse(engine.NotRecorded, "who waits in the queue cannot be read: %v", err)
	}
	return line, nil
}

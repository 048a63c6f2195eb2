package project

import (
	"context"
	"maps"
	"path/filepath"

	"loops/persistence"
)

// Names returns what tells the project from others that record in the same database, first the name that new
// runs are recorded with: the one in the settings, which all checkouts of a project on several machines have,
// else the real path of its folder.
func (p *Project) Names() (names []string) {
	if c, _ := p.Declared(); c != nil && c.LedgerName != "" { // what is wrong with it, callers say that need it
		names = append(names, c.LedgerName)
	}
	real, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		real = p.Dir // nothing is recorded there yet
	}
	return append(names, real)
}

// Everywhere returns the project for programs that serve all projects that record in the same database.
func (p *Project) Everywhere() *Project {
	other := *p
	other.AllProjects = true
	return &other
}

// Admit lets this process read and carry a run of another project, from records that are open as well. adopt
// reports whether the run becomes one of this project when it is carried here.
func (p *Project) Admit(id persistence.ID, adopt bool) {
	p.known.mu.Lock()
	defer p.known.mu.Unlock()
	admitted := maps.Clone(p.known.admitted) // stores read the one that they were given
	if admitted == nil {
		admitted = map[persistence.ID]bool{}
	}
	admitted[id] = adopt
	p.known.admitted = admitted
}

func (p *Project) admitted() map[persistence.ID]bool {
	p.known.mu.Lock()
	defer p.known.mu.Unlock()
	return p.known.admitted
}

// Anywhere returns a run of whatever project, which may be in the way of one of this project.
func (r *Records) Anywhere(ctx context.Context, id persistence.ID) (run persistence.Run, found bool) {
	runs, err := r.Store.Runs(ctx, persistence.Query{ID: id, Anywhere: true})
	if err != nil || len(runs) != 1 {
		return run, false
	}
	return runs[0], true
}

// Elsewhere returns an [persistence.ElsewhereError] for a run of another project, nil for any other.
func (r *Records) Elsewhere(ctx context.Context, id persistence.ID) error {
	ours, err := r.Store.Runs(ctx, persistence.Query{ID: id})
	if err != nil || len(ours) > 0 {
		return err
	}
	if run, found := r.Anywhere(ctx, id); found {
		return &persistence.ElsewhereError{ID: id, Project: run.Project}
	}
	return nil
}

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"loops/fsm"
	"loops/internal/config"
	"loops/internal/git"
	"loops/persistence"
)

// factsWait bounds each look of git at the files of a run. What takes longer is recorded as unknown.
const factsWait = 2 * time.Second

// facts returns what fits fsm.Config.Facts: which commit and branch the run is on, a digest of what is not
// committed, and which loop file it was started from, with the names that little-loops gives them. Where a
// folder is not git's, or git fails, the values are nil.
func (e *Engine) facts(j *job, id persistence.ID) fsm.Facts {
	if j.config != nil && j.config.GitFacts == config.GitFactsOff {
		return nil
	}
	return func(ctx context.Context, ends bool) []fsm.Field {
		ctx = context.WithoutCancel(ctx) // a run that is stopped has them, too
		look := &factsLook{e: e, j: j, id: id}
		if ends {
			return []fsm.Field{{Key: "worktree_digest", Value: look.digest(ctx, false)}}
		}
		// it is made after the first event, with what its branch has and nothing else
		ahead := j.tree != nil && j.project.TreeGone("")
		head, branch := look.commit(ctx, ahead)
		fields := []fsm.Field{
			{Key: "head_sha", Value: head},
			{Key: "branch", Value: branch},
			{Key: "worktree_digest", Value: look.digest(ctx, ahead)},
		}
		if data, err := os.ReadFile(j.loop.File); err == nil && filepath.IsAbs(j.loop.File) {
			fields = append(fields, fsm.Field{Key: "loop_yaml_path", Value: j.loop.File},
				fsm.Field{Key: "loop_yaml_sha256", Value: hash(string(data))})
		}
		return fields
	}
}

// A factsLook looks at the files that a run works on.
type factsLook struct {
	e  *Engine
	j  *job
	id persistence.ID
}

// commit returns the commit and the branch that is checked out; nil where that is not known. ahead says that
// the work tree of the run is not made yet.
func (l *factsLook) commit(ctx context.Context, ahead bool) (head, branch any) {
	dir, ref := l.j.project.WorkDir(), ""
	if ahead {
		tree := l.j.tree.own(l.j.project.Main(), l.id)
		if tree.New {
			return tree.Base, tree.Branch
		}
		dir, ref = l.j.project.Dir, tree.Branch
	}
	ok := l.look(ctx, dir, func(ctx context.Context, runGit git.Run) (err error) {
		head, branch, err = git.Head(ctx, runGit, dir, ref)
		return err
	})
	if !ok {
		return nil, nil
	}
	return head, branch
}

// digest returns a digest of what is not committed; nil where it is not known.
func (l *factsLook) digest(ctx context.Context, ahead bool) any {
	if ahead {
		return hash(git.Unchanged)
	}
	changes, dir := "", l.j.project.WorkDir()
	ok := l.look(ctx, dir, func(ctx context.Context, runGit git.Run) (err error) {
		changes, err = git.Changes(ctx, runGit, dir)
		return err
	})
	if !ok {
		return nil
	}
	return hash(changes)
}

// look has git look at a folder. It reports false where git fails, or where the folder is not git's.
func (l *factsLook) look(ctx context.Context, dir string, do func(context.Context, git.Run) error) bool {
	if !git.InGit(dir) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, factsWait)
	defer cancel()
	git, done := Git(l.j.project.Main(), l.e.o, string(l.id), l.j.boxed())
	defer done()
	return do(ctx, git) == nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

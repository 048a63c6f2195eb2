package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine/action"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/glob"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// A Verification says what the checks of a receipt came to when they were repeated.
type Verification struct {
	*RunReceipt
	Checks []Repeated
	// what keeps scripts from being offline and from changing other files, and cannot be enforced here
	Unenforced []string
}

// A Repeated check is one of a receipt, and what it came to now.
type Repeated struct {
	fsm.CheckResult                  // as the receipt has it
	Now             *fsm.CheckResult // nil = it was not repeated
	Why             string           // it was not repeated
}

// Same reports whether the check came to the same verdict and exit code.
func (r Repeated) Same() bool {
	return r.Now != nil && r.Now.Verdict == r.Verdict && r.Now.ExitCode == r.ExitCode
}

// Same reports whether all checks that were repeated came to the same.
func (v *Verification) Same() bool {
	return !slices.ContainsFunc(v.Checks, func(r Repeated) bool { return r.Now != nil && !r.Same() })
}

// Verify repeats the scripts and evaluators that decided how a run completed, each on a clean checkout of the
// files that the run left, without a network. Prompts and judges are not repeated. A run without a receipt,
// whose files are gone, or none of whose checks can be repeated, is refused. Nothing of the project is changed.
func (e *Engine) Verify(ctx context.Context, id string) (*Verification, error) {
	r, err := e.Receipt(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Receipt == nil:
		return nil, refuse(NotFound, "run %s has no receipt: it did not complete, or a version of loops carried it "+
			"that made none", r.Run.ID)
	case r.Signed == SignedForged:
		return nil, r.Forged()
	case r.Receipt.Tree == "":
		return nil, refuse(NotFound, "the receipt of run %s names no files, because it was in no repository of git, "+
			"or had no prompts, check, guard or snapshots; there is nothing to repeat its checks on", r.Run.ID)
	}
	v := &verifying{e: e, r: r, done: &Verification{RunReceipt: r}}
	if err := v.open(ctx); err != nil {
		return nil, err
	}
	defer os.RemoveAll(v.place) //nolint:errcheck // temporary
	repeated := 0
	for _, c := range r.Receipt.Checks {
		again := Repeated{CheckResult: c}
		again.Now, again.Why, err = v.repeat(ctx, c)
		if gone, is := errors.AsType[*Refusal](err); is {
			return nil, gone
		}
		if err != nil {
			return nil, refuse(Failed, "the check %s of run %s cannot be repeated: %s", c.Path, r.Run.ID,
				humanize.OneLine(err))
		}
		if again.Now != nil {
			repeated++
		}
		v.done.Checks = append(v.done.Checks, again)
	}
	if repeated == 0 {
		why := "it has none"
		if len(v.done.Checks) > 0 {
			why = v.done.Checks[0].Why
		}
		return nil, refuse(Invalid, "no check of run %s can be repeated: %s", r.Run.ID, why)
	}
	return v.done, nil
}

// A verifying repeats the checks of a run.
type verifying struct {
	e      *Engine
	r      *RunReceipt
	done   *Verification
	place  string // a temporary folder
	walk   *git.Walk
	start  string // the tree of the files with which the run began; "" = it is not there
	memory *fsm.Snapshot
	loops  []*fsm.Loop // as they were recorded, that of the run first
}

// open finds what the record has of the run.
func (v *verifying) open(ctx context.Context) error {
	p := v.e.p.Main()
	store, err := v.e.records(ctx, false, "")
	if err != nil {
		return err
	}
	if v.memory, err = store.Snapshot(ctx, v.r.Run.ID); err != nil {
		return store.Failed(err)
	}
	if def := store.KeptDefinition(ctx, v.r.Run.ID); def != nil {
		for _, recorded := range def.Loops {
			if l, err := recorded.Load(); err == nil {
				v.loops = append(v.loops, l)
			}
		}
	}
	if len(v.loops) == 0 {
		return refuse(NotFound, "the definition of run %s is not on record, so its checks cannot be repeated",
			v.r.Run.ID)
	}
	if !p.InGit() {
		return refuse(NotFound, "%s is in no repository of git, and the files that run %s left are in one", p.Dir,
			v.r.Run.ID)
	}
	if v.place, err = disk.MkdirTemp(os.TempDir(), "loops-verify-*"); err != nil {
		return err
	}
	v.walk = git.NewWalk(undoEnv(p, v.e.o), GitWait(p), p.Dir, filepath.Join(v.place, "git"))
	if left, err := v.walk.Kept(ctx, v.r.Receipt.Tree, ""); err != nil || left == "" {
		return cmp.Or(err, v.gone("git has no such tree"))
	}
	recorded := "" // a run that was imported has no such ref; its snapshots may have the tree
	if v.memory != nil {
		recorded = v.memory.StartTree
	}
	v.start, err = v.walk.Kept(ctx, git.ProofRef(string(v.r.Run.ID), git.AtStart), recorded)
	return err
}

// gone is the refusal of a run whose files are not there.
func (v *verifying) gone(why string) error {
	return refuse(NotFound, "the files that run %s left, tree %s, are not in this repository: %s", v.r.Run.ID,
		v.r.Receipt.Tree, why)
}

// repeat does a check again. Without a result it explains why it was not done.
func (v *verifying) repeat(ctx context.Context, c fsm.CheckResult) (now *fsm.CheckResult, why string, err error) {
	l, memory := v.loops[0], v.memory
	if c.Loop != "" {
		i := slices.IndexFunc(v.loops, func(l *fsm.Loop) bool { return l.Name == c.Loop })
		if i < 0 {
			return nil, "the sub-loop " + c.Loop + " is not on record", nil
		}
		l, memory = v.loops[i], &fsm.Snapshot{Context: value.NewMap(), Captured: value.NewMap()}
	}
	st, apart := checkedState(l, c)
	switch {
	case apart:
		return nil, "its files are in a work tree of its branch", nil
	case c.Items > 0 && c.Marked:
		return nil, "it is what its items come to", nil
	case c.Command == "":
		return nil, "it is no verdict on a script: prompts, judges, people, lists and waits are not repeated", nil
	case st == nil || fsm.KindOf(st) != fsm.KindShell:
		return nil, "it is no script of a state", nil
	case !slices.Contains(fsm.RepeatableEvaluators(), c.Evaluator) || st.Evaluate != nil &&
		st.Evaluate.Type != c.Evaluator:
		return nil, "its evaluator " + c.Evaluator + " needs a model, or what other visits came to", nil
	case st.Evaluate != nil && st.Evaluate.HasSource:
		return nil, "its evaluator looks at what other states captured", nil
	case strings.Contains(c.Command, "***("):
		return nil, "its script has a secret in it", nil
	}
	tree := v.r.Receipt.Tree
	if len(c.Files) > 0 {
		if v.start == "" {
			return nil, "the files with which the run began are not in this repository", nil
		}
		var patterns []glob.Pattern
		for _, text := range c.Files {
			p, err := glob.Compile(text)
			if err != nil {
				return nil, "", err
			}
			patterns = append(patterns, p)
		}
		if tree, err = v.walk.Replace(ctx, tree, v.start, func(path string) bool {
			return covers(patterns, path)
		}); err != nil {
			return nil, "", err
		}
	}
	top := filepath.Join(v.place, "files")
	if err := os.RemoveAll(top); err != nil {
		return nil, "", err
	}
	if err := disk.MkdirAll(top, 0o700); err != nil {
		return nil, "", err
	}
	dir, _, err := v.walk.CheckOut(ctx, tree, top)
	if err != nil {
		return nil, "", v.gone(humanize.OneLine(err))
	}
	if err := v.walk.InitRepository(ctx, top); err != nil {
		return nil, "", err
	}
	return v.run(ctx, dir, l, st, memory, c)
}

// checkedState returns the state or branch of a loop whose check a receipt has; nil = there is none. apart says that it
// worked on files that are not among those which the run left.
func checkedState(l *fsm.Loop, c fsm.CheckResult) (st *fsm.State, apart bool) {
	outer, inner, isBranch := strings.Cut(c.Path, inspect.PathSeparator)
	switch {
	case c.Loop != "" || !isBranch:
		return l.States[c.State], false
	case l.States[outer] == nil || l.States[outer].Branches == nil:
		return nil, false
	}
	branches := l.States[outer].Branches
	i := slices.IndexFunc(branches.List, func(b *fsm.Branch) bool { return b.Name == inner })
	if i < 0 {
		return nil, false
	}
	return branches.List[i].State, branches.Trees == fsm.TreesStay
}

// itemVars returns the variables of an item of a list whose check is repeated.
func (v *verifying) itemVars(st *fsm.State, c fsm.CheckResult) []fsm.Var {
	if c.Item == 0 || st.Each == nil {
		return nil
	}
	count := c.Item
	for _, list := range v.r.Receipt.Checks {
		if list.Path == c.Path {
			count = max(count, list.Items)
		}
	}
	return st.Each.Vars(c.Value, c.Item, count)
}

// run does the script of a check in a folder.
func (v *verifying) run(ctx context.Context, dir string, l *fsm.Loop, st *fsm.State, memory *fsm.Snapshot,
	c fsm.CheckResult,
) (*fsm.CheckResult, string, error) {
	p := v.e.p.Main()
	runDir := filepath.Join(v.place, "run")
	if err := disk.MkdirAll(runDir, 0o700); err != nil {
		return nil, "", err
	}
	conf, err := p.Config()
	if err != nil {
		return nil, "", err
	}
	r := &action.Runner{
		Dir: dir, Env: git.Untied(v.e.actionEnv()), RunID: string(v.r.Run.ID), RunDir: runDir, Grace: Grace,
		Mark: fmt.Sprintf("%sverify-%d-%d", p.Mark(), os.Getpid(), time.Now().UnixNano()),
	}
	defer r.Close() //nolint:errcheck // what it leaves is temporary
	ConfigureSandbox(r, conf)
	r.Sandbox = append(slices.Clip(r.Sandbox),
		&confine.Policy{Preset: confine.Workspace, Network: []string{confine.NetNone}})
	layers := confine.Layers(l.Sandbox, st.Sandbox)
	_, v.done.Unenforced, _ = r.Unenforced(layers)
	wall, idle := fsm.ActionTimeouts(l, st)
	res, err := r.Run(ctx, fsm.Action{
		Kind: fsm.KindShell, Text: c.Command, State: st.Name, Step: 1, Attempt: 1,
		Vars: append(memory.Vars(), v.itemVars(st, c)...), Timeout: wall, Idle: idle, Sandbox: layers, Quiet: true,
	}, nil)
	if err != nil {
		return nil, "", err
	}
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	output := res.Stdout
	if res.Truncated {
		if output, err = readOutput(res.File); err != nil {
			return nil, "", err
		}
	}
	verdict, err := memory.Rejudge(st, res, output, action.Files{Dir: dir})
	if err != nil {
		return nil, "", err
	}
	now := c
	now.Verdict, now.ExitCode, now.Output = verdict.Name, res.ExitCode, inspect.OutputSHA256(output)
	return &now, "", nil
}

package fsm

import (
	"fmt"
	"strings"

	"loops/fsm/value"
)

// Branches with a work tree: each runs in one of a branch of git of its own, made from what is checked out
// where the state runs. What the others do there is not seen. When they are joined, the trees stay where
// something was changed, or are merged in the order of the file.

// treePrefix begins the name of a branch of git that is made for a branch of parallel, as it does for a run.
const treePrefix = "loops/"

// treeBranch is the name of the branch of git for a branch of the state.
func (e *Executor) treeBranch(name string) string {
	run := e.cfg.Run.ID
	if run == "" {
		run = e.root().mem.Loop
	}
	return treePrefix + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, run+e.visitAddress()+"-"+name)
}

// tree gives a branch that begins its work tree, or finds that of one that continues. The error is that there is none.
func (f *fork) tree(c *Child) error {
	if c.Branch == "" {
		return nil
	}
	if c.Memory.Step == 0 {
		res, err := f.e.git(f.st, "making branch "+c.Branch, "", "branch="+value.ShellQuote(c.Branch)+`
git show-ref -q --verify "refs/heads/$branch" || git branch -q -- "$branch" HEAD`)
		if err != nil {
			return err
		}
		if res.ExitCode != 0 {
			return noTree(gitText(res))
		}
	}
	return f.e.workTree(f.st, c)
}

// Keys of what a branch left that are about its work tree.
const (
	treePath   = "worktree"
	treeCommit = "git_branch"
)

// gather merges the work trees of branches, or lets them stay. It takes those away in which nothing is left,
// and from rec what it says of them. It can be done again after it was cut short.
func (f *fork) gather(rec *value.Map) error {
	if !f.st.Branches.HasTrees() {
		return nil
	}
	merges := func(end *value.Map) bool {
		return f.st.Branches.Trees == TreesMerge && end.Value("verdict") == "yes"
	}
	for _, merge := range []bool{true, false} { // nothing is taken away before all is merged
		for _, b := range f.st.Branches.List {
			end, _ := rec.Value(b.Name).(*value.Map)
			path, _ := end.Value(treePath).(string)
			if path == "" || merge && !merges(end) {
				continue
			}
			script := ownTree + `tree=` + value.ShellQuote(path) + ` branch=` +
				value.ShellQuote(fmt.Sprint(end.Value(treeCommit))) +
				` message=` + value.ShellQuote(fmt.Sprintf("%s: branch %s of run %s", f.st.Name, b.Name,
				f.e.cfg.Run.ID)) +
				` trailer=` + value.ShellQuote(fmt.Sprintf("Loops-Run: %s/%s", f.e.cfg.Run.ID,
				ShownAddress(f.e.visitAddress()+branchSign+b.Name))) + treeScript
			doing := "looking at the work tree of branch " + b.Name
			if merge {
				doing = "merging branch " + b.Name
				script += mergeTree
			} else {
				script += leaveTree
			}
			at := ""
			if merge { // it changes files
				at = f.e.visitAddress()
			}
			res, err := f.e.gitAt(at, f.st, doing, path, script)
			switch {
			case err != nil:
				return err
			case res.ExitCode != 0 && merge:
				return fmt.Errorf("branch %s cannot be merged, and the work trees stay: %s", b.Name, gitText(res))
			case res.ExitCode != 0:
				return fmt.Errorf("the work tree of branch %s cannot be taken away: %s", b.Name, gitText(res))
			case merge:
				f.e.emit(EventWorktreeMerged, Field{"state", f.st.Name}, Field{"of", b.Name},
					Field{"commit", strings.TrimSpace(res.Stdout)})
			case strings.TrimSpace(res.Stdout) == "":
				end = end.Clone()
				end.Delete(treePath)
				end.Delete(treeCommit)
				rec.Set(b.Name, end)
			}
		}
	}
	return nil
}

// leavesTree adds to what a branch left where its work tree is.
func (f *fork) leavesTree(rec *value.Map, c *Child) {
	if c.Worktree == "" || !f.st.Branches.HasTrees() {
		return
	}
	rec.Set(treePath, c.Worktree)
	rec.Set(treeCommit, c.Branch)
}

// treeScript begins what is done about a tree. One whose branch is gone was merged and taken away before.
const treeScript = `
git show-ref -q --verify "refs/heads/$branch" || exit 0
me=
git config user.email > /dev/null || me="-c user.name=loops -c user.email=loops@localhost"
`

// mergeTree commits what is not committed in a tree, merges its branch into what is checked out, and prints the
// commit. The merge is made beside the checkout, which then only goes forward to it: git takes that up again
// where it was cut short, and a conflict changes nothing. It needs git 2.38.
const mergeTree = `
if ! finish "$tree" && [ -e "$tree" ]; then
  git -C "$tree" add -A || exit
  git -C "$tree" diff --cached --quiet || git -C "$tree" $me commit -q --no-verify -m "$message" -m "$trailer" || exit
fi
tip=$(git rev-parse "refs/heads/$branch") && head=$(git rev-parse HEAD) || exit
if git merge-base --is-ancestor "$tip" "$head"; then echo "$tip"; exit; fi
to=$tip
if ! git merge-base --is-ancestor "$head" "$tip"; then
  made=$(git merge-tree --write-tree --name-only --no-messages "$head" "$tip")
  case $? in
  0) ;;
  1) echo "conflicts in $(echo "$made" | sed '1d;/^$/d' | head -n 5 | tr '\n' ' ')" >&2; exit 1 ;;
  *) exit 1 ;;
  esac
  to=$(git $me commit-tree "$made" -p "$head" -p "$tip" -m "Merge $message" -m "$trailer") || exit
fi
git merge -q --ff-only "$to" >&2 && echo "$to"`

// leaveTree takes a tree away in which nothing is left that HEAD does not have, and prints the path of any other.
const leaveTree = `
if finish "$tree" || [ ! -e "$tree" ]; then
  git worktree prune
else
  if [ -n "$(git -C "$tree" status --porcelain --ignore-submodules=none)" ] || ! git merge-base --is-ancestor "refs/heads/$branch" HEAD; then
    echo "$tree"
    exit
  fi
  : > "$tree.removing"
  git worktree remove --force -- "$tree" >&2 && rm -f -- "$tree.removing" || exit
fi
if git merge-base --is-ancestor "refs/heads/$branch" HEAD; then git branch -q -D -- "$branch" >&2; else echo "$tree"; fi`

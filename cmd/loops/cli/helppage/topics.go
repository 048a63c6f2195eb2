package helppage

import "github.com/spf13/cobra"

// The topics of "loops help" that are prose alone: what is too long for the page of one command, or concerns several.

// Worktrees is about runs in work trees.
func Worktrees() *cobra.Command {
	return &cobra.Command{Use: "worktrees", Short: "Runs in a git work tree of their own", Long: `With --worktree the actions of a run work in a work tree of git, below .worktrees, and leave the files of this checkout
alone. The run is recorded in .loops here, and its loop is read from here. The work tree holds what is committed: a new
branch loops/RUN from HEAD, or BRANCH.

When the run ends, a work tree without changes is removed, and so is the branch that was made for it. Any other is kept, and
the run prints what is in it and how to merge it. Files that git ignores do not count as changes, and are removed with the
work tree.

--worktree-end, the key worktree of the loop and the setting worktree, in this order, choose what happens at the end: keep,
merge or discard. A run that can be resumed keeps its work tree, and continues in it.`}
}

// Scopes is about which runs may work at once.
func Scopes() *cobra.Command {
	return &cobra.Command{Use: "scopes", Short: "Which runs may work at the same time", Long: `A run locks the paths of its loop's scope, or the whole project where the loop has none. While it is running, a run whose scope
overlaps is refused, with exit code 9.

  --queue      wait instead; runs whose scopes overlap begin in the order in which they came
  --no-lock    lock nothing, and do not look at what others have locked

A run that an action starts shares what the runs around it have locked, unless it runs in the background. loops queue
lists the waiters and removes one. The locks of a run whose process died are released by the next command.`}
}

// Background is about runs in processes of their own.
func Background() *cobra.Command {
	return &cobra.Command{Use: "background", Short: "Runs in a process of their own", Long: `With --background a run has a process and a session of its own, which no terminal ends. The command returns with 0 when the
run is on record, and prints its id: as a JSON object with --json, alone with --quiet. A run that does not get that far
says why, and the command exits as the run would have.

What the run prints is in .loops/logs/RUN.log, which is moved to RUN.log.1 when it is full. With --queue the process waits
for its turn, and the command returns with 0 and its place in the queue.

  loops attach RUN    follow it
  loops watch         follow all runs on one screen
  loops stop RUN      stop it, so that it can be resumed`}
}

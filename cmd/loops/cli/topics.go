package cli

import "github.com/spf13/cobra"

// The topics of "loops help" that are prose alone: what is too long for the page of one command, or concerns several.

// helpWorktrees is about runs in work trees.
func helpWorktrees() *cobra.Command {
	return &cobra.Command{Use: "worktrees", Short: "Runs in a git work tree of their own", Long: `With --worktree the
actions of a run work in a work tree of git, below .worktrees, and leave the files of this checkout
alone. The run is recorded in .loops here, and its loop is read from here. The work tree holds what is committed: a new
branch loops/RUN from HEAD, or BRANCH.

When the run ends, a work tree without changes is removed, and so is the branch that was made for it. Any other is kept, and
the run prints what is in it and how to merge it. Files that git ignores do not count as changes, and are removed with the
work tree.

--worktree-end, the key worktree of the loop and the setting worktree, in this order, choose what happens at the end: keep,
merge or discard. A run that can be resumed keeps its work tree, and continues in it.`}
}

// helpScopes is about which runs may work at once.
func helpScopes() *cobra.Command {
	return &cobra.Command{Use: "scopes", Short: "Which runs may work at the same time", Long: `A run locks the paths of
its loop's scope, or the whole project where the loop has none. While it is running, a run whose scope
overlaps is refused, with exit code 9.

  --queue      wait instead; runs whose scopes overlap start in the order in which they came
  --no-lock    lock nothing, and ignore the locks of other runs

A run that an action starts shares what the runs around it have locked, unless it runs in the background. loops queue
lists the waiters and removes one. The locks of a run whose process died are released by the next command.`}
}

// helpBackground is about runs in processes of their own.
func helpBackground() *cobra.Command {
	return &cobra.Command{
		Use: "background", Short: "Runs in a process of their own",
		Long: `With --background a run has a
process and a session of its own, which no terminal ends. The command returns with 0 when the
run is on record, and prints its id: as a JSON object with --json, alone with --quiet. If the run cannot start, the
command says why and exits as the run would have.

What the run prints is in .loops/logs/RUN.log, which is moved to RUN.log.1 when it is full. With --queue the process waits
for its turn, and the command returns with 0 and its place in the queue.

  loops attach RUN    follow it
  loops watch         follow all runs on one screen
  loops stop RUN      stop it, so that it can be resumed`,
	}
}

// helpEnvironment is about variables of the environment. A test of the commands finds those that it lacks.
func helpEnvironment() *cobra.Command {
	return &cobra.Command{
		Use: "environment", Short: "Environment variables that loops reads and sets",
		Long: `Environment
variables that loops reads. A flag wins over the variable, and the variable over files of settings ("loops
help config").

  LOOPS_STORE      where runs are recorded, as --store: dir, sqlite:PATH or postgres://USER@HOST/NAME
  LOOPS_TRUST      1: run loops that others wrote without asking, as in CI; see loops trust --help
  LOOPS_CATALOG    a folder of loops that every project may use
  LOOPS_SERVE_TOKEN  the token that loops serve asks for, 32 characters or more (default: another one each time)
  LOOPS_HOST       agent CLI of prompts and judges that name none, as --host: claude, codex, gemini, qwen, kimi, opencode,
                   or one that .loops/config.yaml declares. A host that the loop names wins.
  LL_HOST_CLI      the same, of little-loops; read where LOOPS_HOST is not set
  XDG_CONFIG_HOME  where the user's settings are, in loops/config.yaml; $HOME/.config if it is not set
  LOOPS_ACTION_TYPES
                   further action types, as action_types in .loops/config.yaml: '{deploy: ./bin/deploy}'
  LOOPS_IDENTITY   who answers questions of runs, USER,TEAM,...; a question with who then takes answers of those only
  LOOPS_STAGE_DIR  where loops stage keeps its files
  LOOPS_VERIFY     1: the machine checks itself at every step, and stops at a contradiction
  GITHUB_WORKSPACE, GITHUB_STEP_SUMMARY, GITHUB_OUTPUT
                   of a job of GitHub Actions: what --format github relates files to and writes
  NO_COLOR         no colours, unless --color always
  TERM             dumb: no colours and no live line

Agent CLIs have variables of their own, such as for keys; they get the whole environment of loops.

Environment variables that actions get:

  LOOPS_SANDBOX, LOOPS_CONTROL   in a sandbox: its preset, and the socket by which loops stop, signal, answer reach the run
  LOOPS_RUN_ID, LOOPS_RUN_DIR    the run, and a folder of its own; LL_LOOP_RUN_ID is the run too
  LOOPS_STATE, LOOPS_STEP        the state, and the number of this step, from 1
  LOOPS_ATTEMPT                  how often this step was started; more than 1 after a crash
  LOOPS_BUDGET_LEFT              what budgets leave, such as cost_usd=1.25 prompts=3; not set without a budget
  LOOPS_SCHEDULED_AT             the time that a schedule started the run for; not set in other runs
  LOOPS_CONTEXT_NAME             value of context.NAME, of scripts only, as all that follow
  LOOPS_CAPTURED_NAME            what the capture NAME printed
  LOOPS_PREV_OUTPUT              what the last state printed
  LOOPS_ITEM, LOOPS_ITEM_...     the item of a state with for_each; also under its name (as), with _INDEX and _COUNT
  ..._FILE                       in place of one that is too long: a file that holds it
  LOOPS_NOTIFY_...               what notifications tell, of their commands only: see loops notify --help
  LOOPS_ACTION, LOOPS_ANCESTORS  for loops itself: which action a process belongs to, and inside which runs it is`,
	}
}

// helpIDs is about how runs are named.
func helpIDs() *cobra.Command {
	return &cobra.Command{Use: "ids", Short: "How runs are named, and what else names one", Long: `A run has one id for
life: the name of its loop, a dash, and the second of its start in UTC, as in fix-20261121T103405. If two
runs of a loop begin in the same second, the later one gets the next free second. Times are local in text and RFC 3339
in JSON; only ids are in UTC.

Where a command takes a run, it takes any of these:

  fix-20261121T103405    the id
  fix-20261121           the beginning of an id, if no other run has it
  fix                    a loop: its newest run, or the newest that the command can do something with
  last                   the newest run of the project, unless a loop has this name
  2026-11-21T103405      the time in the id, if no other run has it (run_id in JSON)
  2026-11-21T103405-fix  the folder of the run in the archive

An id never changes: not by a resume, nor in an archive, a copy or an import. A fork is a new run and has an id of its own.`}
}

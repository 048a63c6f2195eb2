package cli

import "github.com/spf13/cobra"

// newEnvironmentTopic is "loops help environment". A test finds variables that it lacks.
func newEnvironmentTopic() *cobra.Command {
	return &cobra.Command{Use: "environment", Short: "Environment variables that loops reads and sets", Long: `Environment variables that loops reads. A flag wins over the variable, and the variable over files of settings ("loops
help config").

  LOOPS_STORE      where runs are recorded, as --store: dir, sqlite:PATH or postgres://USER@HOST/NAME
  LOOPS_CATALOG    a folder of loops that every project may use
  LOOPS_SERVE_TOKEN  the token that loops serve asks for, 32 characters or more (default: another one each time)
  LOOPS_HOST       agent CLI of prompts and judges that name none, as --host: claude, codex, gemini, qwen, kimi, opencode,
                   or one that .loops/config.yaml declares. A host that the loop names wins.
  LL_HOST_CLI      the same, of the reference tool; read where LOOPS_HOST is not set
  XDG_CONFIG_HOME  where a person's settings are, in loops/config.yaml; $HOME/.config if it is not set
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

  LOOPS_RUN_ID, LOOPS_RUN_DIR    the run, and a folder of its own
  LOOPS_STATE, LOOPS_STEP        the state, and the number of this step, from 1
  LOOPS_ATTEMPT                  how often this step was started; more than 1 after a crash
  LOOPS_CONTEXT_NAME             value of context.NAME, of scripts only, as all that follow
  LOOPS_CAPTURED_NAME            what the capture NAME printed
  LOOPS_PREV_OUTPUT              what the last state printed
  LOOPS_ITEM, LOOPS_ITEM_...     the item of a state with for_each; also under its name (as), with _INDEX and _COUNT
  ..._FILE                       in place of one that is too long: a file that holds it
  LOOPS_NOTIFY_...               what notifications tell, of their commands only: see loops notify --help
  LOOPS_ACTION, LOOPS_ANCESTORS  for loops itself: which action a process belongs to, and inside which runs it is`}
}

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newHelpCommand is "loops help".
func newHelpCommand(a *program, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC...]",
		Short: "Show help for a command or a topic",
		Long: "help shows the help of a command, or a topic. help rule NAME explains the rule whose name is in " +
			"brackets after a\nmessage of validate. help language CHAPTER prints a chapter of the language page, on " +
			"a terminal in $PAGER; help key NAME prints what a key of a loop file means.\n" +
			"A NAME that is no command and no topic is looked for in both." + exitHelp(exitOK, exitFailed, exitUsage),
		Example: "  loops help run\n  loops help exit-codes\n  loops help rule unknown-state\n" +
			"  loops help language lists\n  loops help key for_each",
		RunE: func(help *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "rule" {
				return printRule(a.out, args[1:])
			}
			if len(args) > 0 && helpNamed(args[0]) {
				return a.printReference(help.Context(), args[0], args[1:])
			}
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == nil || len(rest) > 0 || cmd == root && len(args) > 0 {
				if topic := helpTopicOf(args); topic != "" {
					return a.printReference(help.Context(), topic, args)
				}
				return usageError{"there is no help for " + strings.Join(args, " "), "loops --help"}
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// addCompletion adds the commands that print completion scripts, with help like that of all others.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Short = "Print a script that completes commands in your shell"
		c.Long =
			`completion prints a script that makes a shell complete commands, flags and their values: loops, states and
steps, runs (behind stop the running ones, behind resume those that can be resumed), formats and files.

To have it in every new shell, once:

  bash         loops completion bash > ~/.local/share/bash-completion/completions/loops
  zsh          loops completion zsh > "${fpath[1]}/_loops"
  fish         loops completion fish > ~/.config/fish/completions/loops.fish
  powershell   loops completion powershell >> $PROFILE

bash needs the package bash-completion, and zsh the line "autoload -U compinit; compinit" in ~/.zshrc.` + exitHelp(exitOK, exitFailed, exitUsage)
		c.Example = "  source <(loops completion bash)       in this shell only\n  loops completion fish | source"
		for _, shell := range c.Commands() {
			shell.Long = strings.TrimSpace(shell.Long) + exitHelp(exitOK, exitFailed, exitUsage)
			shell.Example = "  loops completion " + shell.Name()
			shell.Args = arguments(0, 0, "")
		}
		c.Args = arguments(1, 1, "bash, zsh, fish or powershell")
		c.RunE = func(_ *cobra.Command, args []string) error {
			return usageError{
				"there is no shell " + args[0] + " here; expected bash, zsh, fish or powershell",
				"loops completion --help",
			}
		}
	}
	// Cobra adds it last; it is listed before the command man and what follows that.
	for _, c := range root.Commands() {
		if slices.Contains([]string{"man", "schedule", "version", "upgrade"}, c.Name()) {
			root.RemoveCommand(c)
			root.AddCommand(c)
		}
	}
}

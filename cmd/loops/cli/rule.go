package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/humanize"
	"loops/internal/view"
)

// newRulesTopic is "loops help rules". Its text is made when a user asks.
func newRulesTopic(a *program) *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "What validate looks for"}
	cmd.SetHelpFunc(func(*cobra.Command, []string) { view.PrintRules(a.out) })
	return cmd
}

// printRule is "loops help rule NAME".
func printRule(out io.Writer, args []string) error {
	switch {
	case len(args) == 0:
		return usageError{"missing argument: NAME of a rule", "loops help rules"}
	case len(args) > 1:
		return usageError{fmt.Sprintf("unexpected argument %q", args[1]), "loops help rules"}
	}
	name := strings.Trim(args[0], "[]") // as a message shows it
	var names []string
	for _, r := range view.RuleList() {
		if r.Name == name {
			_, err := io.WriteString(out, view.RuleText(r))
			return err
		}
		names = append(names, r.Name)
	}
	return usageError{
		fmt.Sprintf("there is no rule %s%s", humanize.Quote(name), humanize.DidYouMean(name, names)),
		"loops help rules",
	}
}

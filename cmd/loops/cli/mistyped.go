package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/helppage"
)

// noSuchCommand refuses words after a group of commands that are not one of its commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{noCommand(args[0], helppage.Near(cmd, args[0])), cmd.CommandPath() + " --help"}
}

// noCommand is the message about a word that is not a command.
func noCommand(word string, near []string) string {
	text := fmt.Sprintf("there is no command %q", word)
	if len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return text
}

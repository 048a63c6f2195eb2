package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/config"
)

// helpSettings is about the keys of config.yaml.
func helpSettings() *cobra.Command {
	cmd := &cobra.Command{Use: "settings", Short: "The keys of config.yaml"}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		var b strings.Builder
		for _, k := range config.Keys() {
			text := k.Means
			if k.Default != "" {
				text += " Default: " + k.Default + "."
			}
			fmt.Fprintf(&b, "  %-22s  %s\n", k.Name, text)
		}
		topic := *cmd
		topic.Long = "The keys of .loops/config.yaml, and of the user's file. docs/config.md has an " +
			"example of each.\n\n" + b.String()
		helpPrint(&topic)
	})
	return cmd
}

// helpNotifications is about the kinds of notifications.
func helpNotifications() *cobra.Command {
	cmd := &cobra.Command{Use: "notifications", Short: "What the key on of a notification can list"}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		var b strings.Builder
		for _, k := range config.NotifyKinds {
			star := " "
			if k.Unasked {
				star = "*"
			}
			fmt.Fprintf(&b, "\n  %s %-12s  the run %s", star, k.Name, k.Means)
		}
		topic := *cmd
		topic.Long = "What the key on of a notification can list. Those with a star are sent where it is missing.\n" +
			b.String()
		helpPrint(&topic)
	})
	return cmd
}

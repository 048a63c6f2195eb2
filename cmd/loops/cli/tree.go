package cli

import (
	"github.com/spf13/cobra"

	"loops/internal/handover"
)

// A branch is a command or topic of loops that is not built yet.
type branch struct {
	name   string
	stored bool // it has the flag --store
	build  func(*app) *cobra.Command
}

// tree is all commands and topics, in the order in which they are added. To build them all takes longer than most of them
// run, so an invocation builds the one that it is for; see needed.
func tree() []branch {
	return []branch{
		{"run", true, newRunCommand},
		{"resume", true, newResumeCommand},
		{"fork", true, newForkCommand},
		{"list", true, newListCommand},
		{"history", true, newHistoryCommand},
		{"events", true, newEventsCommand},
		{"logs", true, newLogsCommand},
		{"explain", true, newExplainCommand},
		{"diff", true, newDiffCommand},
		{"stats", true, newStatsCommand},
		{"cost", true, newCostCommand},
		{"status", true, newStatusCommand},
		{"stop", true, newStopCommand},
		{"retry-now", true, newRetryNowCommand},
		{"sweep", true, newSweepCommand},
		{"prune", true, newPruneCommand},
		{"rm", true, newRmCommand},
		{"export", true, newExportCommand},
		{"import", true, newImportCommand},
		{"store", false, newStoreCommand},
		{"config", false, newConfigCommand},
		{"validate", false, newValidateCommand},
		{"show", true, newShowCommand},
		{"render", false, newRenderCommand},
		{"simulate", false, newSimulateCommand},
		{"test", false, newTestCommand},
		{"graph", true, newGraphCommand},
		{"report", true, newReportCommand},
		{"new", false, newNewCommand},
		{"install", false, newInstallCommand},
		{"fragments", false, newFragmentsCommand},
		{"promote-baseline", true, newPromoteBaselineCommand},
		{"schema", false, newSchemaCommand},
		{"version", false, newVersionCommand},
		{"man", false, newManCommand},
		{mcpCall, false, newMCPCallCommand},
		{"mcp", true, newMCPCommand},
		{"doctor", true, newDoctorCommand},
		{"exit-codes", false, func(*app) *cobra.Command { return newExitCodesTopic() }},
		{"environment", false, func(*app) *cobra.Command { return newEnvironmentTopic() }},
		{"rules", false, newRulesTopic},
		{"policy", false, newPolicyCommand},
		{"notify", false, newNotifyCommand},
		{"stage", false, newStageCommand},
		{handover.Command, false, newBackgroundCommand},
		{"queue", false, newQueueCommand},
		{"schedule", false, newScheduleCommand},
		{"attach", true, newAttachCommand},
		{"watch", true, newWatchCommand},
		{"pause", true, newPauseCommand},
		{"unpause", true, newUnpauseCommand},
	}
}

// grow adds the command to root.
func (b branch) grow(a *app, root *cobra.Command) {
	cmd := b.build(a)
	if b.stored {
		a.addStore(cmd)
	}
	root.AddCommand(cmd)
}

// needed returns the one command that a command line is for, if its first word says that; else "", which stands for all: they
// are needed for help, for completion and for what was mistyped.
func needed(args []string) string {
	if len(args) == 0 || args[0] == "man" {
		return ""
	}
	for _, b := range tree() {
		if b.name == args[0] {
			return b.name
		}
	}
	return ""
}

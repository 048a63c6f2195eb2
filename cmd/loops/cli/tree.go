package cli

import (
	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/exitcode"
	"loops/cmd/loops/cli/helppage"
	"loops/internal/handover"
)

// The groups of commands, in the order in which help shows them; they are their titles too.
const (
	groupRun      = "Run"
	groupLook     = "Look"
	groupWrite    = "Write"
	groupKeep     = "Keep"
	groupSetUp    = "Set up"
	groupPlumbing = "Plumbing"
)

// Help lists commands in the order of tree.
func init() { cobra.EnableCommandSorting = false }

// A branch is a command or topic of loops that is not built yet.
type branch struct {
	name   string
	group  string // of the help; "" = none: a topic, or a command that users do not type
	stored bool   // it has the flag --store
	build  func(*app) *cobra.Command
}

// tree is all commands and topics, in the order in which they are added. To build them all takes longer than most of them
// run, so an invocation builds the one that it is for; see needed.
func tree() []branch {
	return []branch{
		{"run", groupRun, true, newRunCommand},
		{"submit", groupRun, true, newSubmitCommand},
		{"resume", groupRun, true, newResumeCommand},
		{"stop", groupRun, true, newStopCommand},
		{"pause", groupRun, true, newPauseCommand},
		{"unpause", groupRun, true, newUnpauseCommand},
		{"answer", groupRun, true, newAnswerCommand},
		{"signal", groupRun, true, newSignalCommand},
		{"fork", groupRun, true, newForkCommand},
		{"extend", groupRun, true, newExtendCommand},
		{"retry-now", groupRun, true, newRetryNowCommand},
		{"status", groupLook, true, newStatusCommand},
		{"watch", groupLook, true, newWatchCommand},
		{"list", groupLook, true, newListCommand},
		{"runs", groupLook, true, newRunsCommand},
		{"logs", groupLook, true, newLogsCommand},
		{"explain", groupLook, true, newExplainCommand},
		{"report", groupLook, true, newReportCommand},
		{"graph", groupLook, true, newGraphCommand},
		{"stats", groupLook, true, newStatsCommand},
		{"diff", groupLook, true, newDiffCommand},
		{"cost", groupLook, true, newCostCommand},
		{"attach", groupLook, true, newAttachCommand},
		{"serve", groupLook, true, newServeCommand},
		{"new", groupWrite, false, newNewCommand},
		{"validate", groupWrite, false, newValidateCommand},
		{"show", groupWrite, true, newShowCommand},
		{"simulate", groupWrite, false, newSimulateCommand},
		{"test", groupWrite, false, newTestCommand},
		{"render", groupWrite, false, newRenderCommand},
		{"schema", groupWrite, false, newSchemaCommand},
		{"sign", groupWrite, false, newSignCommand},
		{"install", groupWrite, false, newInstallCommand},
		{"fragments", groupWrite, false, newFragmentsCommand},
		{"history", groupKeep, true, newHistoryCommand},
		{"prune", groupKeep, true, newPruneCommand},
		{"rm", groupKeep, true, newRmCommand},
		{"export", groupKeep, true, newExportCommand},
		{"import", groupKeep, true, newImportCommand},
		{"store", groupKeep, false, newStoreCommand},
		{"sweep", groupKeep, true, newSweepCommand},
		{"doctor", groupSetUp, true, newDoctorCommand},
		{"config", groupSetUp, false, newConfigCommand},
		{"notify", groupSetUp, false, newNotifyCommand},
		{"man", groupSetUp, false, newManCommand},
		{"schedule", groupSetUp, false, newScheduleCommand},
		{"version", groupSetUp, false, newVersionCommand},
		{"upgrade", groupSetUp, false, newUpgradeCommand},
		{"events", groupPlumbing, true, newEventsCommand},
		{"stage", groupPlumbing, false, newStageCommand},
		{"queue", groupPlumbing, false, newQueueCommand},
		{"policy", groupPlumbing, false, newPolicyCommand},
		{"promote-baseline", groupPlumbing, true, newPromoteBaselineCommand},
		{"mcp", groupPlumbing, true, newMCPCommand},
		{"worker", groupSetUp, true, newWorkerCommand},
		{"workers", groupLook, true, newWorkersCommand},
		{mcpCall, "", false, newMCPCallCommand},
		{"exit-codes", "", false, func(*app) *cobra.Command { return exitcode.Topic() }},
		{"environment", "", false, func(*app) *cobra.Command { return helppage.Environment() }},
		{"ids", "", false, func(*app) *cobra.Command { return helppage.IDs() }},
		{"rules", "", false, newRulesTopic},
		{"settings", "", false, newSettingsTopic},
		{"notifications", "", false, newNotificationsTopic},
		{"scopes", "", false, func(*app) *cobra.Command { return helppage.Scopes() }},
		{"background", "", false, func(*app) *cobra.Command { return helppage.Background() }},
		{"worktrees", "", false, func(*app) *cobra.Command { return helppage.Worktrees() }},
		{handover.Command, "", false, newBackgroundCommand},
	}
}

// grow adds the command to root.
func (b branch) grow(a *app, root *cobra.Command) {
	cmd := b.build(a)
	cmd.GroupID = b.group
	if b.stored {
		a.addStore(cmd)
	}
	root.AddCommand(cmd)
}

// needed returns the one command that a command line is for, if its first word names it; else "", which means all: they
// are needed for help, for completion and for mistyped commands.
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

package cli

import (
	"github.com/spf13/cobra"

	"loops/internal/worker"
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
	name  string
	group string // of the help; "" = none: a topic, or a command that users do not type
	// none, stored: it has the flag --store, or looks: it changes none of them, and also has the flag
	// --all-projects
	runs  int
	build func(*program) *cobra.Command
}

const none, stored, looks = 0, 1, 2

// tree is all commands and topics, in the order in which they are added. To build them all takes longer than
// most of them run, so an invocation builds the one that it is for; see needed.
func tree() []branch {
	return []branch{
		{"run", groupRun, stored, newRunCommand},
		{"goal", groupRun, stored, newGoalCommand},
		{"submit", groupRun, stored, newSubmitCommand},
		{"resume", groupRun, stored, newResumeCommand},
		{"stop", groupRun, stored, newStopCommand},
		{"pause", groupRun, stored, newPauseCommand},
		{"unpause", groupRun, stored, newUnpauseCommand},
		{"answer", groupRun, stored, newAnswerCommand},
		{"unblock", groupRun, stored, newUnblockCommand},
		{"signal", groupRun, stored, newSignalCommand},
		{"retry", groupRun, stored, newRetryCommand},
		{"fork", groupRun, stored, newForkCommand},
		{"undo", groupRun, stored, newUndoCommand},
		{"extend", groupRun, stored, newExtendCommand},
		{"retry-now", groupRun, stored, newRetryNowCommand},
		{"status", groupLook, looks, newStatusCommand},
		{"watch", groupLook, stored, newWatchCommand},
		{"list", groupLook, looks, newListCommand},
		{"runs", groupLook, looks, newRunsCommand},
		{"logs", groupLook, looks, newLogsCommand},
		{"explain", groupLook, looks, newExplainCommand},
		{"blame", groupLook, looks, newBlameCommand},
		{"receipt", groupLook, looks, newReceiptCommand},
		{"verify", groupLook, looks, newVerifyCommand},
		{"report", groupLook, looks, newReportCommand},
		{"graph", groupLook, looks, newGraphCommand},
		{"stats", groupLook, looks, newStatsCommand},
		{"memory", groupLook, none, newMemoryCommand},
		{"forecast", groupLook, looks, newForecastCommand},
		{"diff", groupLook, looks, newDiffCommand},
		{"replay", groupLook, looks, newReplayCommand},
		{"cost", groupLook, looks, newCostCommand},
		{"attach", groupLook, stored, newAttachCommand},
		{"serve", groupLook, stored, newServeCommand},
		{"new", groupWrite, none, newNewCommand},
		{"validate", groupWrite, none, newValidateCommand},
		{"show", groupWrite, stored, newShowCommand},
		{"simulate", groupWrite, none, newSimulateCommand},
		{"prove", groupWrite, none, newProveCommand},
		{"test", groupWrite, none, newTestCommand},
		{"render", groupWrite, none, newRenderCommand},
		{"schema", groupWrite, none, newSchemaCommand},
		{"sign", groupWrite, none, newSignCommand},
		{"install", groupWrite, none, newInstallCommand},
		{"fragments", groupWrite, none, newFragmentsCommand},
		{"history", groupKeep, looks, newHistoryCommand},
		{"prune", groupKeep, stored, newPruneCommand},
		{"rm", groupKeep, stored, newRmCommand},
		{"scrub", groupKeep, stored, newScrubCommand},
		{"export", groupKeep, looks, newExportCommand},
		{"import", groupKeep, stored, newImportCommand},
		{"store", groupKeep, none, newStoreCommand},
		{"sweep", groupKeep, stored, newSweepCommand},
		{"trust", groupSetUp, none, newTrustCommand},
		{"doctor", groupSetUp, stored, newDoctorCommand},
		{"config", groupSetUp, none, newConfigCommand},
		{"notify", groupSetUp, none, newNotifyCommand},
		{"man", groupSetUp, none, newManCommand},
		{"schedule", groupSetUp, none, newScheduleCommand},
		{"version", groupSetUp, none, newVersionCommand},
		{"upgrade", groupSetUp, none, newUpgradeCommand},
		{"events", groupPlumbing, looks, newEventsCommand},
		{"stage", groupPlumbing, none, newStageCommand},
		{"queue", groupPlumbing, none, newQueueCommand},
		{"policy", groupPlumbing, none, newPolicyCommand},
		{"promote-baseline", groupPlumbing, stored, newPromoteBaselineCommand},
		{"mcp", groupPlumbing, stored, newMCPCommand},
		{"worker", groupSetUp, stored, newWorkerCommand},
		{"workers", groupLook, stored, newWorkersCommand},
		{mcpCall, "", none, newMCPCallCommand},
		{"exit-codes", "", none, func(*program) *cobra.Command { return exitTopic() }},
		{"environment", "", none, func(*program) *cobra.Command { return helpEnvironment() }},
		{"ids", "", none, func(*program) *cobra.Command { return helpIDs() }},
		{"language", "", none, func(*program) *cobra.Command { return helpLanguage() }},
		{"rules", "", none, newRulesTopic},
		{"settings", "", none, func(*program) *cobra.Command { return helpSettings() }},
		{"notifications", "", none, func(*program) *cobra.Command { return helpNotifications() }},
		{"scopes", "", none, func(*program) *cobra.Command { return helpScopes() }},
		{"background", "", none, func(*program) *cobra.Command { return helpBackground() }},
		{"worktrees", "", none, func(*program) *cobra.Command { return helpWorktrees() }},
		{worker.BackgroundCommand, "", none, newBackgroundCommand},
	}
}

// grow adds the command to root.
func (b branch) grow(a *program, root *cobra.Command) {
	cmd := b.build(a)
	cmd.GroupID = b.group
	if b.runs != none {
		a.addStore(cmd)
	}
	if b.runs == looks {
		cmd.Flags().BoolVar(&a.allProjects, "all-projects", false,
			"look at the runs of all projects that record in the same database")
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

// Package app answers what a user or an agent asks of a project, and sends their commands to its runs. What it
// returns holds all that is to be shown: a command prints it, or its object of JSON, and a tool of the MCP
// server returns that object.
//
// A [Service] has the runs, loops and questions. [ExportRun], [ImportFile] and [CopyRuns] move whole runs into a
// file, out of one, and from store to store. [FindWaiters] and [TakeOutOfQueue] are for those who wait for
// files that another run locks.
//
// [WriteLoop] writes a new loop into a project from one that others start from ([StarterNames]). [OpenLoopFile]
// and [SaveLoopFile] change a loop file: whole or not at all, never over a change of another, and never outside
// the folder of the project's loops. [PromoteBaseline] makes what a run printed what later runs are compared
// with; [DecideScores] reads the rules of a policy and the scores of a run.
//
// [Check] checks loop files and the files of a project for mistakes; its [Findings] are written as text, as objects and
// as reports for services.
//
// A [CompletionSource] offers what may be at a place of a command line; whatever is wrong, nothing is offered.
// A [UnitPlan] has systemd, launchd or cron start loops. [FindRelease] finds a newer release, and installs
// nothing. [ApplyGrants] gives the users of a database of runs their rights.
//
// An [Examination] looks at whether a machine and a project are fit to run loops. What it finds are values: a
// face shows them, asks whether prompts may be sent, and says what a command of this program is called.
package app

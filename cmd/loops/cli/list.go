package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/persistence"
)

// openRuns is among how many of the newest runs list --running looks for those that can be resumed.
const openRuns = 200

type listOptions struct {
	running, json bool
	runs          openFilter
}

func newListCommand(a *app) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the loops of the project, or the runs that are open",
		Long: `list shows the loops of the project, the files under .loops, and those of the folder that the environment variable
LOOPS_CATALOG names, if it is set. A file that cannot be read, or that lacks name, initial or states, is listed with
that mistake; validate finds every one.

With --running it shows the runs that go on now, those that wait in the queue, and those among the newest 200 of the
project that can be resumed. A run whose owner died shows as interrupted; nothing is changed. IDLE is the time since the
last event of a run that goes on, or the last line its action printed; of others, since they ended.

These choose among them, and need no --running; what is given together must hold together:

  --stuck          goes on, waits for nothing it was told to wait for, and was silent for 10 minutes, or for DURATION
  --waiting        waits: paused, for a rate limit, between states, handed off, or in the queue
  --failed-since   ended badly since WHEN: failed, timed out, capped, its budget used up, or found dead, but not stopped by a
                   person; whether it can be resumed or not; every recorded run of the project is looked at
  --status         has this status, or one of several: running, interrupted, user_stopped, awaiting_continuation,
                   failed, queued, unreadable, starting, "unknown owner"; with --failed-since only failed, timed_out and interrupted` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops list
  loops list --running
  loops list --stuck 30m
  loops list --waiting
  loops list --failed-since 1d --json
  loops list --json | jq -r .[].name`,
		Args: arguments(0, 1, "DURATION of --stuck"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.runs.check(cmd, args); err != nil {
				return err
			}
			if o.running || o.runs.chooses() {
				return runListRunning(cmd.Context(), a, o)
			}
			return runList(a, o)
		},
	}
	cmd.Flags().BoolVar(&o.running, "running", false, "list runs that go on or can be resumed")
	o.runs.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

func runList(a *app, o listOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	lib, err := p.Library()
	if err != nil {
		return err
	}
	entries, err := lib.Files.List(p.Loops)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p.CannotOpen(err)
	}
	more, err := catalogOnly(lib, entries)
	if err != nil {
		return err
	}
	if o.json {
		return ui.WriteJSON(a.out, append(ui.List(entries, entryObject), ui.List(more, func(e loopfile.Entry) any {
			m := entryObject(e).(*value.Map)
			m.Set("catalog", true)
			return m
		})...))
	}
	if len(entries)+len(more) == 0 {
		if _, err := os.Stat(p.Loops); errors.Is(err, fs.ErrNotExist) {
			ui.Say(a.out, "No loops: neither %s nor a folder above it has a folder .loops. To begin with a loop that runs: %s\n", p.Dir, a.command("new --list"))
			return nil
		}
		ui.Say(a.out, "No loops in %s. A loop is a file NAME.yaml there; to begin with one that runs: %s\n", p.Short(p.Loops), a.command("new --list"))
		return nil
	}
	writeTable(a.out, rows(entries))
	if len(more) > 0 {
		if len(entries) > 0 {
			fmt.Fprintln(a.out)
		}
		ui.Say(a.out, "In the catalog %s:\n", p.Short(p.Catalog))
		writeTable(a.out, rows(more))
	}
	return nil
}

// catalogOnly returns the loops of the catalog whose names mean no loop of the project.
func catalogOnly(l *project.Library, entries []loopfile.Entry) ([]loopfile.Entry, error) {
	if l.Project.Catalog == "" {
		return nil, nil
	}
	more, err := l.Files.List(l.Project.Catalog)
	if err != nil {
		return nil, failure(engine.Usage, "%s=%s: %v", project.EnvCatalog, l.Project.Short(l.Project.Catalog), project.Cause(err))
	}
	own := make(map[string]bool, len(entries))
	for _, e := range entries {
		own[e.Name] = true
	}
	return slices.DeleteFunc(more, func(e loopfile.Entry) bool { return own[e.Name] }), nil
}

// rows returns loops as lines of a table.
func rows(entries []loopfile.Entry) [][]string {
	out := make([][]string, len(entries))
	for i, e := range entries {
		about := phrase.FirstLine(e.Title)
		if e.Problem != "" {
			about = "cannot run: " + phrase.FirstLine(e.Problem)
		}
		if e.Category != "" {
			about = "[" + e.Category + "] " + about
		}
		out[i] = []string{e.Name, about}
	}
	return out
}

func entryObject(e loopfile.Entry) any {
	m := value.NewMap(
		"name", e.Name, "path", e.Path, "description", e.Title, "category", ui.OrNull(e.Category), "labels", ui.Texts(e.Labels),
		"visibility", ui.OrNull(e.Visibility),
	)
	if e.Problem != "" {
		m.Set("problem", e.Problem)
	}
	return m
}

func since(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return phrase.Ago(time.Since(t))
}

// statusObject is a run as one flat JSON object, in the words of the state file.
func statusObject(p *project.Project, store *project.Records, r persistence.Run) *value.Map {
	held := project.Alive(r)
	var pid any
	if r.Owner.PID != 0 {
		pid = int64(r.Owner.PID)
	}
	m := value.NewMap(
		"loop", r.Loop, "loop_name", r.Loop, "run_id", r.RunID, "instance_id", string(r.ID), "status", ui.OrNull(string(r.Status)),
		"current_state", r.State, "iteration", int64(r.Step), "iteration_count", int64(r.Passes), "max_steps", orNone(r.MaxSteps),
		"started_at", ui.Stamp(r.StartedAt), "updated_at", ui.Stamp(r.UpdatedAt), "elapsed_ms", inspect.Elapsed(r).Milliseconds(),
		"pid", pid, "alive", held, "owner", ownerObject(r.Owner), "archived", r.Archived, "resumable", r.Resumable && !held,
		"terminated_by", ui.OrNull(r.Ended), "error", ui.OrNull(r.Error), "continuation_prompt", ui.OrNull(r.Continuation),
		"reconciled_at", ui.Stamp(r.Reconciled), "file", ui.OrNull(r.File), "events_file", ui.OrNull(r.Events),
		"run_dir", filepath.Join(p.Loops, "runs", string(r.ID))+"/",
	)
	ui.AddOrigin(m, r)
	addTree(m, r)
	if !store.Files {
		m.Set("store", store.Name)
	}
	if len(r.Damage) > 0 {
		m.Set("damage", ui.Texts(r.Damage))
	}
	return m
}

func ownerObject(o persistence.Owner) any {
	if o.PID == 0 {
		return nil
	}
	m := value.NewMap("pid", int64(o.PID), "host", ui.OrNull(o.Host), "boot", ui.OrNull(o.Boot), "start", nil)
	if o.Start != 0 {
		m.Set("start", o.Start)
	}
	return m
}

func orNone(n int) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

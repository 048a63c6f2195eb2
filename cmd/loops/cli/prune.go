package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/live"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// pruneHelp is the command line that prints the help of prune.
const pruneHelp = "loops prune --help"

type pruneOptions struct {
	keepLast            int
	olderThan, maxSize  string
	dryRun, json, quiet bool
}

func newPruneCommand(a *program) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old runs",
		Long: `prune removes runs of the project that have ended, with their working folders and logs, and reports which ones, and the
space that was freed.

A run that is running or queued, can be resumed or cannot be read is never removed; loops rm removes single ones. These
flags choose what is removed. Without them, the retention settings do, which the first run of each day also applies
("loops help config"):

  --keep-last N       keep the newest N runs of each loop; alone: remove all others
  --older-than AGE    remove runs last recorded longer ago
  --max-size SIZE     remove the oldest until all runs together take at most this

Together: the runs that --keep-last keeps stay; of the others, those that are too old are removed, and then the
oldest until the rest is small enough. The size of a run is that of its records, of its logs and of the files in its
working folder.
--dry-run prints the same and removes nothing.

If prune is killed, each run is either whole or gone; the next rm, prune or sweep removes what is left of its files.
In a database the space is used again for other runs; a SQLite file does not shrink. A run that was copied to
another store has one working folder and one log with the copy: prune removes them.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "done, also if nothing had to go"},
				exitMeaning{Code: exitFailed, Text: "a run is gone, but not all of its files"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitInvalid, Text: "the config has mistakes about what goes"},
				exitMeaning{Code: exitNotFound, Text: "no database of runs there"},
				exitMeaning{
					Code: exitConflict,
					Text: "a run was taken over meanwhile and stays, or another process has the records for too long",
				},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops prune --keep-last 20 --older-than 30d --dry-run    what would be removed
  loops prune --max-size 2G
  loops prune --dry-run                                    what the retention of the config would remove now
  loops prune --keep-last 0                                every run that ended and cannot be resumed`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			policy, err := o.policy(cmd)
			if err != nil {
				return err
			}
			return runPrune(cmd.Context(), a, o, policy)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.keepLast, "keep-last", 0, "keep the newest `N` runs of each loop")
	flags.StringVar(&o.olderThan, "older-than", "",
		"remove runs last recorded longer ago than `AGE`: 45s, 30m, 12h, 30d")
	flags.StringVar(&o.maxSize, "max-size", "", "remove the oldest until all take at most `SIZE`: 500M, 2G")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be removed, and remove nothing")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	flagQuiet(cmd.Flags(), &o.quiet)
	return cmd
}

// policy is what the flags allow to be removed; nil = there are no such flags, so the retention of the config applies.
func (o pruneOptions) policy(cmd *cobra.Command) (p *engine.Policy, err error) {
	given := cmd.Flags().Changed
	if !given("keep-last") && !given("older-than") && !given("max-size") {
		return nil, nil
	}
	if o.keepLast < 0 {
		return p, usageError{fmt.Sprintf("--keep-last %d: expected 0 or more", o.keepLast), pruneHelp}
	}
	p = &engine.Policy{KeepLast: o.keepLast, MaxSize: -1}
	if given("older-than") {
		if p.OlderThan, err = app.ParseAge(o.olderThan); err != nil || p.OlderThan == 0 {
			return p, usageError{
				fmt.Sprintf("--older-than %q: expected a number above 0 and s, m, h or d, such as 30d", o.olderThan),
				pruneHelp,
			}
		}
	}
	if given("max-size") {
		p.MaxSize, err = parseBytes("--max-size", o.maxSize, pruneHelp)
	}
	return p, err
}

func runPrune(ctx context.Context, a *program, o pruneOptions, policy *engine.Policy) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	shown := live.WatchProgress(e, a.meter("Removing runs", o.quiet || o.json, nil))
	pruned, err := e.Prune(ctx, engine.PruneRequest{Policy: policy, DryRun: o.dryRun})
	shown()
	if errors.Is(err, engine.ErrNoPolicy) {
		return usageError{"nothing says what may go: give --keep-last, --older-than or --max-size, or set " +
			"retention in .loops/" + config.Name, pruneHelp}
	}
	if err = a.refused(err); pruned == nil {
		return err
	}
	finished, gone := view.CutShort(pruned.Gone)
	view.TellTrees(a.page(), gone)
	if most := pruned.Policy.MaxSize; most >= 0 && pruned.Bytes > most {
		limit := "retention.max_size"
		if o.maxSize != "" {
			limit = "--max-size " + o.maxSize
		}
		terminal.Say(a.Err, "loops: what stays takes %s, more than %s: %s\n", humanize.Bytes(pruned.Bytes), limit,
			view.KeptText(pruned.Kept))
	}
	return errors.Join(err,
		view.TellPruned(a.page(), view.PruneShown{DryRun: o.dryRun, JSON: o.json, Failed: err != nil}, *pruned, gone,
			finished))
}

// parseBytes reads a number of bytes: 512, 20M, 1.5G, 2GiB. The letters mean powers of 1024.
func parseBytes(flag, s, see string) (int64, error) {
	if n, ok := humanize.ParseSize(s); ok {
		return n, nil
	}
	return 0, usageError{fmt.Sprintf("%s %q: expected a size such as 500M or 2G", flag, s), see}
}

// meter shows on standard error how far long work has come; nil = it does not. The caller ends it.
func (a *program) meter(what string, quiet bool, count func(int64) string) *terminal.Meter {
	if quiet {
		return nil
	}
	m := &terminal.Meter{
		Out: terminal.Verbatim(a.Err), What: what, Width: terminal.BarWidth(a.Err, a.getenv),
		ASCII: terminal.OnlyASCII(a.getenv), Count: count,
	}
	return m.Above(a.Out, a.Err)
}

// reading returns a context with which a command reads records of runs, and shows on a terminal how many were
// read until end is called.
func (a *program) reading(ctx context.Context) (_ context.Context, end func()) {
	n := new(atomic.Int64)
	return persistence.WithReads(ctx, n),
		signalTidied(a.meter("Reading records of runs", terminal.BarWidth(a.Err, a.getenv) == 0, nil).Follow(n))
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/persistence"
)

// How many lines history prints unless told.
const (
	tailRuns   = 20
	tailEvents = 50
)

type historyOptions struct {
	name, run     string
	tail          int // -1 = the default
	event, state  string
	since         string
	verbose, json bool
}

func newHistoryCommand(a *app) *cobra.Command {
	o := historyOptions{tail: -1}
	cmd := &cobra.Command{
		Use:   "history NAME [RUN]",
		Short: "Show the runs of a loop, or what happened in one",
		Long: `history NAME lists the runs of a loop, newest first. history NAME RUN shows the events of one run, oldest first; RUN is
an id as the list shows it, or "last".

Output of actions is left out unless -v is given. With --json nothing is left out but what -e, -s, -S and -n say.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops history fix
  loops history fix last
  loops history fix 2026-11-21T103405 --event route --tail 10
  loops history fix --since 2d --json`,
		Args:              arguments(1, 2, "NAME of a loop"),
		ValidArgsFunction: a.completeLoops,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if len(args) > 1 {
				o.run = args[1]
			}
			if cmd.Flags().Changed("tail") && o.tail < 0 {
				return usageError{fmt.Sprintf("--tail %d: expected 0 (all) or more", o.tail), "loops history --help"}
			}
			return runHistory(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&o.tail, "tail", "n", -1, "the last `N` only, 0 = all (default 20 runs or 50 events)")
	flags.Lookup("tail").DefValue = "0" // -1 is no default to show
	flags.StringVarP(&o.event, "event", "e", "", "only events of this `KIND`")
	flags.StringVarP(&o.state, "state", "s", "", "only events about this `STATE`")
	flags.StringVarP(&o.since, "since", "S", "", "only what is newer than `AGE`: 45s, 30m, 1h, 2d")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show output of actions too")
	flags.BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

func runHistory(ctx context.Context, a *app, o historyOptions) error {
	var after time.Time
	if o.since != "" {
		age, err := parseAge(o.since)
		if err != nil {
			return err
		}
		after = time.Now().Add(-age)
	}
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := finder{p, store}
	if o.run == "" {
		return historyRuns(ctx, a, f, o, after)
	}
	run, err := pickRun(ctx, f, o.name, o.run)
	if err != nil {
		return err
	}
	return historyEvents(ctx, a, f, run, o, after)
}

// parseAge reads 45s, 30m, 1h or 2d.
func parseAge(s string) (time.Duration, error) {
	bad := usageError{fmt.Sprintf("--since %q: expected a number and s, m, h or d, such as 30m", s), "loops history --help"}
	if s == "" {
		return 0, bad
	}
	unit, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if !ok || err != nil || n > uint64(100*365*24*time.Hour/unit) {
		return 0, bad
	}
	return time.Duration(n) * unit, nil
}

func historyRuns(ctx context.Context, a *app, f finder, o historyOptions, after time.Time) error {
	limit := o.tail
	if limit < 0 {
		limit = tailRuns
	}
	if o.event != "" || o.state != "" {
		return usageError{"--event and --state select events: name the run too", "loops history --help"}
	}
	runs, err := f.loop(ctx, o.name, limit)
	if err == nil && len(runs) == 0 {
		if name := f.nameIn(o.name); name != "" && name != o.name {
			runs, err = f.loop(ctx, name, limit)
		}
	}
	if err != nil {
		return f.store.failed(err)
	}
	if len(runs) == 0 {
		if _, err := f.project.resolve(o.name); err != nil {
			return noRuns(f.project, o.name, err)
		}
	}
	var shown []persistence.Run
	for _, r := range runs {
		if r.StartedAt.After(after) || r.UpdatedAt.After(after) || after.IsZero() {
			shown = append(shown, r)
		}
	}
	if o.json {
		return writeJSON(a.out, list(shown, runObject))
	}
	if len(shown) == 0 {
		fmt.Fprintf(a.out, "No recorded runs of %s.\n", o.name)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tSTARTED\tSTEPS\tTIME\tENDED BY\tINSTANCE")
	for _, r := range shown {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.RunID, statusWord(r), clock(r.StartedAt), r.Step, duration(elapsed(r)), dash(r.Ended), r.ID)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if limit > 0 && len(runs) == limit {
		fmt.Fprintf(a.out, "The newest %d; all of them: loops history %s -n 0\n", limit, quote(o.name))
	}
	return nil
}

// noRuns says that a name has no runs and is no loop either.
func noRuns(p project, name string, err error) error {
	missing, ok := errors.AsType[*loopfile.NotFoundError](err)
	if !ok {
		return notFound(p, err)
	}
	text := fmt.Sprintf("there are no runs of %q, and no such loop", name)
	if len(missing.Near) > 0 {
		return failure(exitNotFound, "%s; did you mean %s?", text, strings.Join(missing.Near, " or "))
	}
	return failure(exitNotFound, "%s; see: loops list", text)
}

func runObject(r persistence.Run) any {
	return fsm.NewMap(
		"run_id", r.RunID, "instance_id", string(r.ID), "loop", r.Loop, "status", orNull(string(r.Status)), "started_at", stamp(r.StartedAt),
		"iterations", int64(r.Step), "duration_ms", elapsed(r).Milliseconds(), "terminated_by", orNull(r.Ended), "error", orNull(r.Error),
		"current_state", r.State,
	)
}

// pickRun finds one run of a loop.
func pickRun(ctx context.Context, f finder, loop, run string) (persistence.Run, error) {
	for _, name := range []string{loop, f.nameIn(loop)} {
		if name == "" {
			continue
		}
		var found []persistence.Run
		var err error
		if run == "last" {
			found, err = f.loop(ctx, name, 1)
		} else {
			found, err = f.run(ctx, name, run)
		}
		if err != nil {
			return persistence.Run{}, f.store.failed(err)
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return persistence.Run{}, failure(exitNotFound, "loop %s has no run %s; see: loops history %s", loop, run, quote(loop))
}

func historyEvents(ctx context.Context, a *app, f finder, run persistence.Run, o historyOptions, after time.Time) error {
	limit := o.tail
	if limit < 0 {
		limit = tailEvents
	}
	keep := func(e fsm.Event) bool {
		switch {
		case o.event != "" && e.Kind != o.event,
			!o.verbose && !o.json && o.event == "" && e.Kind == "action_output",
			e.Time.Before(after),
			o.state != "" && e.Get("state") != o.state && e.Get("from") != o.state && e.Get("to") != o.state && e.Get("final_state") != o.state:
			return false
		}
		return true
	}
	events, damage, err := lastEvents(f.store.Events(ctx, run.ID, 0), keep, limit)
	for _, d := range damage {
		fmt.Fprintf(a.Err, "loops: %v; reading goes on behind it\n", d)
	}
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.out, list(events, func(e fsm.Event) any { return eventObject(e) }))
	}
	if len(events) == 0 {
		fmt.Fprintf(a.out, "No such events in run %s.\n", run.ID)
		return nil
	}
	for _, e := range events {
		printEvent(a, e, o.verbose)
	}
	return nil
}

// printEvent prints one event as a line: time, kind, what is worth knowing.
func printEvent(a *app, e fsm.Event, verbose bool) {
	when := "        "
	if !e.Time.IsZero() {
		when = e.Time.Local().Format(time.TimeOnly)
	}
	_, is := terminal(a.Out)
	line := fmt.Sprintf("%s  %s%-16s  %s", when, strings.Repeat("  ", e.Depth), e.Kind, eventDetail(e, paint(a.coloured(a.Out)), verbose))
	line = strings.TrimRight(line, " ")
	if !verbose {
		fmt.Fprintln(a.out, line)
		return
	}
	for i, part := range strings.Split(line, "\n") {
		if is && e.Kind == "action_output" {
			part = clean(part)
		}
		if i > 0 {
			part = strings.Repeat(" ", 28) + part
		}
		fmt.Fprintln(a.out, part)
	}
}

func eventDetail(e fsm.Event, p paint, verbose bool) string {
	get := func(k string) string { return text(e.Get(k)) }
	switch e.Kind {
	case "state_enter":
		return get("state") + "  (step " + get("iteration") + ")"
	case "action_start":
		if verbose {
			return get("action")
		}
		return cut(firstLine(get("action")), 120)
	case "action_output":
		return get("line")
	case "action_complete":
		ms, _ := e.Get("duration_ms").(int64)
		line := p.green("ok")
		if code := get("exit_code"); code != "0" {
			line = p.red("exit=" + code)
		}
		line += "  " + duration(time.Duration(ms)*time.Millisecond)
		if errors := get("stderr_preview"); verbose && errors != "" {
			line += "\n" + strings.TrimRight(errors, "\n")
		}
		return line
	case "evaluate":
		return strings.TrimSpace(get("verdict") + "  " + pairs(e, "verdict"))
	case "route":
		return strings.TrimSpace(get("from") + " -> " + get("to") + "  " + pairs(e, "from", "to"))
	case "loop_complete":
		line := fmt.Sprintf("%s  after %s  [%s]", get("final_state"), stepsText(get("iterations")), get("terminated_by"))
		if get("failure_terminal") == "true" {
			line += "  failure"
		}
		return strings.TrimSpace(line + "  " + get("error"))
	}
	return pairs(e)
}

// lastEvents returns the last n events that keep accepts, 0 for all, and the damage between them. Memory is
// bounded by n.
func lastEvents(events iter.Seq2[fsm.Event, error], keep func(fsm.Event) bool, n int) (last []fsm.Event, damage []error, err error) {
	next := 0
	for e, problem := range events {
		if problem != nil {
			if !isDamage(problem) {
				return nil, damage, problem
			}
			if len(damage) < 10 {
				damage = append(damage, problem)
			}
			continue
		}
		switch {
		case !keep(e):
		case n <= 0 || len(last) < n:
			last = append(last, e)
		default:
			last[next] = e
			next = (next + 1) % n
		}
	}
	return append(last[next:len(last):len(last)], last[:next]...), damage, nil
}

// clock writes a time in the zone of the person.
func clock(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// stepsText writes the number of steps an event names.
func stepsText(n string) string {
	if n == "1" {
		return "1 step"
	}
	return n + " steps"
}

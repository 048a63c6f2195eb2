package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/host"
	"loops/internal/phrase"
)

type doctorOptions struct {
	host        string
	model       string
	permissions string
	yes, json   bool
}

func newDoctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether this machine and project are fit to run loops",
		Long: `doctor looks for what keeps loops from running, one line a finding: ok, warning or problem, and behind an arrow what to
do. It looks at the agent CLIs that loops knows and those that .loops/config.yaml declares: where they are, their version,
and which keys of a loop file they heed (schema: a judge's answer in a given form, which others are asked for in words;
cost_ceiling: they stop at a budget by themselves). A declared one is not started before it is sent a prompt: what it does
with other arguments nobody knows. It looks at bash, git and the disk, at the records of runs and what sweep would tidy up,
and at the project's configuration and prices. Nothing is changed.

Whether a login works, and an agent can answer in a given form, only a prompt can tell: doctor sends one tiny prompt and
one tiny question to each agent CLI, which uses your account and costs about a cent. On a terminal it asks first. Elsewhere
it does so with --yes only.` + exitMeanings(
			exitMeaning{exitOK, "loops can run; there may be warnings"}, exitMeaning{exitFailed, "there is a problem"},
			exitMeaning{exitUsage, "bad command line"}),
		Example: `  loops doctor
  loops doctor --host codex --yes
  loops doctor --json | jq '.[] | select(.level != "ok")'`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("host") && strings.TrimSpace(o.host) == "" {
				return usageError{"--host is empty: leave it out to look at all of them", "loops doctor --help"}
			}
			if o.permissions != project.PermissionsHost && o.permissions != fsm.PermissionsSkip {
				return usageError{fmt.Sprintf("--permissions %q: expected %s or %s", o.permissions, project.PermissionsHost, fsm.PermissionsSkip), "loops doctor --help"}
			}
			return runDoctor(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.host, "host", "", "look at this agent `HOST` only")
	flags.StringVar(&o.model, "model", "", "`MODEL` of the test (default: the host's own)")
	flags.StringVar(&o.permissions, "permissions", project.PermissionsHost, "what agents may do in the test: `host` (what their own settings allow) or skip (all, as runs let them unless they say otherwise)")
	flags.BoolVarP(&o.yes, "yes", "y", false, "send the prompts without asking")
	flags.BoolVar(&o.json, "json", false, "print a JSON array of findings; nothing is asked")
	return cmd
}

// The levels of findings.
const (
	levelOK      = "ok"
	levelWarning = "warning" // loops can run, but not all that they may want works
	levelProblem = "problem"
)

// A finding is one thing that doctor looked at.
type finding struct {
	check string
	level string
	text  string
	todo  string     // "" = nothing
	more  *value.Map // of --json; nil = nothing
}

// An examination is one invocation of doctor.
type examination struct {
	app      *app
	project  *project.Project
	config   *config.Config
	options  doctorOptions
	runner   *action.Runner
	findings []finding
}

func runDoctor(ctx context.Context, a *app, o doctorOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	defer stop()
	x := &examination{app: a, project: p, options: o}
	x.programs()
	x.files(ctx)
	x.runner, err = x.newRunner()
	if err != nil {
		return err
	}
	defer x.runner.Close() //nolint:errcheck // nothing is behind it
	found := x.hosts(ctx)
	if len(found) > 0 && x.mayPrompt(ctx, found) {
		for _, h := range found {
			x.prompt(ctx, h)
		}
	}
	if ctx.Err() != nil {
		return failure(exitFailed, "stopped before everything was looked at")
	}
	problems := 0
	for _, f := range x.findings {
		if f.level == levelProblem {
			problems++
		}
	}
	if o.json {
		if err := writeJSON(a.out, list(x.findings, findingObject)); err != nil {
			return err
		}
	}
	if problems > 0 {
		return exitError{code: exitFailed}
	}
	return nil
}

// add notes a finding, and shows it at once: some take their time.
func (x *examination) add(f finding) {
	x.findings = append(x.findings, f)
	if x.options.json {
		return
	}
	a := x.app
	paint := paint(a.coloured(a.Out))
	word := fmt.Sprintf("%-7s", f.level)
	switch f.level {
	case levelOK:
		word = paint.green(word)
	case levelWarning:
		word = paint.amber(word)
	default:
		word = paint.red(word)
	}
	line := fmt.Sprintf("%s  %-9s  %s", word, f.check, f.text)
	if f.todo != "" {
		line += " -> " + f.todo
	}
	sayLine(a.out, line)
	a.out.flush()
}

func findingObject(f finding) any {
	m := value.NewMap("check", f.check, "level", f.level, "text", f.text, "todo", orNull(f.todo))
	if f.more != nil {
		for _, key := range f.more.Keys() {
			v, _ := f.more.Get(key)
			m.Set(key, v)
		}
	}
	return m
}

// mayPrompt says whether prompts may be sent, and asks where there is somebody to ask.
func (x *examination) mayPrompt(ctx context.Context, hosts []*host.Host) bool {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	a := x.app
	_, shown := terminal(a.Err)
	answer := ""
	switch {
	case ctx.Err() != nil:
		return false
	case x.options.yes:
		return true
	case !x.options.json && shown && interactive(a.In):
		a.out.flush()
		say(a.Err, "Send one tiny prompt and one tiny question to %s? It uses your account and costs about a cent each. [y/N] ", phrase.And(names))
		lines := make(chan string, 1)
		go func() { // who answers with Ctrl-C leaves it behind, and the program ends
			line, _ := bufio.NewReader(a.In).ReadString('\n')
			lines <- line
		}()
		select {
		case answer = <-lines:
		case <-ctx.Done():
			fmt.Fprintln(a.Err)
			return false
		}
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	words := "doctor --yes"
	if x.options.host != "" {
		words = "doctor --yes --host " + quote(x.options.host)
	}
	x.add(finding{"login", levelWarning, "not tested whether prompts work with " + phrase.And(names), a.command(words), nil})
	return false
}

// newRunner returns what does prompts as runs do.
func (x *examination) newRunner() (*action.Runner, error) {
	owner, err := self()
	if err != nil {
		return nil, err
	}
	known, err := x.project.Pricer()
	if err != nil {
		known = nil // it is a finding already
	}
	r := &action.Runner{
		Dir: x.project.Dir, Env: x.app.actionEnv(), Grace: grace, Prices: known,
		Mark: fmt.Sprintf("%sdoctor/%d/%d", x.project.Mark(), owner.PID, owner.Start),
	}
	agents(x.project, r, project.Agents{Host: x.options.host, Permissions: x.options.permissions}, x.config)
	return r, nil
}

// said is an error as a command would say it, on one line.
func (x *examination) said(err error) string {
	_, text := explain(err)
	return oneLine(errors.New(text))
}

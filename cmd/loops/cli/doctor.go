package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

type doctorOptions struct {
	host, model, permissions, users string
	sandbox                         string
	yes, json, fix, secrets         bool
}

func newDoctorCommand(a *program) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this machine and project can run loops",
		Long: `doctor looks for what keeps loops from running. It prints one line for each finding: ok, warning or problem, and after
an arrow what to do. It looks at the agent CLIs that loops knows and those that .loops/config.yaml declares: where they
are, their version,
and which keys of a loop file they support (schema: a judge's answer in a given form, which other hosts are asked for
in words; cost_ceiling: they stop at a budget by themselves). A declared CLI is started only to send it a prompt. It
looks at bash, git and the disk, at the records of runs and what sweep would tidy up,
and at the project's configuration and prices. Nothing is changed without --fix.

--fix shows what can be repaired and asks before each repair, on a terminal; elsewhere it needs --yes. It takes the
rights of other users from records, writes a missing .loops/.gitignore and tidies up after dead runs. It starts no agents. The
tables of a database need no repair: any command brings them up to date.

To test logins and answers in a given form, doctor sends one tiny prompt and one tiny question to each agent CLI. This
uses your account and costs about a cent. On a terminal it asks first; elsewhere it needs --yes.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "loops can run; there may be warnings"},
			exitMeaning{Code: exitFailed, Text: "there is a problem"},
			exitMeaning{Code: exitUsage, Text: "bad command line"}),
		Example: `  loops doctor
  loops doctor --fix
  loops doctor --host codex --yes
  loops doctor --sandbox workspace
  loops doctor --secrets
  loops doctor --json | jq '.[] | select(.level != "ok")'`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("host") && strings.TrimSpace(o.host) == "" {
				return usageError{"--host is empty: leave it out to look at all of them", "loops doctor --help"}
			}
			if o.permissions != project.PermissionsHost && o.permissions != fsm.PermissionsSkip {
				return usageError{fmt.Sprintf("--permissions %q: expected %s or %s", o.permissions,
					project.PermissionsHost, fsm.PermissionsSkip), "loops doctor --help"}
			}
			if cmd.Flags().Changed("sandbox") {
				if err := project.CheckSandbox(o.sandbox); err != nil {
					return usageError{"--sandbox: " + err.Error(), "loops doctor --help"}
				}
			}
			return runDoctor(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.host, "host", "", "look at this agent `HOST` only")
	flags.StringVar(&o.model, "model", "", "`MODEL` of the test (default: the host's own)")
	flags.StringVar(&o.sandbox, "sandbox", "", "only try what the sandbox `PRESET` (off, offline, workspace or "+
		"strict) says, by breaking each of its rules")
	flags.BoolVar(&o.secrets, "secrets", false, "only look for secrets in what is recorded of all runs")
	flags.StringVar(&o.users, "auth", "", "look at the users of serve in `FILE`, too")
	flags.StringVar(&o.permissions, "permissions", project.PermissionsHost,
		"what agents may do in the test: `host` (what their own settings allow) or skip (all, as runs let them "+
			"unless they say otherwise)")
	flags.BoolVarP(&o.yes, "yes", "y", false, "send the prompts, or with --fix repair, without asking")
	flags.BoolVar(&o.fix, "fix", false, "repair what can be repaired, each after showing it")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON array of findings; nothing is asked")
	return cmd
}

// An examination is one invocation of doctor.
type examination struct {
	app.Examination
	app      *program
	options  doctorOptions
	findings []app.Finding
	yesNo    terminal.YesNo
}

func runDoctor(ctx context.Context, a *program, o doctorOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	signalDenyTerminal()
	ctx, stop := signal.NotifyContext(ctx, signalEnds...)
	defer stop()
	x := a.newExamination(p, o)
	if o.fix {
		return x.repair(ctx)
	}
	if o.sandbox != "" {
		return x.trySandbox(ctx)
	}
	if o.secrets {
		x.Secrets(ctx, a.engineOptions().Env)
		return x.finish(ctx)
	}
	found, err := x.Look(ctx, x.app.engineOptions())
	if err != nil {
		return err
	}
	defer x.Runner.Close() //nolint:errcheck // nothing is after it
	if len(found) > 0 && x.mayPrompt(ctx, found) {
		x.Test(ctx)
	}
	if o.users != "" {
		for _, f := range app.CheckUsers(a.at(o.users)) {
			x.show(f)
		}
	}
	return x.finish(ctx)
}

// trySandbox tries the rules of a sandbox, and looks at nothing else.
func (x *examination) trySandbox(ctx context.Context) error {
	runner, done, err := x.SandboxRunner()
	if err != nil {
		return err
	}
	defer done()
	x.Sandbox(ctx, runner, x.options.sandbox)
	return x.finish(ctx)
}

// finish prints what was found as JSON, if that is asked for, and reports whether there is a problem.
func (x *examination) finish(ctx context.Context) error {
	if ctx.Err() != nil {
		return failure(engine.Failed, "stopped before everything was looked at")
	}
	if x.options.json {
		if err := terminal.WriteJSON(x.app.out,
			terminal.List(x.findings, func(f app.Finding) any { return f.Object() })); err != nil {
			return err
		}
	}
	if x.problems() > 0 {
		return told(engine.Failed)
	}
	return nil
}

func (a *program) newExamination(p *project.Project, o doctorOptions) *examination {
	x := &examination{app: a, options: o}
	x.Examination = app.Examination{
		Project: p, Host: o.host, Model: o.model, Permissions: o.permissions, Start: o.yes, Found: x.show,
		Command: a.command, Said: onOneLine,
	}
	return x
}

// examine returns what doctor finds without a prompt.
func (s *served) examine(ctx context.Context) ([]app.Finding, error) {
	a := s.asking(&bytes.Buffer{})
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	x := a.newExamination(p, doctorOptions{permissions: project.PermissionsHost, json: true})
	if _, err = x.Look(ctx, a.engineOptions()); err == nil {
		err = x.Runner.Close()
	}
	return x.findings, err
}

// show notes a finding, and prints it at once.
func (x *examination) show(f app.Finding) {
	x.findings = append(x.findings, f)
	if x.options.json {
		return
	}
	app.PrintFinding(x.app.page(), f)
}

// mayPrompt reports whether prompts may be sent, and asks where a user can answer.
func (x *examination) mayPrompt(ctx context.Context, names []string) bool {
	a := x.app
	if ctx.Err() != nil {
		return false
	}
	if x.options.yes ||
		x.ask(ctx, fmt.Sprintf("Send one tiny prompt and one tiny question to %s? It uses your account and costs "+
			"about a cent each.", humanize.And(names))) {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	words := "doctor --yes"
	if x.options.host != "" {
		words = "doctor --yes --host " + quote(x.options.host)
	}
	x.show(app.Finding{Check: "login", Level: app.FindingWarning, Text: "not tested whether prompts work with " +
		humanize.And(names), Todo: a.command(words)})
	return false
}

// onOneLine is an error as a command would say it, on one line.
func onOneLine(err error) string {
	_, text := explain(err)
	return oneLine(errors.New(text))
}

package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/agent"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/persistence"
)

// How long a host may take to say its version, and to answer.
const (
	versionWait = 20 * time.Second
	answerWait  = 2 * time.Minute
)

// hosts looks at the agent hosts with the Runner, and returns those that can be started.
func (x *Examination) hosts(ctx context.Context) []*agent.CLI {
	chosen, _, err := x.Runner.FindHost("")
	if err != nil && x.Runner.Host != "" {
		x.add(Finding{"host", FindingProblem, humanize.OneLine(err), x.chooseOther(), nil})
	}
	var known []*agent.CLI
	for _, h := range append(x.Runner.Hosts[:len(x.Runner.Hosts):len(x.Runner.Hosts)], agent.Hosts()...) {
		// a declared one comes first
		twice := slices.ContainsFunc(known, func(k *agent.CLI) bool { return k.Name == h.Name })
		if !twice && (x.Host == "" || h == chosen) {
			known = append(known, h)
		}
	}
	versions := make([]hostVersion, len(known))
	var wait sync.WaitGroup
	for i, h := range known {
		wait.Go(func() { versions[i] = x.version(ctx, h) })
	}
	wait.Wait()
	var found []*agent.CLI
	for i, h := range known {
		if x.host(h, versions[i], h == chosen) {
			found = append(found, h)
		}
	}
	x.quotas()
	switch {
	case err == nil && x.Host == "":
		why := "the first that is installed"
		if x.Runner.Host != "" {
			why = "as " + x.hostFrom() + " says"
		}
		x.add(Finding{"host", FindingOK, "prompts that name no host go to " + chosen.Name + ", " + why, "", nil})
	case x.Runner.Host == "":
		x.add(Finding{"host", FindingWarning, "no agent CLI was found in PATH: loops without prompts run, those " +
			"with prompts do not", "install one of " + AgentNames(known), nil})
	}
	return found
}

// quotas says what agents reported of the limits of their accounts.
func (x *Examination) quotas() {
	all := persistence.ProjectCircuit(x.Project.Loops).Quotas()
	for _, host := range slices.Sorted(maps.Keys(all)) {
		var texts []string
		for _, w := range all[host] {
			used := "use not said"
			if w.Used >= 0 {
				used = fmt.Sprintf("%.0f%% used", w.Used*100)
			}
			texts = append(texts, w.Name+" "+used+", resets "+humanize.Clock(w.Resets))
		}
		x.add(Finding{"quota", FindingOK, host + " reported of its account: " + strings.Join(texts, "; "), "", nil})
	}
}

func (x *Examination) chooseOther() string {
	if x.Host != "" {
		return "name another with --host"
	}
	if name, _ := project.HostVariable(x.Project.Env); name == "" {
		return "name another as run.host in " + x.hostFrom() + ", or take it out"
	}
	return "set " + project.EnvHost + " to another, or unset it (and " + project.EnvReferenceHost + ")"
}

// hostFrom is where the host of prompts that name none was chosen: a variable, or a line of a config file.
func (x *Examination) hostFrom() string {
	if name, _ := project.HostVariable(x.Project.Env); name != "" {
		return name
	}
	return x.Project.SettingPlace(x.Config, "run.host")
}

// A hostVersion is what a host's program says when it is asked for it.
type hostVersion struct {
	path   string // "" = it was not found
	text   string // "" = nothing
	why    string // there is no text; "" = there is, or none was asked for
	broken bool   // it failed
}

// version finds a host's program, and asks it for its version unless people declared it: nothing says that such
// a program knows --version, and one that ignores its arguments would do its work.
func (x *Examination) version(ctx context.Context, h *agent.CLI) hostVersion {
	_, path, err := x.Runner.FindHost(h.Name)
	if err != nil {
		return hostVersion{}
	}
	if x.declared(h) {
		v := hostVersion{path: path}
		if !x.Start {
			v.why = "declared; not started: --yes tries it"
		}
		return v
	}
	res, err := x.Runner.Run(ctx, fsm.Action{
		Kind: fsm.KindShell, Text: "exec " + humanize.ShellWord(path) + " --version", State: "version-" + h.Name,
		Step: 1, Attempt: 1, Timeout: versionWait,
	}, nil)
	v := hostVersion{path: path, broken: true}
	switch {
	case err != nil:
		v.why = humanize.OneLine(err)
	case res.TimeoutKind != "":
		v.why = "its --version did not end within " + humanize.Duration(versionWait)
	case res.ExitCode != 0:
		v.why = fmt.Sprintf("its --version ended with exit code %d", res.ExitCode)
		if line := humanize.FirstLine(strings.TrimSpace(res.Stderr)); line != "" {
			v.why += ": " + humanize.Cut(humanize.PlainLine(line), 120)
		}
	default:
		v.broken = false
		if v.text = humanize.Cut(humanize.PlainLine(humanize.FirstLine(strings.TrimSpace(res.Stdout))), 60); v.text ==
			"" {
			v.why = "it says no version"
		}
	}
	return v
}

// declared reports whether a host is one of the project's, not one that loops knows.
func (x *Examination) declared(h *agent.CLI) bool { return slices.Contains(x.Runner.Hosts, h) }

// host says what is known of a host, and whether it can be started.
func (x *Examination) host(h *agent.CLI, v hostVersion, chosen bool) bool {
	declared := x.declared(h)
	mapped, ignored := keysOf(h.Has)
	f := Finding{Check: h.Name, Level: FindingOK, More: api.FoundHost{
		Host: h.Name, Path: api.Text(v.path), Version: api.Text(v.text), Declared: declared, Documented: h.Documented,
		Mapped: mapped, Ignored: ignored,
		Usage: h.Has.Usage, Cost: h.Has.Cost, Chosen: chosen,
	}}
	switch {
	case v.path == "" && declared:
		f.Level, f.Text, f.Todo = FindingWarning, "declared, but its program "+h.Program+" was not found",
			"install it, or fix its entry in .loops/config.yaml"
	case v.path == "":
		f.Level, f.Text = FindingUntested, "not installed"
	default:
		parts := []string{v.path}
		if v.text != "" {
			parts = []string{v.text, v.path}
		}
		if h.Documented {
			parts = append(parts, "known from its documentation, not tried out")
		}
		if len(mapped) > 0 {
			parts = append(parts, "supports "+strings.Join(mapped, ", "))
		}
		switch {
		case !h.Has.Usage:
			parts = append(parts, "says neither tokens nor cost")
		case !h.Has.Cost:
			parts = append(parts, "reports tokens, no cost")
		}
		if len(ignored) > 0 {
			parts = append(parts, "not "+strings.Join(ignored, ", "))
		}
		if v.why != "" {
			parts = append(parts, v.why)
		}
		f.Text = strings.Join(parts, "; ")
		if v.broken {
			f.Level, f.Todo = FindingProblem, "run it by hand: "+filepath.Base(v.path)+" --version"
		}
	}
	x.add(f)
	return v.path != ""
}

// keysOf returns what a host follows of what a loop file can say, and what it does not.
func keysOf(has agent.Features) (mapped, ignored []string) {
	for _, k := range []struct {
		name string
		does bool
	}{
		{"model", has.Model},
		{"agent", has.Agent},
		{"tools", has.Tools},
		{"effort", has.Effort},
		{"session_mode", has.Session},
		{"permissions", has.Permissions},
		{"schema", has.Schema},
		{"cost_ceiling", has.MaxCost},
	} {
		if k.does {
			mapped = append(mapped, k.name)
		} else {
			ignored = append(ignored, k.name)
		}
	}
	return mapped, ignored
}

// The self-test of a host.
const (
	testPrompt = "This is a test of the connection. Use no tools. Answer with one word: ready"
	testJudge  = "This is a test of structured answers. Use no tools. Is the number 2 even? Say why, and quote the " +
		"question as evidence."
	// testSchema has what judges are asked for.
	testSchema = `{"type": "object", "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}, "confidence": {"type": "number"}, ` +
		`"reason": {"type": "string"}, "evidence": {"type": "string"}}, "required": ["verdict", "confidence", "reason", "evidence"], "additionalProperties": false}`
)

// prompt sends a host the prompt and the question of the self-test.
func (x *Examination) prompt(ctx context.Context, h *agent.CLI) {
	if why := x.refuses(h); why != "" {
		x.add(Finding{h.Name, FindingWarning, "not tested: " + why, x.withSkip(h), api.FoundTest{Host: h.Name}})
		return
	}
	a := fsm.Action{
		Kind: fsm.KindPrompt, Text: testPrompt, Host: h.Name, Model: x.Model, State: "prompt-" + h.Name,
		Step: 1, Attempt: 1, Timeout: answerWait,
	}
	if !x.answer(ctx, h, "login", a) {
		return
	}
	a.Kind, a.Text, a.State, a.Schema, a.Strict = fsm.KindJudge, testJudge, "judge-"+h.Name, testSchema, true
	x.answer(ctx, h, "judge", a)
}

// withSkip is the command that tests a host with leave to use tools, as most runs give it.
func (x *Examination) withSkip(h *agent.CLI) string {
	return x.Command("doctor --yes --permissions skip --host " + humanize.ShellWord(h.Name))
}

// refuses explains why a host takes no prompt with the permissions of the test; "" = it does.
func (x *Examination) refuses(h *agent.CLI) string {
	scratch, err := os.MkdirTemp("", "loops-doctor-*")
	if err != nil {
		return project.Cause(err).Error()
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // of no use any more
	if _, err = h.Command(agent.Request{
		Text: testPrompt, Scratch: scratch,
		Skip: x.Permissions == fsm.PermissionsSkip,
	}); err != nil {
		return humanize.OneLine(err)
	}
	return ""
}

// answer does one action of the self-test and reports whether it went well.
func (x *Examination) answer(ctx context.Context, h *agent.CLI, what string, a fsm.Action) bool {
	if ctx.Err() != nil {
		return false
	}
	f := Finding{Check: h.Name, Level: FindingOK}
	res, err := x.Runner.Run(ctx, a, func(string) {})
	switch reply := res.Reply; {
	case ctx.Err() != nil:
		return false
	case err != nil:
		f.Level, f.Text, f.Todo = FindingProblem, what+": "+humanize.OneLine(err), "run it by hand: "+h.Program
	case reply == nil || reply.Failure != "" || res.ExitCode != 0:
		f = failedAnswer(h, what, res)
		if reply != nil && reply.Failure == fsm.FailPermission && x.Permissions == project.PermissionsHost {
			// No run with permissions: skip is refused for that.
			f.Level, f.Todo = FindingWarning,
				"run "+h.Program+" here once by hand to trust this folder, or test it as runs use it: "+x.withSkip(h)
		}
	case what == "judge":
		f.Text = "answers in a given form" + usedText(res)
	default:
		f.Text = "login works" + usedText(res)
		if strings.TrimSpace(res.Stdout) == "" {
			f.Level, f.Text, f.Todo = FindingWarning, "it answers, but with no text"+usedText(res),
				"run it by hand: "+h.Program
		}
	}
	more := api.FoundTest{Host: h.Name, Test: api.Text(what), Duration: new(res.Duration.Milliseconds())}
	if r := res.Reply; r != nil {
		more.FoundReply = &api.FoundReply{
			Failure: api.Text(r.Failure), Model: api.Text(r.Model),
			Tokens: r.Usage.Total(), Cost: r.Cost,
		}
	}
	f.More = more
	x.add(f)
	return f.Level != FindingProblem
}

// usedText is how long an answer took and what it used.
func usedText(res fsm.Result) string {
	parts := []string{humanize.Duration(res.Duration)}
	if r := res.Reply; r != nil {
		if r.Model != "" {
			parts = append(parts, r.Model)
		}
		if n := r.Usage.Total(); n > 0 {
			parts = append(parts, fmt.Sprintf("%d tokens", n))
		}
		if r.Cost != nil {
			parts = append(parts, fmt.Sprintf("$%.4f", *r.Cost))
		}
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// failedAnswer explains why a host did not answer, and what to do about it.
func failedAnswer(h *agent.CLI, what string, res fsm.Result) Finding {
	f := Finding{Check: h.Name, Level: FindingProblem}
	class, reason := fsm.FailOther, humanize.FirstLine(strings.TrimSpace(res.Stderr))
	if r := res.Reply; r != nil && r.Failure != "" {
		class, reason = r.Failure, r.Reason
	}
	if reason == "" {
		reason = fmt.Sprintf("exit code %d", res.ExitCode)
	}
	f.Text = what + " fails: " + humanize.Cut(humanize.PlainLine(reason), 200) + " [" + string(class) + "]"
	byHand := "run it by hand: " + h.Program
	switch class {
	case fsm.FailAuth:
		f.Todo = "log in by hand: " + h.Program + ", or set its API key in the environment"
	case fsm.FailRateLimited:
		f.Level, f.Todo = FindingWarning, "wait; runs wait by themselves"
	case fsm.FailTransient:
		f.Level, f.Todo = FindingWarning, "try again; look at the network and its proxy"
	case fsm.FailBilling:
		f.Todo = "raise the limit of the account, or pay"
	case fsm.FailModel:
		f.Todo = "choose a model that the host has: --model, or llm.model in the loop file"
	case fsm.FailAdminLimit:
		f.Todo = "raise the ceiling in the settings of " + h.Program
	case fsm.FailSchema:
		f.Todo = "judge with another host: llm.host in the loop file"
	case fsm.FailTimeout:
		f.Todo = byHand + "; it may wait for a login or an answer"
	default:
		f.Todo = byHand
	}
	return f
}

// Look looks at all that needs no prompt, and returns the names of the agents that it found. Where there is no
// error, the caller closes the Runner.
func (x *Examination) Look(ctx context.Context, options engine.Options) (found []string, err error) {
	x.Machine(ctx)
	if x.Runner, err = x.newRunner(options); err != nil {
		return nil, err
	}
	x.found = x.hosts(ctx)
	for _, h := range x.found {
		found = append(found, h.Name)
	}
	return found, nil
}

// Test sends the prompt and the question of the self-test to each agent that was found.
func (x *Examination) Test(ctx context.Context) {
	for _, h := range x.found {
		x.prompt(ctx, h)
	}
}

// newRunner returns what does prompts as runs do.
func (x *Examination) newRunner(options engine.Options) (*action.Runner, error) {
	owner, err := engine.Self()
	if err != nil {
		return nil, err
	}
	known, err := x.Project.Pricer()
	if err != nil {
		known = nil // it is a finding already
	}
	r := &action.Runner{
		Dir: x.Project.Dir, Env: engine.ActionEnv(x.Project, options), Grace: engine.Grace, Prices: known,
		Mark: fmt.Sprintf("%sdoctor/%d/%d", x.Project.Mark(), owner.PID, owner.Start),
	}
	engine.ConfigureAgents(x.Project, r, project.Agents{Host: x.Host, Permissions: x.Permissions}, x.Config)
	return r, nil
}

package app

import (
	"context"
	"strings"

	"loops/engine/action"
	"loops/engine/project"
	"loops/internal/agent"
	"loops/internal/config"
)

// The levels of findings.
const (
	FindingOK       = "ok"
	FindingWarning  = "warning" // loops can run, but not all that they may want works
	FindingProblem  = "problem"
	FindingUntested = "-" // ok; there was nothing to look at: what is not there, and what could not be tried
)

// A Finding is one thing that was looked at.
type Finding struct {
	Check string
	Level string
	Text  string
	Todo  string // "" = nothing
	More  any    // for programs: a struct of [api] with keys of this check; nil = nothing
}

// An Examination looks at one project, and at the machine it is on. It is not safe for concurrent use.
type Examination struct {
	Project *project.Project
	Runner  *action.Runner // does prompts as runs do; Look sets it
	Config  *config.Config // what is configured for the project, once Machine found it out

	Host        string // look at this agent host only; "" = at all
	Model       string // of the test; "" = the host's own
	Permissions string // of the test: project.PermissionsHost or fsm.PermissionsSkip
	Start       bool   // declared hosts may be started

	Repairs []Repair                        // what Machine found that can be put right
	Sweep   func(ctx context.Context) error // tidies up after dead runs; nil = that is not offered

	Found   func(Finding)                // is called with each finding at once: some take their time
	Command func(words ...string) string // a command of this program, as the user would give it
	Said    func(err error) string       // an error, as a command of this program would say it, on one line

	found []*agent.CLI
}

func (x *Examination) add(f Finding) { x.Found(f) }

// AgentNames are the names of hosts, in one text.
func AgentNames(hosts []*agent.CLI) string {
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = h.Name
	}
	return strings.Join(list, ", ")
}

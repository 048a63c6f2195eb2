package cli

import (
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/worker"
	"loops/persistence"
)

// handOver returns what another process needs to carry a run that this command line asks for.
func (a *program) handOver(p *project.Project, v viewFlags, r engine.Request) worker.Handover {
	h := worker.Handover{
		Version: worker.HandoverVersion, Dir: p.Cwd, Project: a.dir, Store: a.store, Words: a.args, Request: r,
		View: worker.ChildView{
			Quiet: v.quiet, Verbose: v.verbose, JSON: v.json, Format: v.format, File: v.file,
			Costs: v.costs, Diagrams: v.diagrams,
		},
	}
	if a.colorGiven {
		h.View.Color = a.color
	}
	return h
}

// handedFlags are a view as the command line has it.
func handedFlags(v worker.ChildView) viewFlags {
	return viewFlags{
		quiet: v.Quiet, verbose: v.Verbose, json: v.JSON, format: v.Format, file: v.File, costs: v.Costs,
		diagrams: v.Diagrams,
	}
}

// handedApp returns the invocation that carries the run.
func handedApp(h worker.Handover, streams IO) *program {
	streams.Dir = h.Dir
	a := &program{IO: streams, dir: h.Project, store: h.Store, args: h.Words, color: "auto"}
	if h.View.Color != "" {
		a.color, a.colorGiven = h.View.Color, true
	}
	return a
}

// discreet is a message without the password of the store that this command line names.
func (a *program) discreet(message string) string {
	given := []string{a.store}
	if env, ok := a.getenv(project.EnvStore); ok {
		given = append(given, env)
	}
	for _, arg := range a.args {
		if _, value, _ := strings.Cut(arg, "="); argvIsPostgres(value) {
			arg = value
		}
		if argvIsPostgres(arg) {
			given = append(given, arg)
		}
	}
	for _, url := range given {
		if shown := persistence.Redacted(url); shown != url {
			message = strings.ReplaceAll(message, url, shown)
		}
	}
	return message
}

package cli

import (
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/handover"
	"loops/persistence/sqlstore"
)

// handOver returns what another process needs to carry a run that this command line asks for.
func (a *app) handOver(p *project.Project, v viewFlags, r engine.Request) handover.Handover {
	h := handover.Handover{
		Version: handover.Version, Dir: p.Cwd, Project: a.dir, Store: a.store, Words: a.args, Request: r,
		View: handover.View{Quiet: v.quiet, Verbose: v.verbose, JSON: v.json, Format: v.format, File: v.file, Costs: v.costs},
	}
	if a.colorGiven {
		h.View.Color = a.color
	}
	return h
}

// handedFlags are a view as the command line has it.
func handedFlags(v handover.View) viewFlags {
	return viewFlags{quiet: v.Quiet, verbose: v.Verbose, json: v.JSON, format: v.Format, file: v.File, costs: v.Costs}
}

// handedApp returns the invocation that carries the run.
func handedApp(h handover.Handover, streams IO) *app {
	streams.Dir = h.Dir
	a := &app{IO: streams, dir: h.Project, store: h.Store, args: h.Words, color: "auto"}
	if h.View.Color != "" {
		a.color, a.colorGiven = h.View.Color, true
	}
	return a
}

// shownArguments are the words of a command line as they may be shown and kept: without the passwords of stores.
func shownArguments(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--store":
			arg = name + "=" + sqlstore.Redacted(value)
		case i > 0 && args[i-1] == "--store", isPostgres(arg):
			arg = sqlstore.Redacted(arg)
		}
		shown[i] = arg
	}
	return shown
}

// keptArguments are the words of a command line for a log: also without the values of a run's context. Those are in the
// memory of the run, where they are needed.
func keptArguments(args []string) []string {
	kept := shownArguments(args)
	for i, arg := range kept {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--context":
			key, _, _ := strings.Cut(value, "=")
			kept[i] = name + "=" + key + "=..."
		case i > 0 && args[i-1] == "--context" && has:
			kept[i] = name + "=..."
		}
	}
	return kept
}

func isPostgres(arg string) bool {
	return strings.HasPrefix(arg, "postgres://") || strings.HasPrefix(arg, "postgresql://")
}

// discreet is a message without the password of the store that this command line names.
func (a *app) discreet(message string) string {
	given := []string{a.store}
	if env, ok := a.getenv(project.EnvStore); ok {
		given = append(given, env)
	}
	for _, arg := range a.args {
		if _, value, _ := strings.Cut(arg, "="); isPostgres(value) {
			arg = value
		}
		if isPostgres(arg) {
			given = append(given, arg)
		}
	}
	for _, url := range given {
		if shown := sqlstore.Redacted(url); shown != url {
			message = strings.ReplaceAll(message, url, shown)
		}
	}
	return message
}

// commandText is a command line for a person, of words that may be shown.
func commandText(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return "loops " + strings.Join(quoted, " ")
}

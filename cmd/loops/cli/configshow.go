package cli

import (
	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/terminal"
	"loops/internal/view"
)

type configShowOptions struct{ origin, json bool }

func newConfigShowCommand(a *program) *cobra.Command {
	var o configShowOptions
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print every setting and where it comes from",
		Long: `config show prints every setting with the value that holds for this project now. Defaults are in parentheses. --origin
shows where each value comes from (default, the file and line, the environment variable or the flag), and
which files are read.

What is wrong with the files comes last, on standard error, with exit code 3; the rest holds as it is shown. Passwords in
the URL of a store, and all of a webhook but its host, are not shown.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "done"},
				exitMeaning{Code: exitFailed, Text: "the answer could not be written out"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitInvalid, Text: "a file has mistakes, which keep runs from starting"}),
		Example: `  loops config show
  loops config show --origin
  loops config show --json | jq '.settings[] | select(.origin != "default")'`,
		Args: arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return runConfigShow(a, o) },
	}
	cmd.Flags().BoolVar(&o.origin, "origin", false, "say where each value comes from")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runConfigShow(a *program, o configShowOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	c, wrong := p.Declared()
	settings := view.SettingsOf(p, c, a.outside)
	if o.json {
		err = terminal.WriteJSON(a.out, view.Settings(p, settings, wrong, c.Warnings))
	} else {
		view.PrintSettings(a.page(), p, settings, o.origin)
	}
	for _, w := range c.Warnings {
		w.File = p.Short(w.File)
		terminal.Say(a.Err, "loops: warning: %s\n", w)
	}
	if err == nil && len(wrong) > 0 {
		err = failure(engine.Invalid, "%s", view.SettingsText(&project.SettingsError{Project: p, Problems: wrong},
			"; no run starts until that is fixed"))
	}
	return err
}

func fromEnvironment(name string) view.Origin {
	return view.Origin{Kind: "environment", Name: name, Text: "environment " + name}
}

func fromFlag(name string) view.Origin {
	return view.Origin{Kind: "flag", Name: name, Text: "flag " + name}
}

// outside returns what the command line or the environment sets a key to.
func (a *program) outside(key string) (value any, from view.Origin, ok bool) {
	variable := func(name string) bool {
		v, _ := a.getenv(name)
		value, from, ok = v, fromEnvironment(name), v != ""
		return ok
	}
	switch key {
	case "store":
		if a.store != "" {
			return a.store, fromFlag("--store"), true
		}
		variable(project.EnvStore)
	case "catalog":
		variable(project.EnvCatalog)
	case "run.host":
		if name, _ := project.HostVariable(a.Env); name != "" {
			variable(name)
		}
	case "color":
		if a.colorGiven {
			return a.color, fromFlag("--color"), true
		}
		if v, _ := a.getenv("TERM"); variable("NO_COLOR") || v == "dumb" {
			if !ok {
				from, ok = fromEnvironment("TERM"), true
			}
			value = "never"
		}
	}
	return value, from, ok
}

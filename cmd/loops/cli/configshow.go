package cli

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence/sqlstore"
)

type configShowOptions struct{ origin, json bool }

func newConfigShowCommand(a *app) *cobra.Command {
	var o configShowOptions
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print every setting and where it comes from",
		Long: `config show prints every setting with the value that holds for this project now. What nobody set is in parentheses. With
--origin it says where each value comes from (default, the file and line, the environment variable or the flag), and
which files are read.

What is wrong with the files comes last, on standard error, with exit code 3; the rest holds as it is shown. Passwords in
the URL of a store, and all of a webhook but its host, are not shown.` +
			exitMeanings(exitMeaning{exitOK, "done"}, exitMeaning{exitFailed, "the answer could not be written out"}, exitMeaning{exitUsage, "bad command line"},
				exitMeaning{exitInvalid, "a file has mistakes, which keep runs from starting"}),
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

func runConfigShow(a *app, o configShowOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	c, wrong := p.Declared()
	settings := a.settings(p, c)
	if o.json {
		err = ui.WriteJSON(a.out, value.NewMap("files", ui.List(views.ConfigFiles(p), views.ConfigFile.Object), "settings", ui.List(settings, views.Setting.Object),
			"mistakes", ui.List(wrong, mistakeObject), "warnings", ui.List(c.Warnings, mistakeObject)))
	} else {
		a.printSettings(p, settings, o.origin)
	}
	for _, w := range c.Warnings {
		w.File = p.Short(w.File)
		ui.Say(a.Err, "loops: warning: %s\n", w)
	}
	if err == nil && len(wrong) > 0 {
		err = failure(engine.Invalid, "%s", views.SettingsText(&project.SettingsError{Project: p, Problems: wrong}, "; no run starts until that is mended"))
	}
	return err
}

func (a *app) printSettings(p *project.Project, settings []views.Setting, origin bool) {
	var table [][]string
	for _, s := range settings {
		row := []string{s.Key, plain.Cut(plain.Line(s.Text), 60)}
		if origin {
			row = append(row, s.From.Text)
		}
		table = append(table, row)
	}
	views.WriteTable(a.out, table)
	if !origin {
		return
	}
	ui.Say(a.out, "\nFiles, of which a later one wins:\n")
	table = nil
	for _, f := range views.ConfigFiles(p) {
		state := "not there"
		if f.Exists {
			state = "read"
		}
		table = append(table, []string{"  " + state, f.Whose, p.Short(f.Path)})
	}
	views.WriteTable(a.out, table)
}

var fromDefault = views.Origin{Kind: "default", Text: "default"}

func fromEnvironment(name string) views.Origin {
	return views.Origin{Kind: "environment", Name: name, Text: "environment " + name}
}

func fromFlag(name string) views.Origin {
	return views.Origin{Kind: "flag", Name: name, Text: "flag " + name}
}

func mistakeObject(p config.Problem) any {
	return value.NewMap("file", p.File, "line", views.UnlessZero(p.Line), "column", views.UnlessZero(p.Col), "message", p.Text)
}

// settings are all there are, with the values that hold.
func (a *app) settings(p *project.Project, c *config.Config) (all []views.Setting) {
	for _, k := range config.Keys() {
		switch k.Form {
		case config.FormNotify:
			all = append(all, views.NotifySettings(p, c)...)
			continue
		case config.FormHosts:
			all = append(all, views.HostSettings(p, c)...)
			continue
		}
		s := views.Setting{Key: k.Name, Value: k.Value(c), From: fromDefault}
		if _, ok := c.At[k.Name]; ok {
			s.From = views.FromFile(p, c, k.Name)
		}
		if value, from, ok := a.outside(k.Name); ok {
			s.Value, s.From = value, from
		}
		switch text, _ := s.Value.(string); {
		case s.Value == nil && s.From.Kind != "default": // a file took back what a lower one said
			s.Text = "(none)"
		case s.Value == nil:
			s.Text = "(" + cmp.Or(k.Default, "none") + ")"
			if k.Form == config.FormWord || k.Form == config.FormDuration || k.Name == "store" {
				s.Value = ui.OrNull(k.Default)
			}
		case k.Name == "store":
			s.Text = sqlstore.Redacted(text)
			s.Value = s.Text
		default:
			s.Text = amountText(s.Value)
		}
		all = append(all, s)
	}
	return all
}

func amountText(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// outside returns what the command line or the environment sets a key to.
func (a *app) outside(key string) (value any, from views.Origin, ok bool) {
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

package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
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
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
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
		err = ui.WriteJSON(a.out, value.NewMap("files", ui.List(configFiles(p), configFile.object), "settings", ui.List(settings, setting.object),
			"mistakes", ui.List(wrong, mistakeObject), "warnings", ui.List(c.Warnings, mistakeObject)))
	} else {
		a.printSettings(p, settings, o.origin)
	}
	for _, w := range c.Warnings {
		w.File = p.Short(w.File)
		ui.Say(a.Err, "loops: warning: %s\n", w)
	}
	if err == nil && len(wrong) > 0 {
		err = failure(engine.Invalid, "%s", settingsText(&project.SettingsError{Project: p, Problems: wrong}, "; no run starts until that is mended"))
	}
	return err
}

func (a *app) printSettings(p *project.Project, settings []setting, origin bool) {
	var table [][]string
	for _, s := range settings {
		row := []string{s.key, plain.Cut(plain.Line(s.text), 60)}
		if origin {
			row = append(row, s.from.text)
		}
		table = append(table, row)
	}
	writeTable(a.out, table)
	if !origin {
		return
	}
	ui.Say(a.out, "\nFiles, of which a later one wins:\n")
	table = nil
	for _, f := range configFiles(p) {
		state := "not there"
		if f.exists {
			state = "read"
		}
		table = append(table, []string{"  " + state, f.whose, p.Short(f.path)})
	}
	writeTable(a.out, table)
}

// A setting is one value that holds.
type setting struct {
	key   string
	value any    // for JSON; nil = nobody set it, or the default is no single value
	text  string // for a person
	from  origin
}

// An origin is where a setting comes from.
type origin struct {
	kind string // default, file, environment or flag
	name string // of the variable or flag
	file string // absolute
	line int    // 0 = not known
	text string // for a person
}

var fromDefault = origin{kind: "default", text: "default"}

func fromEnvironment(name string) origin {
	return origin{kind: "environment", name: name, text: "environment " + name}
}

func fromFlag(name string) origin { return origin{kind: "flag", name: name, text: "flag " + name} }

func fromFile(p *project.Project, c *config.Config, key string) origin {
	at := c.At[key]
	return origin{kind: "file", file: at.File, line: at.Line, text: p.SettingPlace(c, key)}
}

func (s setting) object() any {
	m := value.NewMap("key", s.key, "value", s.value, "origin", s.from.kind)
	if s.from.name != "" {
		m.Set("name", s.from.name)
	}
	if s.from.file != "" {
		m.Set("file", s.from.file)
		m.Set("line", unlessZero(s.from.line))
	}
	return m
}

func unlessZero(n int) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func mistakeObject(p config.Problem) any {
	return value.NewMap("file", p.File, "line", unlessZero(p.Line), "column", unlessZero(p.Col), "message", p.Text)
}

// settings are all there are, with the values that hold.
func (a *app) settings(p *project.Project, c *config.Config) (all []setting) {
	for _, k := range config.Keys() {
		switch k.Form {
		case config.FormNotify:
			all = append(all, notifySettings(p, c)...)
			continue
		case config.FormHosts:
			all = append(all, hostSettings(p, c)...)
			continue
		}
		s := setting{key: k.Name, value: k.Value(c), from: fromDefault}
		if _, ok := c.At[k.Name]; ok {
			s.from = fromFile(p, c, k.Name)
		}
		if value, from, ok := a.outside(k.Name); ok {
			s.value, s.from = value, from
		}
		switch text, _ := s.value.(string); {
		case s.value == nil && s.from.kind != "default": // a file took back what a lower one said
			s.text = "(none)"
		case s.value == nil:
			s.text = "(" + cmp.Or(k.Default, "none") + ")"
			if k.Form == config.FormWord || k.Form == config.FormDuration || k.Name == "store" {
				s.value = ui.OrNull(k.Default)
			}
		case k.Name == "store":
			s.text = sqlstore.Redacted(text)
			s.value = s.text
		default:
			s.text = amountText(s.value)
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
func (a *app) outside(key string) (value any, from origin, ok bool) {
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

// notifySettings are the elements of notify, of all files.
func notifySettings(p *project.Project, c *config.Config) (all []setting) {
	for i, n := range c.Notify {
		key := "notify." + strconv.Itoa(i)
		m := value.NewMap()
		var text string
		switch {
		case n.Desktop:
			m.Set("desktop", true)
			text = "desktop"
		case n.Command != "":
			m.Set("command", n.Command)
			text = "command " + phrase.FirstLine(n.Command)
		default:
			m.Set("webhook", hostOf(n.URL))
			m.Set("retries", int64(n.Retries))
			text = "webhook " + hostOf(n.URL)
		}
		for _, l := range []struct {
			key, word string
			names     []string
		}{{"on", "on", n.On}, {"loops", "of", n.Loops}} {
			if len(l.names) > 0 {
				m.Set(l.key, ui.Texts(l.names))
				text += " " + l.word + " " + strings.Join(l.names, ", ")
			}
		}
		if n.Secret != "" {
			m.Set("secret_env", n.Secret)
		}
		all = append(all, setting{key, m, text, fromFile(p, c, key)})
	}
	return all
}

// hostOf is the part of the address of a webhook that holds no secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// hostSettings are the agent hosts that files declare, in the order of their names.
func hostSettings(p *project.Project, c *config.Config) (all []setting) {
	for _, h := range c.Hosts {
		key := "hosts." + h.Name
		all = append(all, setting{key, h.Program, h.Program, fromFile(p, c, key)})
	}
	slices.SortFunc(all, func(a, b setting) int { return strings.Compare(a.key, b.key) })
	return all
}

// A configFile is one that settings are read from.
type configFile struct {
	path, layer, whose string
	exists             bool
}

func (f configFile) object() any {
	return value.NewMap("file", f.path, "layer", f.layer, "exists", f.exists)
}

// configFiles are the files that settings are read from, the lowest first.
func configFiles(p *project.Project) (files []configFile) {
	for _, f := range []configFile{
		{path: p.Layers.Reference, layer: "reference", whose: "the reference tool's"},
		{path: p.Layers.User, layer: "user", whose: "yours, for all projects"},
		{path: p.Layers.Project, layer: "project", whose: "the project's"},
	} {
		if f.path == "" {
			continue
		}
		_, err := os.Stat(filepath.Clean(f.path))
		f.exists = err == nil
		files = append(files, f)
	}
	return files
}

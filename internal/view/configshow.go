package view

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// A Setting is one value that holds.
type Setting struct {
	Key   string
	Value any    // for JSON; nil = it is not set, or the default is no single value
	Text  string // for a person
	From  Origin
}

// An Origin is where a setting comes from.
type Origin struct {
	Kind string // default, file, environment or flag
	Name string // of the variable or flag
	file string // absolute
	line int    // 0 = not known
	Text string // for a person
}

// FromFile is the origin of a value by the key of a settings file that sets it.
func FromFile(p *project.Project, c *config.Config, key string) Origin {
	at := c.At[key]
	return Origin{Kind: "file", file: at.File, line: at.Line, Text: p.SettingPlace(c, key)}
}

// Object returns the setting for a program.
func (s Setting) Object() api.Setting {
	o := api.Setting{Key: s.Key, Value: s.Value, Origin: s.From.Kind, Name: s.From.Name, File: s.From.file}
	if s.From.file != "" {
		o.Line = new(api.Int(s.From.line))
	}
	return o
}

// NotifySettings are the elements of notify, of all files.
func NotifySettings(p *project.Project, c *config.Config) (all []Setting) {
	for i, n := range c.Notify {
		way, at := "webhook", hostOf(n.URL)
		if n.Command != "" {
			way, at = "command", n.Command
		}
		m := new(value.Map)
		switch {
		case n.Desktop:
			way, at = "desktop", ""
			m.Set(way, true)
		case n.URL != "":
			m.Set(way, at)
			m.Set("retries", int64(n.Retries))
		default:
			m.Set(way, at)
		}
		s := targetSetting(p, c, "notify."+strconv.Itoa(i), m, way, at, n.Secret,
			[][]string{append([]string{"on", "on"}, n.On...), append([]string{"loops", "of"}, n.Loops...)})
		if n.Name != "" {
			m.Set("name", n.Name)
			s.Text = n.Name + ": " + s.Text
		}
		all = append(all, s)
	}
	return all
}

// EventSettings are the elements of events, of all files.
func EventSettings(p *project.Project, c *config.Config) (all []Setting) {
	for i, o := range c.Events {
		for _, way := range [][2]string{
			{"webhook", hostOf(o.URL)},
			{"command", o.Command},
			{"socket", o.Socket},
			{"file", o.File},
		} {
			if way[1] != "" {
				lists := [][]string{
					append([]string{"kinds", "on"}, o.Kinds...),
					append([]string{"loops", "of"}, o.Loops...), append([]string{"labels", "with"}, o.Labels...),
				}
				m := new(value.Map)
				m.Set(way[0], way[1])
				all = append(all, targetSetting(p, c, "events."+strconv.Itoa(i), m, way[0], way[1], o.Secret, lists))
			}
		}
	}
	return all
}

// targetSetting completes an element of notify or events, which is reached by a way at an address. Each of
// lists has its key, its word and its elements.
func targetSetting(p *project.Project, c *config.Config, key string, m *value.Map, way, at string,
	secret config.Secret, lists [][]string,
) Setting {
	text := strings.TrimSpace(way + " " + humanize.FirstLine(at))
	for _, l := range lists {
		if names := l[2:]; len(names) > 0 {
			m.Set(l[0], terminal.Texts(names))
			text += " " + l[1] + " " + strings.Join(names, ", ")
		}
	}
	for _, s := range [][2]string{{"secret_env", secret.Env}, {"secret_file", secret.File}} {
		if s[1] != "" {
			m.Set(s[0], s[1])
		}
	}
	return Setting{key, m, text, FromFile(p, c, key)}
}

// hostOf is the part of the address of a webhook that holds no secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// HostSettings are the agent hosts that files declare, in the order of their names.
func HostSettings(p *project.Project, c *config.Config) (all []Setting) {
	for _, h := range c.Hosts {
		key := "hosts." + h.Name
		all = append(all, Setting{key, h.Program, h.Program, FromFile(p, c, key)})
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// TypeSettings are the action types that files and the environment declare, in the order of their names.
func TypeSettings(p *project.Project, c *config.Config) (all []Setting) {
	for _, t := range c.ActionTypes {
		key := "action_types." + t.Name
		from := FromFile(p, c, key)
		if c.At[key].File == config.EnvActionTypes {
			from = Origin{
				Kind: "environment", Name: config.EnvActionTypes,
				Text: "environment " + config.EnvActionTypes,
			}
		}
		all = append(all, Setting{key, terminal.Texts(t.By), humanize.List(t.By), from})
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// WebhookSettings are the webhooks of a project: what each does.
func WebhookSettings(p *project.Project, c *config.Config) (all []Setting) {
	for _, w := range c.Webhooks {
		key := "webhooks." + w.Name
		does := "run " + w.Run
		switch {
		case w.Signal != "":
			does = "signal " + w.Signal + " to " + w.To
		case w.Answer != "":
			does = "answer " + w.To
		}
		all = append(all, Setting{key, does, does + ", signed with " + w.Secret.String(), FromFile(p, c, key)})
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// SecretSettings returns which values are kept off the record, and where they are found.
func SecretSettings(p *project.Project, c *config.Config) (all []Setting) {
	for _, s := range c.Secrets {
		key := "secrets." + s.Name
		all = append(all, Setting{key, s.Where(), s.Where(), FromFile(p, c, key)})
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// A ConfigFile is one that settings are read from.
type ConfigFile struct {
	Path, layer, Whose string
	Exists             bool
}

// Object returns the file for a program.
func (f ConfigFile) Object() api.SettingsFile {
	return api.SettingsFile{File: f.Path, Layer: f.layer, Exists: f.Exists}
}

// ConfigFiles are the files that settings are read from, the lowest first.
func ConfigFiles(p *project.Project) (files []ConfigFile) {
	for _, f := range []ConfigFile{
		{Path: p.Layers.Reference, layer: "reference", Whose: "little-loops'"},
		{Path: p.Layers.User, layer: "user", Whose: "yours, for all projects"},
		{Path: p.Layers.Project, layer: "project", Whose: "the project's"},
	} {
		if f.Path == "" {
			continue
		}
		_, err := os.Stat(filepath.Clean(f.Path))
		f.Exists = err == nil
		files = append(files, f)
	}
	return files
}

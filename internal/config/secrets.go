package config

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm/confine"
	"loops/internal/humanize"
)

// A NamedSecret is a value that is kept off the record, and where it is found. Exactly one of Env, File and Command
// is set.
type NamedSecret struct {
	Name    string
	Env     string   // a variable of the environment
	File    string   // absolute; its text is the value, without line ends after it
	Command string   // a bash script that prints the value
	Hosts   []string // the only ones that get it, HOST or HOST:PORT; nil = actions have it
}

// secrets reads which values are kept off the record. One that a lower file declares, too, is replaced.
func (d *decoder) secrets(n *yaml.Node, c *Config) {
	d.pairs(n, "secrets", func(key, value *yaml.Node) {
		before := len(d.problems)
		if !variableName().MatchString(key.Value) {
			d.say(key, "secrets: %s is not a name: write letters, digits and _, such as GITHUB_TOKEN",
				humanize.Quote(key.Value))
		}
		s := NamedSecret{Name: key.Value}
		if value.Tag == "!!null" {
			s.Env = s.Name
		} else {
			d.secretFrom(value, &s)
		}
		if len(d.problems) > before {
			return
		}
		c.Secrets = append(slices.DeleteFunc(c.Secrets, func(o NamedSecret) bool { return o.Name == s.Name }), s)
		c.at("secrets."+s.Name, d.layer.file, key.Line)
	})
}

func (d *decoder) secretFrom(n *yaml.Node, s *NamedSecret) {
	what, before := "secret "+humanize.Quote(s.Name), len(d.problems)
	d.mapping(n, what, []row{
		{"env", func(n *yaml.Node) {
			if s.Env = d.text(n, "env"); !variableName().MatchString(s.Env) {
				d.say(n, "env is the name of an environment variable, not %s", humanize.Quote(s.Env))
			}
		}},
		{"file", func(n *yaml.Node) { d.path(n, "file", &s.File) }},
		{"command", func(n *yaml.Node) {
			if s.Command = strings.TrimSpace(d.text(n, "command")); s.Command == "" && n.Kind == yaml.ScalarNode {
				d.say(n, "command is empty")
			}
		}},
		{"hosts", func(n *yaml.Node) {
			s.Hosts = d.texts(n, "hosts")
			if len(s.Hosts) == 0 && n.Kind == yaml.SequenceNode {
				d.say(n, "hosts is empty; name one such as api.anthropic.com, or leave it out: then actions "+
					"have the value")
			}
			d.each(n, func(n *yaml.Node) {
				if !confine.IsHost(n.Value) {
					d.say(n, "%s is no host; expected one such as api.anthropic.com, *.example.com or "+
						"example.com:8443", humanize.Quote(n.Value))
				}
			})
		}},
	})
	if s.Env+s.File+s.Command == "" && s.Hosts != nil {
		s.Env = s.Name
	}
	given := 0
	for _, from := range []string{s.Env, s.File, s.Command} {
		if from != "" {
			given++
		}
	}
	if given != 1 && n.Kind == yaml.MappingNode && len(d.problems) == before {
		d.say(n, "%s is found in one of these: env: NAME, file: PATH, command: SCRIPT", what)
	}
}

// Secret returns what a name is declared as: by a file, or else the variable of that name.
func (c *Config) Secret(name string) NamedSecret {
	if c != nil {
		for _, s := range c.Secrets {
			if s.Name == name {
				return s
			}
		}
	}
	return NamedSecret{Name: name, Env: name}
}

// Where names the place, and nothing of the value.
func (s NamedSecret) Where() string {
	switch {
	case s.File != "":
		return "the file " + s.File
	case s.Command != "":
		return fmt.Sprintf("the command %s", humanize.Quote(s.Command))
	}
	return "the environment variable " + s.Env
}

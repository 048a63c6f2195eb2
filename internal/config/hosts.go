package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/internal/agent"
	"loops/internal/humanize"
)

// declared reads hosts. One that a lower file declares, too, is replaced.
func (d *decoder) declared(n *yaml.Node, c *Config) {
	for _, h := range d.hosts(n, c) {
		if i := slices.IndexFunc(c.Hosts, func(o *agent.CLI) bool { return o.Name == h.Name }); i >= 0 {
			c.Hosts[i] = h
		} else {
			c.Hosts = append(c.Hosts, h)
		}
	}
}

func (d *decoder) hosts(n *yaml.Node, c *Config) (hosts []*agent.CLI) {
	d.pairs(n, "hosts", func(key, value *yaml.Node) {
		before := len(d.problems)
		r := &hostReader{decoder: d, at: map[string]*yaml.Node{"": key}}
		r.spec.Name = key.Value
		r.read(value)
		if len(d.problems) > before {
			return
		}
		h, err := agent.New(r.spec)
		var wrong agent.Mistakes
		if errors.As(err, &wrong) {
			for _, m := range wrong {
				text := m.Text
				if m.Key == "like" {
					text += humanize.DidYouMean(r.spec.Like, hostNames())
				}
				d.say(r.node(m.Key), "host %s: %s", humanize.Clip(key.Value), text)
			}
			return
		}
		if d.layer.user && strings.Contains(r.spec.Program, "/") && !filepath.IsAbs(r.spec.Program) {
			d.say(r.node("program"), "host %s: %s is another program in every project: write an absolute path, or a "+
				"name that is found in PATH", humanize.Clip(key.Value), humanize.Quote(r.spec.Program))
			return
		}
		hosts = append(hosts, h)
		c.at("hosts."+h.Name, d.layer.file, key.Line)
	})
	return hosts
}

func hostNames() (names []string) {
	for _, h := range agent.Hosts() {
		names = append(names, h.Name)
	}
	return names
}

// A hostReader reads the declaration of one host and knows where its keys are.
type hostReader struct {
	*decoder
	spec agent.Spec
	at   map[string]*yaml.Node
}

// node finds the place of a key, or of the nearest one around it.
func (r *hostReader) node(key string) *yaml.Node {
	for {
		if n := r.at[key]; n != nil {
			return n
		}
		key = key[:max(strings.LastIndexByte(key, '.'), 0)]
	}
}

func (r *hostReader) read(n *yaml.Node) {
	s, f := &r.spec, &r.spec.Fields
	text := func(key string, to *string) row {
		return row{key, func(n *yaml.Node) { r.at[key], *to = n, r.text(n, key) }}
	}
	field := func(key, path string, to *agent.Field) row {
		return row{key, func(n *yaml.Node) { r.at[path], *to = n, r.field(n, path) }}
	}
	r.mapping(n, "a host", []row{
		text("program", &s.Program),
		{"args", func(n *yaml.Node) { s.Args = r.args(n, "args") }},
		{"judge_args", func(n *yaml.Node) { s.JudgeArgs = r.args(n, "judge_args") }},
		{"skip_args", func(n *yaml.Node) { r.at["skip_args"], s.SkipArgs = n, r.words(n, "skip_args") }},
		{"env", func(n *yaml.Node) { s.Env = r.texts(n, "env") }},
		text("stop", &s.Stop),
		text("like", &s.Like),
		text("format", (*string)(&s.Format)),
		field("text", "text", &f.Text),
		field("final", "final", &f.Final),
		field("answer", "answer", &f.Answer),
		field("session", "session", &f.Session),
		field("model", "model", &f.Model),
		{"usage", func(n *yaml.Node) {
			r.at["usage"] = n
			r.mapping(n, "usage", []row{
				field("input", "usage.input", &f.Input),
				field("output", "usage.output", &f.Output),
				field("cache_read", "usage.cache_read", &f.CacheRead),
				field("cache_write", "usage.cache_write", &f.CacheWrite),
			})
		}},
		text("usage_is", (*string)(&s.Counts)),
		{"cache_in_input", func(n *yaml.Node) {
			r.at["cache_in_input"], s.CacheInInput = n, r.flag(n, "cache_in_input")
		}},
		field("cost", "cost", &f.Cost),
		field("error", "error", &f.Error),
		field("status", "status", &f.Status),
		field("done", "done", &f.Done),
	})
}

// args reads words and lists of words that belong together.
func (r *hostReader) args(n *yaml.Node, key string) [][]string {
	r.at[key] = n
	groups := [][]string{}
	r.list(n, key, func(i int, n *yaml.Node) {
		at := fmt.Sprintf("%s.%d", key, i)
		r.at[at] = n
		if n.Kind == yaml.SequenceNode {
			groups = append(groups, r.words(n, "a group of "+key))
			return
		}
		groups = append(groups, []string{r.text(n, "an argument")})
	})
	return groups
}

func (r *hostReader) words(n *yaml.Node, what string) []string {
	words := []string{}
	r.list(n, what, func(_ int, n *yaml.Node) { words = append(words, r.text(n, "an argument")) })
	return words
}

func (r *hostReader) texts(n *yaml.Node, key string) map[string]string {
	r.at[key] = n
	texts := map[string]string{}
	r.pairs(n, key, func(k, v *yaml.Node) {
		r.at[key+"."+k.Value] = k
		texts[k.Value] = r.text(v, "the value of "+humanize.Clip(k.Value))
	})
	return texts
}

// field reads a path, or a map of a path and the conditions under which it holds.
func (r *hostReader) field(n *yaml.Node, key string) (f agent.Field) {
	if n.Kind != yaml.MappingNode {
		f.Path = r.text(n, key)
		return f
	}
	r.mapping(n, key, []row{
		{"path", func(n *yaml.Node) { f.Path = r.text(n, "path") }},
		{"when", func(n *yaml.Node) {
			f.When = map[string]string{}
			r.pairs(n, "when", func(k, v *yaml.Node) {
				f.When[k.Value] = r.text(v, "the value of "+humanize.Clip(k.Value))
			})
		}},
	})
	return f
}

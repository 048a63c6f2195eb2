package config

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// mostRetries is how often a webhook may be tried again.
const mostRetries = 20

// mostNotifyTimeout is how long one attempt may take.
const mostNotifyTimeout = time.Hour

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

var targetName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`) })

// notify reads the list of who is notified. It adds to that of lower files.
func (d *decoder) notify(n *yaml.Node, c *Config) {
	d.list(n, "notify", func(_ int, n *yaml.Node) {
		before := len(d.problems)
		t := d.target(n)
		if len(d.problems) == before {
			c.at("notify."+strconv.Itoa(len(c.Notify)), d.layer.file, n.Line)
			c.Notify = append(c.Notify, t)
		}
	})
}

// target reads one element of notify.
func (d *decoder) target(n *yaml.Node) Notify {
	t := Notify{Retries: NotifyRetries}
	at := map[string]*yaml.Node{}
	noted := func(key string, read func(n *yaml.Node)) row {
		return row{key, func(n *yaml.Node) { at[key] = n; read(n) }}
	}
	before := len(d.problems)
	rows := []row{
		noted("on", func(n *yaml.Node) {
			t.On = d.texts(n, "on")
			d.each(n, func(n *yaml.Node) {
				if names := NotifyNames(); !slices.Contains(names, n.Value) {
					d.say(n, "on: %s is none of %s%s", humanize.Quote(n.Value), humanize.List(names),
						humanize.DidYouMean(n.Value, names))
				}
			})
		}),
		noted("loops", func(n *yaml.Node) { t.Loops = d.patterns(n, "loops") }),
		noted("name", func(n *yaml.Node) {
			d.words(n, "name", nil, &t.Name)
			if t.Name != "" && !targetName().MatchString(t.Name) {
				d.say(n, "name: %s is no name of a target: use letters, digits, _, - and .", humanize.Quote(t.Name))
			}
		}),
		noted("command", func(n *yaml.Node) { d.words(n, "command", nil, &t.Command) }),
		noted("desktop", func(n *yaml.Node) {
			if t.Desktop = d.flag(n, "desktop"); !t.Desktop && n.Tag == "!!bool" {
				d.say(n, "desktop: false notifies no one: leave the element out")
			}
		}),
		noted("webhook", func(n *yaml.Node) { d.address(n, "webhook", &t.URL) }),
		noted("timeout", func(n *yaml.Node) { d.attempt(n, &t.Timeout) }),
		noted("retries", func(n *yaml.Node) {
			v, err := strconv.Atoi(n.Value)
			if n.Kind != yaml.ScalarNode || err != nil || v < 0 || v > mostRetries {
				d.say(n, "retries must be a whole number from 0 to %d, found %s", mostRetries, kind(n))
				return
			}
			t.Retries = v
		}),
	}
	for _, r := range d.secret(&t.Secret) {
		rows = append(rows, noted(r.key, r.read))
	}
	d.mapping(n, "an element of notify", rows)
	if len(d.problems) > before {
		return t
	}
	var ways []string
	for _, key := range []string{"command", "desktop", "webhook"} {
		if at[key] != nil {
			ways = append(ways, key)
		}
	}
	if len(ways) != 1 {
		said := ""
		if len(ways) > 1 {
			said = fmt.Sprintf(", and this one has %s: make %d elements of it", humanize.And(ways), len(ways))
		}
		d.say(n, "an element of notify has one of command, desktop and webhook%s", said)
		return t
	}
	if t.Name == "" && slices.Contains(t.On, NotifyEscalated) {
		d.say(at["on"], "on: %s is sent to the targets that a question names: give this one a name", NotifyEscalated)
	}
	for _, key := range []string{"secret_env", "secret_file", "retries"} {
		if at[key] != nil && at["webhook"] == nil {
			d.say(at[key], "%s is for a webhook, and does nothing beside %s", key, ways[0])
		}
	}
	return t
}

// patterns reads names of loops, and patterns of such names.
func (d *decoder) patterns(n *yaml.Node, what string) []string {
	d.each(n, func(n *yaml.Node) {
		if _, err := path.Match(n.Value, ""); err != nil || n.Value == "" {
			d.say(n, "%s: %s is no name or pattern: * matches any letters, ? one letter, [ab] one of these", what,
				humanize.Quote(n.Value))
		}
	})
	return d.texts(n, what)
}

// attempt reads how long one attempt may take.
func (d *decoder) attempt(n *yaml.Node, to *time.Duration) {
	d.duration(n, "timeout", false, to)
	if *to > mostNotifyTimeout {
		d.say(n, "timeout: one attempt may take an hour at most")
	}
}

// texts reads a list of texts, or one text.
func (d *decoder) texts(n *yaml.Node, what string) (list []string) {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return []string{n.Value}
	}
	d.list(n, what, func(_ int, n *yaml.Node) { list = append(list, d.text(n, "an element of "+what)) })
	return list
}

// each calls do with the texts of what texts read.
func (d *decoder) each(n *yaml.Node, do func(*yaml.Node)) {
	if n.Kind == yaml.MappingNode {
		return
	}
	for _, e := range append([]*yaml.Node{n}, n.Content...) {
		if e.Kind == yaml.ScalarNode && e.Tag != "!!null" {
			do(e)
		}
	}
}

// address reads an address of HTTP. What is wrong with it is said without it, for it can hold a secret.
func (d *decoder) address(n *yaml.Node, key string, to *string) {
	d.words(n, key, nil, to)
	if *to == "" {
		return
	}
	u, err := url.Parse(*to)
	switch {
	case err != nil || strings.ContainsAny(*to, " \t\n"):
		d.say(n, "%s is no URL: write it as https://HOST/PATH", key)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		d.say(n, "%s is a URL that begins with https:// or http:// and names a host", key)
	}
}

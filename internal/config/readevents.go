package config

import (
	"fmt"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// An Outlet gets the events of runs. Exactly one of URL, Command, Socket and File is set.
type Outlet struct {
	URL     string        // gets batches of CloudEvents by POST
	Command string        // bash script; gets events on its standard input, a line of JSON each
	Socket  string        // path of a Unix socket; gets such lines
	File    string        // path; such lines are added to it
	Rotate  int64         // of File: the size from which it is renamed to File.1; 0 = never
	Kinds   []string      // of events; empty = all
	Loops   []string      // names or patterns of loops; empty = all
	Labels  []string      // a run that was submitted to workers has all of them
	Secret  Secret        // of URL: the key of the HMAC-SHA256 signature; none = not signed
	Timeout time.Duration // of one attempt; 0 = 10 s
}

// events reads the list of outlets. It adds to that of lower files.
func (d *decoder) events(n *yaml.Node, c *Config) {
	d.list(n, "events", func(_ int, n *yaml.Node) {
		before := len(d.problems)
		o := d.outlet(n)
		if len(d.problems) == before {
			c.at("events."+strconv.Itoa(len(c.Events)), d.layer.file, n.Line)
			c.Events = append(c.Events, o)
		}
	})
}

// outlet reads one element of events.
func (d *decoder) outlet(n *yaml.Node) (o Outlet) {
	var ways []string
	var secret, rotate *yaml.Node
	way := func(key string, read func(*yaml.Node)) row {
		return row{key, func(n *yaml.Node) { ways = append(ways, key); read(n) }}
	}
	rows := []row{
		way("webhook", func(n *yaml.Node) { d.address(n, "webhook", &o.URL) }),
		way("command", func(n *yaml.Node) { d.words(n, "command", nil, &o.Command) }),
		way("socket", func(n *yaml.Node) { d.path(n, "socket", &o.Socket) }),
		way("file", func(n *yaml.Node) { d.path(n, "file", &o.File) }),
		{"rotate", func(n *yaml.Node) { rotate = n; d.size(n, "rotate", &o.Rotate) }},
		{"kinds", func(n *yaml.Node) { o.Kinds = d.texts(n, "kinds") }},
		{"loops", func(n *yaml.Node) { o.Loops = d.patterns(n, "loops") }},
		{"labels", func(n *yaml.Node) { o.Labels = d.texts(n, "labels") }},
		{"timeout", func(n *yaml.Node) { d.attempt(n, &o.Timeout) }},
	}
	for _, r := range d.secret(&o.Secret) {
		rows = append(rows, row{r.key, func(n *yaml.Node) { secret = n; r.read(n) }})
	}
	before := len(d.problems)
	d.mapping(n, "an element of events", rows)
	switch {
	case len(d.problems) > before:
	case len(ways) == 0:
		d.say(n, "an element of events has one of webhook, command, socket and file")
	case len(ways) > 1:
		d.say(n, "an element of events has one of webhook, command, socket and file, and this one has %s: "+
			"make %s of it", humanize.And(ways), fmt.Sprintf("%d elements", len(ways)))
	case secret != nil && o.URL == "":
		d.say(secret, "the key of a signature is for a webhook, and does nothing beside %s", ways[0])
	case rotate != nil && o.File == "":
		d.say(rotate, "rotate is for a file, and does nothing beside %s", ways[0])
	}
	return o
}

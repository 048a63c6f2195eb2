package config

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// A Webhook is a request that others send to loops serve, and what is done then. Run, Signal or Answer is set.
type Webhook struct {
	Name   string
	Secret Secret   // the key of the signature
	Form   string   // of the signature: WebhookGitHub or WebhookLoops
	Events []string // those that count, by the header that names one; nil = all

	Run     string      // the name of a loop, of which a run begins
	Input   string      // of that, a program of jq; "" = none
	Context [][2]string // of that: keys, and programs of jq

	Signal string // the name of an event that is sent
	Data   string // with it, a program of jq; "" = all that came

	Answer string // a program of jq whose value is the choice that answers a question
	// of that, a program of jq whose value is its address; "" = the one question that the run has asked in all
	Question string

	To string // the run, or the loop whose newest run, that gets it; with a dot at its beginning a program of jq
}

// The forms of signatures.
const (
	WebhookGitHub = "github" // X-Hub-Signature-256, X-GitHub-Event, X-GitHub-Delivery
	// X-Loops-Signature, with the time, X-Loops-Event, X-Loops-Delivery: as loops itself sends webhooks
	WebhookLoops = "loops"
)

var webhookName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
})

// webhooks reads what others may send to a server. One that a lower file declares, too, is replaced.
func (d *decoder) webhooks(n *yaml.Node, c *Config) {
	d.pairs(n, "webhooks", func(key, value *yaml.Node) {
		before := len(d.problems)
		if d.layer.user {
			d.say(key, "webhooks: they start loops of one project: write them into .loops/config.yaml of that")
		}
		if !webhookName().MatchString(key.Value) {
			d.say(key, "webhooks: %s is not a name: it is part of an address: write letters, digits, _ and -, "+
				"such as deploy", humanize.Quote(key.Value))
		}
		w := d.incoming(value, key.Value)
		if len(d.problems) > before {
			return
		}
		c.Webhooks = append(slices.DeleteFunc(c.Webhooks, func(o Webhook) bool { return o.Name == w.Name }), w)
		c.at("webhooks."+w.Name, d.layer.file, key.Line)
	})
}

// incoming reads one webhook.
func (d *decoder) incoming(n *yaml.Node, name string) Webhook {
	w := Webhook{Name: name, Form: WebhookGitHub}
	text := func(key string, to *string) row {
		return row{key, func(n *yaml.Node) {
			if *to = strings.TrimSpace(d.text(n, key)); *to == "" && n.Kind == yaml.ScalarNode {
				d.say(n, "%s is empty", key)
			}
		}}
	}
	before := len(d.problems)
	d.mapping(n, "webhook "+humanize.Quote(name), append(d.secret(&w.Secret), []row{
		{"form", func(n *yaml.Node) { d.words(n, "form", []string{WebhookGitHub, WebhookLoops}, &w.Form) }},
		{"events", func(n *yaml.Node) { w.Events = d.texts(n, "events") }},
		text("run", &w.Run), text("input", &w.Input), text("signal", &w.Signal), text("data", &w.Data),
		text("answer", &w.Answer), text("question", &w.Question), text("to", &w.To),
		{"context", func(n *yaml.Node) {
			d.pairs(n, "context", func(key, value *yaml.Node) {
				w.Context = append(w.Context, [2]string{key.Value, d.text(value, "context."+key.Value)})
			})
		}},
	}...))
	if len(d.problems) > before {
		return w
	}
	does := 0
	for _, what := range []string{w.Run, w.Signal, w.Answer} {
		if what != "" {
			does++
		}
	}
	say := func(text string) { d.say(n, "webhook %s: %s", humanize.Quote(name), text) }
	switch {
	case !w.Secret.Set():
		say("secret_env is missing: the name of the environment variable with the key of its signature; or " +
			"secret_file: the file that has it")
	case does != 1:
		say("it does one of these: run: LOOP, signal: EVENT, answer: JQ")
	case w.Run == "" && w.To == "":
		say("to is missing: the loop whose run is to get it, or a jq program that yields the id of one")
	case w.Run != "" && w.To != "":
		say("to is for signal and answer; run begins a new run")
	case w.Run == "" && (w.Input != "" || len(w.Context) > 0):
		say("input and context are for run")
	case w.Signal == "" && w.Data != "":
		say("data is for signal")
	case w.Answer == "" && w.Question != "":
		say("question is for answer")
	}
	return w
}

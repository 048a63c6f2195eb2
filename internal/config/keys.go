package config

import (
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"loops/fsm/confine"
)

// A Key is one setting of the files. The decoder, loops config show, the JSON Schema and the test of
// docs/config.md read the same list of them.
type Key struct {
	Name    string   // with the sections it is in: queue.timeout
	Means   string   // for a person, one sentence or two
	Default string   // what holds where no file says anything; "" = nothing does
	Form    Form     // how its value is written
	Values  []string // what FormWord can be
	None    bool     // the word none takes back what a lower file says

	read func(d *decoder, n *yaml.Node, c *Config)
	show func(c *Config) any // a string, int64 or float64; nil = not set, or no single value
}

// A Form is how a value is written.
type Form string

// The forms.
const (
	FormWord     Form = "word" // one of Values
	FormText     Form = "text"
	FormDuration Form = "duration" // 90s, 2h, 1h30m, 30d
	FormSize     Form = "size"     // 500M, 2G
	FormCount    Form = "count"    // a whole number from 1
	FormTokens   Form = "tokens"   // a whole number from 1, also 20k or 2M
	FormDollars  Form = "dollars"  // a number above 0
	FormNotify   Form = "notify"   // a list
	FormEvents   Form = "events"   // a list
	FormHosts    Form = "hosts"    // a map
	FormTypes    Form = "types"    // a map
	FormWebhooks Form = "webhooks" // a map
	FormSecrets  Form = "secrets"  // a map
	FormSecret   Form = "secret"   // {env: NAME} or {file: PATH}
	FormLimits   Form = "limits"   // a map of names and whole numbers from 1
	FormHints    Form = "hints"    // a map of maps
	FormTexts    Form = "texts"    // a text, or a list of some
)

// keys are made when settings are first read, not at the start of every command.
var keys = sync.OnceValue(func() []Key {
	return []Key{
		{
			Name: "store", Default: "dir", Form: FormText, Means: "Where runs are recorded, as --store.",
			read: (*decoder).store, show: text(func(c *Config) *string { return &c.Store }),
		},
		{
			Name: "catalog", Form: FormText, Means: "A folder of loops that may be run besides those of the project.",
			read: (*decoder).catalog, show: text(func(c *Config) *string { return &c.Catalog }),
		},
		wordKey("color", "auto", "Colours; auto: on a terminal.", []string{"auto", "always", "never"},
			func(c *Config) *string { return &c.Color }),
		wordKey("run.output", "normal", "What run and resume print: quiet as with --quiet, verbose as "+
			"with --verbose.", []string{"quiet", "normal", "verbose"}, func(c *Config) *string { return &c.Output }),
		textKey("run.host", "the first that is installed", "Agent CLI of prompts and judges that name none.",
			func(c *Config) *string { return &c.Host }),
		textKey("run.model", "that of the host", "Model of prompts that name none.", func(c *Config) *string {
			return &c.Model
		}),
		wordKey("run.permissions", "skip", "host: agents do only what their own settings allow; skip: as "+
			"the loop says.", []string{"skip", "host"}, func(c *Config) *string { return &c.Permissions }),
		wordKey("run.git_facts", GitFactsOn, "Whether the record of a run says which commit and branch it worked "+
			"on, and a digest of what was not committed as it began and as it ended.",
			[]string{GitFactsOn, GitFactsOff}, func(c *Config) *string { return &c.GitFacts }),
		durationKey("run.delay", "0s", "Pause between the states of loops without a backoff.", true,
			func(c *Config) *time.Duration { return &c.Delay }),
		wordKey("run.durability", "strict", "What a power failure may cost, as --durability.",
			[]string{"strict", "grouped", "none"}, func(c *Config) *string { return &c.Durability }),
		wordKey("run.permanent_failures", PermanentStop, "Where a permanent failure (login, billing, not installed) "+
			"leads without on_error: stop: the run is suspended there; verdict: the other routes of the "+
			"state take it.", []string{PermanentStop, PermanentVerdict}, func(c *Config) *string {
			return &c.PermanentFailures
		}),
		dollarsKey("run.budget.cost", "US dollars that a run may use whose loop sets no such limit.",
			func(c *Config) *float64 { return &c.Budget.Cost }),
		{
			Name: "run.budget.tokens", Form: FormTokens, None: true,
			Means: "Tokens that a run may use whose loop sets no such limit.",
			read:  func(d *decoder, n *yaml.Node, c *Config) { d.tokens(n, "tokens", &c.Budget.Tokens) },
			show:  func(c *Config) any { return unless(c.Budget.Tokens == 0, c.Budget.Tokens) },
		},
		durationKey("run.budget.wall", "", "Time that a run may take whose loop sets no such limit.", false,
			func(c *Config) *time.Duration { return &c.Budget.Wall }),
		countKey("run.budget.steps", "State entries that a run may have whose loop sets no such limit.",
			func(c *Config) *int { return &c.Budget.Steps }),
		countKey("run.budget.prompts", "Prompts and judges that a run may have whose loop sets no such limit.",
			func(c *Config) *int { return &c.Budget.Prompts }),
		durationKey("queue.timeout", "24h", "How long a run that was queued waits for its turn.", false,
			func(c *Config) *time.Duration { return &c.QueueTimeout }),
		{
			Name: "dispatch.limits", Form: FormLimits,
			Means: "How many submitted runs workers carry at once, by key, by queue:NAME and by label:NAME. The " +
				"maps of all files hold together.",
			read: (*decoder).limits, show: func(c *Config) any {
				return unless(len(c.Limits) == 0, limitsText(c.Limits))
			},
		},
		wordKey("dispatch.accept", AcceptCheckout, "Which definitions a worker runs: checkout: those of its own "+
			"checkout; signed: also what came with a run and one of dispatch.keys signed.",
			[]string{AcceptCheckout, AcceptSigned}, func(c *Config) *string { return &c.Accept.Mode }),
		{
			Name: "dispatch.keys", Form: FormTexts,
			Means: "The public keys whose signatures a worker accepts, as loops sign prints them.",
			read:  (*decoder).acceptKeys, show: func(c *Config) any {
				return unless(len(c.Accept.Keys) == 0, strings.Join(c.Accept.Keys, " "))
			},
		},
		wordKey("files.mode", "pinned in the folder of a project, else git",
			"How the files of a project get to the worker of a submitted run: pinned: it is in a checkout; git: "+
				"through files.remote; shared: the folder is mounted on all machines.",
			[]string{"pinned", "git", "shared"}, func(c *Config) *string { return &c.Files.Mode }),
		{
			Name: "files.remote", Form: FormText,
			Means: "The repository of git that workers take the files of runs from, and keep them in. It is that of " +
				"the worker, never that of the submitting user.",
			read: (*decoder).remote, show: text(func(c *Config) *string { return &c.Files.Remote }),
		},
		textKey("files.branch", "HEAD of the remote",
			"The branch where runs begin that were submitted without a commit.", func(c *Config) *string {
				return &c.Files.Branch
			}),
		{
			Name: "files.include", Form: FormTexts,
			Means: "Patterns of ignored files that travel too, from the top of the repository; ** is any " +
				"number of folders.",
			read: (*decoder).include, show: func(c *Config) any {
				return unless(len(c.Files.Include) == 0, strings.Join(c.Files.Include, " "))
			},
		},
		dollarsKey("spend.cost_per_hour", "US dollars that the runs of this project may spend together in an hour. "+
			"No prompt and no judge begins where they have.", func(c *Config) *float64 {
			return &c.Spend.Project.PerHour
		}),
		dollarsKey("spend.cost_per_day", "The same for 24 hours.", func(c *Config) *float64 {
			return &c.Spend.Project.PerDay
		}),
		dollarsKey("spend.all.cost_per_hour", "The same for all runs of this user on this machine, in an hour.",
			func(c *Config) *float64 { return &c.Spend.All.PerHour }),
		dollarsKey("spend.all.cost_per_day", "The same for 24 hours.", func(c *Config) *float64 {
			return &c.Spend.All.PerDay
		}),
		durationKey("alarm.stuck", "", "How long a running run may be silent, without an event or output, before "+
			"loops serve raises an alarm.", false, func(c *Config) *time.Duration { return &c.Alarm.Stuck }),
		durationKey("alarm.waiting", "", "How long a question may go without an answer before loops serve "+
			"raises an alarm.", false, func(c *Config) *time.Duration { return &c.Alarm.Waiting }),
		countKey("alarm.restart", "How often loops serve resumes a run whose process died.", func(c *Config) *int {
			return &c.Alarm.Restart
		}),
		{
			Name: "alarm.ping", Form: FormText,
			Means: "An address that loops serve asks for each minute, so that a service can notice when it does not.",
			read:  func(d *decoder, n *yaml.Node, c *Config) { d.address(n, "ping", &c.Alarm.Ping) },
			show:  text(func(c *Config) *string { return &c.Alarm.Ping }),
		},
		{
			Name: "answer_links.url", Form: FormText,
			Means: "The address of loops serve as those open it who are notified. Notifications of questions then " +
				"have links that answer them, for targets with a name.",
			read: func(d *decoder, n *yaml.Node, c *Config) { d.address(n, "url", &c.AnswerLinks.URL) },
			show: text(func(c *Config) *string { return &c.AnswerLinks.URL }),
		},
		{
			Name: "answer_links.key_file", Form: FormText, Default: "in .loops",
			Means: "The file with the key of these links, for machines that share the runs of a database.",
			read:  func(d *decoder, n *yaml.Node, c *Config) { d.path(n, "key_file", &c.AnswerLinks.File) },
			show:  text(func(c *Config) *string { return &c.AnswerLinks.File }),
		},
		wordKey("serve.metrics", "false", "Whether loops serve, and loops worker --metrics, answer at /metrics with "+
			"what Prometheus reads; see docs/observe.md.", []string{"true", "false"}, func(c *Config) *string {
			return &c.Metrics.On
		}),
		{
			Name: "serve.metrics_token", Form: FormSecret,
			Means: "Where the token is that /metrics asks for. Without one only this machine may read it.",
			read:  func(d *decoder, n *yaml.Node, c *Config) { d.place(n, "serve.metrics_token", &c.Metrics.Token) },
			show:  func(c *Config) any { return unless(!c.Metrics.Token.Set(), c.Metrics.Token.String()) },
		},
		{
			Name: "telemetry.endpoint", Form: FormText,
			Means: "Where traces and metrics of runs are sent, by OTLP over HTTP; OTEL_EXPORTER_OTLP_ENDPOINT wins. " +
				"See docs/observe.md.",
			read: func(d *decoder, n *yaml.Node, c *Config) { d.address(n, "endpoint", &c.Telemetry.Endpoint) },
			show: text(func(c *Config) *string { return &c.Telemetry.Endpoint }),
		},
		wordKey("telemetry.capture_content", "false",
			"Whether traces have the texts of prompts and of their answers, as they are on record.",
			[]string{"true", "false"}, func(c *Config) *string { return &c.Telemetry.Content }),
		{
			Name: "sandbox.floor", Default: confine.Off, Form: FormWord, Values: confine.Presets,
			Means: "The weakest sandbox that actions have, whatever their loop says. Of all files the " +
				"strongest counts.",
			read: func(d *decoder, n *yaml.Node, c *Config) {
				floor := ""
				if d.words(n, "floor", confine.Presets, &floor); confine.Strength(floor) >
					confine.Strength(c.SandboxFloor) {
					c.SandboxFloor = floor
				}
			},
			show: text(func(c *Config) *string { return &c.SandboxFloor }),
		},
		{
			Name: "sandbox.caches", Form: FormTexts,
			Default: "~/.cache, ~/go/pkg, ~/.npm, ~/.cargo/registry, ~/.cargo/git",
			Means:   "Folders that the sandbox workspace lets actions change besides the work tree.",
			read:    func(d *decoder, n *yaml.Node, c *Config) { c.SandboxCaches = d.texts(n, "caches") },
			show: func(c *Config) any {
				return unless(len(c.SandboxCaches) == 0, strings.Join(c.SandboxCaches, " "))
			},
		},
		wordKey("snapshots", "git with a work tree", "Whether the files of a run are kept before and after each "+
			"action, for loops undo, where its loop does not say.", []string{"git", "off"}, func(c *Config) *string {
			return &c.Snapshots
		}),
		textKey("schedule.project", "folder name", "The name of the project in a database: checkouts that give one "+
			"name share runs and schedules there.", func(c *Config) *string { return &c.LedgerName }),
		wordKey("worktree", WorktreeKeep, "What becomes of the work tree of a run when the run is over.",
			[]string{WorktreeKeep, WorktreeMerge, WorktreeDiscard}, func(c *Config) *string { return &c.Worktree }),
		durationKey("git.timeout", "10m", "How long one command of git may take that loops itself starts: a "+
			"checkout, a commit or a merge, with the hooks of the repository.", false,
			func(c *Config) *time.Duration { return &c.GitTimeout }),
		countKey("retention.keep_last", "How many of the newest runs of each loop to keep.", func(c *Config) *int {
			return &c.Retention.KeepLast
		}),
		durationKey("retention.older_than", "", "Remove runs last recorded longer ago.", false,
			func(c *Config) *time.Duration { return &c.Retention.OlderThan }),
		{
			Name: "retention.max_size", Form: FormSize, None: true,
			Means: "The oldest runs are removed until all take at most this.",
			read:  func(d *decoder, n *yaml.Node, c *Config) { d.size(n, "max_size", &c.Retention.MaxSize) },
			show:  func(c *Config) any { return unless(c.Retention.MaxSize == 0, sizeText(c.Retention.MaxSize)) },
		},
		{
			Name: "upgrade.from", Form: FormText,
			Means: "A folder or URL with the files of a release, in which loops upgrade --check looks.",
			read:  (*decoder).releases, show: text(func(c *Config) *string { return &c.Releases }),
		},
		{
			Name: "notify", Form: FormNotify,
			Means: "What to send when a run begins or ends. The lists of all files are joined.",
			read:  (*decoder).notify, show: nothing,
		},
		{
			Name: "events", Form: FormEvents,
			Means: "Who gets the events of runs; see docs/events-out.md. The lists of all files are joined.",
			read:  (*decoder).events, show: nothing,
		},
		{
			Name: "webhooks", Form: FormWebhooks,
			Means: "What loops serve does when others send it something, by name; see docs/webhooks.md. Those of a " +
				"project alone count.", read: (*decoder).webhooks, show: nothing,
		},
		{
			Name: "secrets", Form: FormSecrets,
			Means: "Values that are kept off the record, by name: `{env: NAME}`, `{file: PATH}` or `{command: " +
				"SCRIPT}`, with `hosts: [HOST]` for those that leave for some hosts only; see docs/protection.md.",
			read: (*decoder).secrets, show: nothing,
		},
		{
			Name: "hosts", Form: FormHosts, Means: "Agent CLIs besides those that loops knows; see docs/agents.md.",
			read: (*decoder).declared, show: nothing,
		},
		{
			Name: "model_hints", Form: FormHints,
			Means: "Models by agent host and model_hint of a loop file: coding, reasoning and burst. false: none.",
			read:  (*decoder).modelHints, show: nothing,
		},
		{
			Name: "action_types", Form: FormTypes,
			Means: "Action types besides those of the language: a program for each, or an agent host.",
			read:  (*decoder).actionTypes, show: nothing,
		},
	}
})

// Keys returns all settings, in the order of the documentation.
func Keys() []Key { return slices.Clone(keys()) }

// Value is what the files set a key to: a string, int64 or float64; nil if none does, or where it has no single value.
func (k Key) Value(c *Config) any { return k.show(c) }

func textKey(name, def, means string, field func(*Config) *string) Key {
	return Key{
		Name: name, Default: def, Form: FormText, Means: means, show: text(field),
		read: func(d *decoder, n *yaml.Node, c *Config) { d.words(n, last(name), nil, field(c)) },
	}
}

func wordKey(name, def, means string, values []string, field func(*Config) *string) Key {
	return Key{
		Name: name, Default: def, Form: FormWord, Values: values, Means: means, show: text(field),
		read: func(d *decoder, n *yaml.Node, c *Config) { d.words(n, last(name), values, field(c)) },
	}
}

func dollarsKey(name, means string, field func(*Config) *float64) Key {
	return Key{
		Name: name, Form: FormDollars, None: true, Means: means,
		read: func(d *decoder, n *yaml.Node, c *Config) { d.dollars(n, last(name), field(c)) },
		show: func(c *Config) any { return unless(*field(c) == 0, *field(c)) },
	}
}

func durationKey(name, def, means string, zero bool, field func(*Config) *time.Duration) Key {
	return Key{
		Name: name, Default: def, Form: FormDuration, None: true, Means: means,
		read: func(d *decoder, n *yaml.Node, c *Config) { d.duration(n, last(name), zero, field(c)) },
		show: func(c *Config) any { return unless(*field(c) == 0, durationText(*field(c))) },
	}
}

func countKey(name, means string, field func(*Config) *int) Key {
	return Key{
		Name: name, Form: FormCount, None: true, Means: means,
		read: func(d *decoder, n *yaml.Node, c *Config) { d.count(n, last(name), field(c)) },
		show: func(c *Config) any { return unless(*field(c) == 0, int64(*field(c))) },
	}
}

func text(field func(*Config) *string) func(*Config) any {
	return func(c *Config) any { return unless(*field(c) == "", *field(c)) }
}

func nothing(*Config) any { return nil }

// unless returns v, or nil where it is not set.
func unless(unset bool, v any) any {
	if unset {
		return nil
	}
	return v
}

// last is the name of a key in its section.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

package loopfile

import (
	"loops/fsm"
	"loops/fsm/confine"
)

// The mappings inside the top level.
var blockKeys = []Key{
	{
		Name: "enabled", In: InLLM, Type: TypeBool, Default: true,
		Doc: "false: every judgement by language model gives the verdict `error`.",
	},
	{
		Name: "host", In: InLLM, Type: TypeSpecial,
		Doc: "Agent host, or a list of them, that prompts and judges go to, unless the state names one; else the " +
			"one that `--host` names, or the first that is installed.",
	},
	{
		Name: "model", In: InLLM, Type: TypeText,
		Doc: "Model of the judge, unless the state names one. Without any it is `sonnet` on claude, and their own " +
			"on other hosts.",
	},
	{
		Name: "model_hint", In: InLLM, Type: TypeText, Values: fsm.ModelHints,
		Doc: "What the model of the judge is to be good at, instead of `model`; see `model_hint` of a state.",
	},
	{
		Name: "timeout", In: InLLM, Type: TypeSeconds, Default: 1800, Above: &limit0,
		Doc: "Seconds a judgement may take where a prompt state has no `evaluate`.",
	},
	{
		Name: "max_tokens", In: InLLM, Type: TypeInt, Default: 256, Above: &limit0, Status: StatusUnsupported,
		Instead: "a judgement is as long as it is", Doc: "Length of a judgement.",
	},
	{Name: "effort", In: InLLM, Type: TypeText, Doc: "Reasoning effort of the judge, where its host has one."},

	{
		Name: "repeated_failure", In: InCircuit, Type: TypeBlock, Block: InRepeatedFailure,
		Doc: "Stops a run that repeats itself: same state, same exit code, same verdict. An empty mapping " +
			"switches it on.",
	},
	{
		Name: "window", In: InRepeatedFailure, Type: TypeInt, Default: 3, Min: &limit1,
		Doc: "How many equal turns in a row are too many.",
	},
	{
		Name: "on_repeated_failure", In: InRepeatedFailure, Type: TypeTarget, Default: "abort",
		Doc: "`abort` to end the run, or the state to go to.",
	},
	{
		Name: "recurrent_window", In: InRepeatedFailure, Type: TypeInt, Min: &limit2,
		Doc: "How many equal turns in the whole run are too many.",
	},
	{Name: "progress_paths", In: InRepeatedFailure, Type: TypeTexts, Doc: "Files whose change counts as progress."},
	{Name: "exclude_paths", In: InRepeatedFailure, Type: TypeTexts, Doc: "Files to leave out of `progress_paths`."},

	{Name: "enabled", In: InHostGuard, Type: TypeBool, Default: true, Doc: "Whether memory is watched before prompts."},
	{
		Name: "cooldown_ms", In: InHostGuard, Type: TypeNumber, Default: 500, Min: &limit0,
		Doc: "Milliseconds to wait when memory is short.",
	},
	{
		Name: "warn_pct", In: InHostGuard, Type: TypeNumber, Default: 75.0, Min: &limit0, Max: &limit100,
		Doc: "Used memory, in percent, that makes prompts wait.",
	},
	{
		Name: "critical_pct", In: InHostGuard, Type: TypeNumber, Default: 85.0, Min: &limit0, Max: &limit100,
		Doc: "Used memory, in percent, where `on_pressure` begins to apply. Not below `warn_pct`.",
	},
	{
		Name: "on_pressure", In: InHostGuard, Type: TypeText, Default: "cool_down",
		Values: []string{"cool_down", "route", "abort"},
		Doc:    "What to do at `critical_pct`: wait, go to `pressure_state`, or end the run.",
	},
	{Name: "pressure_state", In: InHostGuard, Type: TypeTarget, Doc: "State to go to with `on_pressure: route`."},
	{
		Name: "on_abort_route", In: InHostGuard, Type: TypeTarget,
		Doc: "State that is recorded as the last one with `on_pressure: abort`.",
	},
	{
		Name: "max_cumulative_subproc_mb", In: InHostGuard, Type: TypeInt, Default: 0, Min: &limit0,
		Doc: "Megabytes all actions together may use at their peaks; 0 is no limit.",
	},
	{
		Name: "on_budget_exceeded", In: InHostGuard, Type: TypeText, Default: "route",
		Values: []string{"route", "abort"}, Doc: "What to do above that limit: go to `budget_state`, or end the run.",
	},
	{Name: "budget_state", In: InHostGuard, Type: TypeTarget, Doc: "State to go to with `on_budget_exceeded: route`."},

	{Name: "enabled", In: InPromptSizeGuard, Type: TypeBool, Default: true, Doc: "Whether long prompts are reported."},
	{
		Name: "warn_chars", In: InPromptSizeGuard, Type: TypeInt, Default: 50000, Min: &limit0,
		Doc: "The number of characters that makes a prompt long; 0 switches the guard off.",
	},

	{
		Name: "normal_max", In: InThrottle, Type: TypeInt, Default: 3, Min: &limit1,
		Doc: "Actions in one stay in a state that are nothing special.",
	},
	{
		Name: "warn_max", In: InThrottle, Type: TypeInt, Default: 8, Min: &limit1,
		Doc: "The number of actions in one stay that records a warning.",
	},
	{
		Name: "hard_max", In: InThrottle, Type: TypeInt, Default: 12, Min: &limit1,
		Doc: "Actions in one stay after which the state is left for `on_throttle_hard`.",
	},

	{
		Name: "cron", In: InSchedule, Type: TypeText, Required: true,
		Doc: "Minute, hour, day of the month, month and day of the week, as in a crontab: lists, ranges, steps and " +
			"names; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`; or `@every 90s`, which counts whole " +
			"seconds from 1970 in UTC. Several of these, each on a line of its own or with a semicolon between " +
			"them, are the times of all of them.",
	},
	{
		Name: "timezone", In: InSchedule, Type: TypeText,
		Doc: "The time zone these are in, such as `Europe/Berlin`. Without it that of the machine.",
	},
	{
		Name: "except", In: InSchedule, Type: TypeTexts,
		Doc: "Dates at which no time comes, in this time zone: `2026-12-24`, or from one to another, " +
			"`2026-12-24..2027-01-01`.",
	},
	{
		Name: "overlap", In: InSchedule, Type: TypeText, Default: "skip", Values: []string{"skip", "queue"},
		Doc: "What happens at a time when the previous run has not ended: the time is skipped, or its run waits.",
	},
	{
		Name: "catch_up", In: InSchedule, Type: TypeText, Default: "none", Values: []string{"none", "one", "all"},
		Doc: "What happens to times that were missed: nothing, one run for all of them, or a run for each, one " +
			"after the other in their order.",
	},
	{
		Name: "catch_up_limit", In: InSchedule, Type: TypeInt, Default: 24, Min: &limit1, Max: &limit100,
		Doc: "With `catch_up: all`: the most missed times that wait for their runs at once. Of more the newest are " +
			"chosen, and the others stay missed.",
	},

	{
		Name: "preset", In: InSandbox, Type: TypeText, Values: confine.Presets,
		Doc: "`workspace`: writes in the work tree, temporary folders and caches, reads of all but places of " +
			"secrets; `offline`: no network; `strict`: both, and all of it has to be enforceable; `off`. The other " +
			"keys replace parts of it; `deny` adds to it.",
	},
	{
		Name: "write", In: InSandbox, Type: TypeTexts,
		Doc: "Files and folders that may be changed, with all below them; a dot is the work tree, and `~` the home " +
			"folder. Files that others trust (`.git/hooks`, `.loops`, `.github` and others) are protected unless " +
			"they are named here.",
	},
	{
		Name: "read", In: InSandbox, Type: TypeTexts,
		Doc: "Files and folders that may be read, with all below them. What programs need to start has to be in it.",
	},
	{
		Name: "deny", In: InSandbox, Type: TypeTexts,
		Doc: "Files and folders that may neither be read nor changed, besides the places of secrets that the " +
			"preset denies.",
	},
	{
		Name: "network", In: InSandbox, Type: TypeSpecial,
		Doc: "`none`, `loopback`, `all`, or a list of `HOST:PORT` that may be reached, by a proxy of the run.",
	},
	{
		Name: "env", In: InSandbox, Type: TypeTexts,
		Doc: "Names of variables that an action gets, besides those of loops; `LC_*` stands for all that begin so.",
	},
	{Name: "memory", In: InSandbox, Type: TypeText, Doc: "The most memory, such as `4GB` or `512MiB`."},
	{
		Name: "cpus", In: InSandbox, Type: TypeNumber, Above: &limit0,
		Doc: "How many processors may be used, such as 2 or 0.5.",
	},
	{Name: "pids", In: InSandbox, Type: TypeInt, Min: &limit1, Doc: "How many processes there may be at once."},
	{
		Name: "tmp", In: InSandbox, Type: TypeText, Values: []string{confine.Private, "shared"},
		Doc: "`private`: an action has a folder of its own for temporary files (`TMPDIR`), which is removed after " +
			"it, and no other.",
	},

	{
		Name: "keep", In: InSnapshots, Type: TypeText, Default: fsm.SnapshotsGit,
		Values: []string{fsm.SnapshotsGit, fsm.SnapshotsOff},
		Doc:    "`git`: in commits on the ref `refs/loops-undo/RUN` of the repository; `off`: nowhere.",
	},
	{
		Name: "include", In: InSnapshots, Type: TypeTexts,
		Doc: "Patterns of files that git ignores and that are kept as well, such as `dist/**`, from the top of " +
			"the repository.",
	},
	{
		Name: "max_file", In: InSnapshots, Type: TypeText, Default: "20MB",
		Doc: "Files that git does not track and that are larger are left out: they are neither kept nor put back.",
	},

	{
		Name: "protect", In: InGuard, Type: TypeTexts,
		Doc: "Patterns of paths that may not be changed, made or deleted: `Makefile`, `.github/**`, `**/*_test.go`. " +
			"A folder stands for all below it.",
	},
	{Name: "only", In: InGuard, Type: TypeTexts, Doc: "Patterns of paths: nothing else may be changed."},
	{Name: "max_files", In: InGuard, Type: TypeInt, Min: &limit1, Doc: "How many files one action may change."},
	{
		Name: "max_lines", In: InGuard, Type: TypeInt, Min: &limit1,
		Doc: "How many lines one action may add and remove, together. Files without lines count 0.",
	},
	{
		Name: "no_delete", In: InGuard, Type: TypeBool, Default: false,
		Doc: "Whether no file may be deleted. A file that was renamed counts as deleted.",
	},

	{
		Name: "from", In: InCheck, Type: TypeText, Default: "start", Values: []string{"start"},
		Doc: "Whose `files` the check is done with: those with which the run began.",
	},
	{
		Name: "files", In: InCheck, Type: TypeTexts,
		Doc: "Patterns of the files that the check is made of: `tests/**`, `Makefile`, `**/*_test.go`. While the " +
			"action runs they are as they were when the run began; after it they are as they were before it. A " +
			"folder stands for all below it.",
	},
	{
		Name: "must_fail_first", In: InCheck, Type: TypeBool, Default: false,
		Doc: "Whether the check has to fail before the first prompt. Where it passes there is nothing to do, and " +
			"the run ends; one that cannot fail is an error.",
	},

	{
		Name: "name", In: InMemory, Type: TypeText,
		Doc: "The file `.loops/memory/NAME.jsonl`. Loops that name the same share it. Without it, the " +
			"name of the loop.",
	},
	{
		Name: "tokens", In: InMemory, Type: TypeInt, Default: fsm.DefaultLessonTokens, Min: &limit100,
		Doc: "The most that `${memory}` takes of a prompt; a token counts as four characters. The newest facts that " +
			"fit are in it.",
	},

	{
		Name: "fact", In: InRemember, Type: TypeText,
		Doc: "The fact, a template. What is longer than 2,000 characters is cut; an empty one is not kept.",
	},
	{
		Name: "judge", In: InRemember, Type: TypeText,
		Doc: "Instead of `fact`: a template of what a model is asked, such as `What about this repository was not " +
			"obvious?`. It may find that there is nothing to remember.",
	},
	{
		Name: "source", In: InRemember, Type: TypeText,
		Doc: "What the judge looks at, a template. Without it, the output of the state.",
	},
	{
		Name: "when", In: InRemember, Type: TypeExpression,
		Doc: "Something is remembered only if this is true: `result.verdict == 'no'`.",
	},
	{
		Name: "failed", In: InRemember, Type: TypeBool,
		Doc: "Whether the fact is about an attempt that failed. Without it, whether the verdict of the state says " +
			"so (`no`, `error`, `timeout`, `blocked`, `interrupted`, `guarded`), a script with `next` failed, or " +
			"the terminal state is a failure.",
	},

	{
		Name: "on", In: InFailover, Type: TypeTexts,
		Doc: "What another agent takes over for: `suspended` (only a person can fix it), `rate_limited`, or " +
			"`rate_limited > 10m`, for a limit that lasts longer. Without it `[suspended, rate_limited > 10m]`.",
	},
	{
		Name: "return", In: InFailover, Type: TypeBool, Default: true,
		Doc: "An agent is asked again, in the order of the list, when its time has come; `false`: not in this run.",
	},
	{
		Name: "files", In: InFailover, Type: TypeText, Default: "keep", Values: []string{"keep", "reset"},
		Doc: "`keep`: the next agent finds the files as they were left; `reset`: as the step found them.",
	},

	{
		Name: "reserve", In: InQuota, Type: TypeSpecial,
		Doc: "Share of each limit that is kept for others, as `30%` or `0.3`.",
	},
	{
		Name: "spare", In: InQuota, Type: TypeBool, Default: false,
		Doc: "Use only what would expire unused: a prompt waits until the share of the limit that is unused, " +
			"without the reserve, is larger than the share of its time that is to come.",
	},
	{
		Name: "cost_per_minute", In: InVelocity, Type: TypeNumber, Above: &limit0,
		Doc: "US dollars that a prompt may cost within a minute.",
	},
	{
		Name: "tokens_per_minute", In: InVelocity, Type: TypeSpecial,
		Doc: "Tokens that a prompt may use within a minute, input, output and cache together: `200000` or `200k`.",
	},

	{
		Name: "times", In: InRetry, Type: TypeInt, Required: true, Min: &limit1,
		Doc: "How often the action is tried again after the first try.",
	},
	{
		Name: "backoff", In: InRetry, Type: TypeSpecial,
		Doc: "The wait before each of these: always the same (`10s`, or a number of seconds), or the first and the " +
			"longest, doubled from one to the other. Without it `1s..1m`.",
	},
	{
		Name: "on", In: InRetry, Type: TypeTexts,
		Doc: "What is tried again: the verdict `error`, a `timeout`, the verdict `no`. Without it `[error, timeout]`.",
	},

	{Name: "for", In: InWait, Type: TypeSeconds, Above: &limit0, Doc: "How long to wait."},
	{
		Name: "at", In: InWait, Type: TypeText,
		Doc: "A time of day, the next one (`\"06:00\"`), or a date with a time (`2030-01-31T06:00:00Z`). " +
			"`${...}` is replaced.",
	},
	{
		Name: "until", In: InWait, Type: TypeText,
		Doc: "A bash script that is run until its exit code is 0. `${...}` is replaced.",
	},
	{Name: "file", In: InWait, Type: TypeText, Doc: "A path that comes to be. `${...}` is replaced."},
	{
		Name: "url", In: InWait, Type: TypeText,
		Doc: "An address that is asked for (GET) until it answers with `status`. `${...}` is replaced.",
	},
	{
		Name: "run", In: InWait, Type: TypeText,
		Doc: "The id of another run, or a loop, whose newest run is meant. `${...}` is replaced.",
	},
	{
		Name: "event", In: InWait, Type: TypeText,
		Doc: "The name of a signal that `loops signal` sends to the run. `${...}` is replaced.",
	},
	{
		Name: "status", In: InWait, Type: TypeText,
		Doc: "Of a `url`: the number it is to answer with; without it, any from 200 to 299. Of a `run`: how it is " +
			"to end: `completed`, `failed` or, in whatever way, `ended`; without it, `completed`.",
	},
	{
		Name: "every", In: InWait, Type: TypeSeconds, Min: &leastWait,
		Doc: "Time between two looks: at a script or URL 5 s without it, at a file or run 1 s.",
	},
	{
		Name: "backoff", In: InWait, Type: TypeNumber, Default: 1, Min: &limit1,
		Doc: "By how much that grows with each look.",
	},
	{
		Name: "max", In: InWait, Type: TypeSeconds, Above: &limit0,
		Doc: "The longest time between two looks; without it, five minutes, or `every` where that is longer.",
	},

	{
		Name: "question", In: InAsk, Type: TypeText, Required: true,
		Doc: "What the person is asked. `${...}` is replaced, once, when the state is entered.",
	},
	{
		Name: "choices", In: InAsk, Type: TypeTexts,
		Doc: "What can be answered: the verdicts of the state. Without it `[approve, reject]`.",
	},
	{
		Name: "fields", In: InAsk, Type: TypeSpecial,
		Doc: "What may be said beside the choice, by name, with its type: `text`, `integer`, `number` or `boolean`. " +
			"It is in the capture: `${captured.NAME.reason}`.",
	},
	{
		Name: "show", In: InAsk, Type: TypeText,
		Doc: "A file whose text the user sees, or a text: 64 KiB of it, as it is when the state is entered. " +
			"`${...}` is replaced.",
	},
	{
		Name: "who", In: InAsk, Type: TypeTexts,
		Doc: "Who is asked. It is shown and recorded; where it is known who answers (`LOOPS_IDENTITY`, a user who " +
			"signed in at `loops serve`, a link), only these can.",
	},
	{
		Name: "quorum", In: InAsk, Type: TypeInt, Default: 1, Min: &limit1, Max: &limit100,
		Doc: "How many people must give the same answer before the question is answered. Until then each of them " +
			"may change their answer.",
	},
	{
		Name: "confirm", In: InAsk, Type: TypeTexts,
		Doc: "Choices that must be confirmed: `[deploy]`. The page asks for a second tap, `loops answer` asks " +
			"`[y/N]` or needs `--yes`.",
	},
	{
		Name: "remind", In: InAsk, Type: TypeSeconds, Above: &limit0,
		Doc: "How often those who were notified of the question are notified again while it has no answer, 20 times " +
			"at most: `4h`. It counts from when the question was asked.",
	},
	{
		Name: "escalate", In: InAsk, Type: TypeSpecial,
		Doc: "Who else is notified, once: names of targets of `notify` in the settings, at the first reminder " +
			"(`[team]`) or after a time (`{after: 8h, to: [team]}`).",
	},

	{
		Name: "after", In: InEscalate, Type: TypeSeconds, Above: &limit0,
		Doc: "How long after the question was asked the targets are notified. Without it at the first reminder.",
	},
	{Name: "to", In: InEscalate, Type: TypeTexts, Required: true, Doc: "Names of targets of `notify` in the settings."},

	{
		Name: "command", In: InForEach, Type: TypeText, Required: true,
		Doc: "A bash script that prints the items: a JSON list, or one a line. `${...}` is replaced.",
	},

	{
		Name: "url", In: InCall, Type: TypeText, Required: true,
		Doc: "The address, which begins with `http://` or `https://`. `${...}` is replaced.",
	},
	{
		Name: "method", In: InCall, Type: TypeText, Values: callMethods,
		Doc: "The method; without it `POST` where there is a body, else `GET`.",
	},
	{
		Name: "headers", In: InCall, Type: TypeSpecial,
		Doc: "Headers by name: `{Authorization: \"Bearer ${env.API_TOKEN}\"}`. `${...}` is replaced.",
	},
	{Name: "body", In: InCall, Type: TypeText, Doc: "The body, as a text. `${...}` is replaced."},
	{
		Name: "json", In: InCall, Type: TypeValue,
		Doc: "The body, as a value that becomes JSON; `Content-Type` is `application/json` then. `${...}` is " +
			"replaced in its texts.",
	},

	{
		Name: "cost_usd", In: InBudget, Type: TypeNumber, Above: &limit0,
		Doc: "US dollars. A prompt to a model without a known price ends the run, unless " +
			"`allow_unknown_cost` is true.",
	},
	{Name: "tokens", In: InBudget, Type: TypeInt, Above: &limit0, Doc: "Tokens: input, output and cache together."},
	{
		Name: "wall", In: InBudget, Type: TypeSeconds, Above: &limit0,
		Doc: "Seconds: of a loop since its start, pauses between resumes left out; of a state what its prompts and " +
			"judges took. A prompt or a judge that is running then is ended.",
	},
	{
		Name: "steps", In: InBudget, Type: TypeInt, Above: &limit0,
		Doc: "State entries, those of sub-loops too; of a state only those of the sub-loops it ran.",
	},
	{Name: "prompts", In: InBudget, Type: TypeInt, Above: &limit0, Doc: "Prompts and questions to judges."},
	{
		Name: "allow_unknown_cost", In: InBudget, Type: TypeBool, Default: false,
		Doc: "Continue although the cost of a prompt is not known; it counts as nothing.",
	},
	{
		Name: "steer", In: InBudget, Type: TypeBool, Default: true,
		Doc: "Prompts get the rest of the budget in their text, once half of a limit is used.",
	},

	{
		Name: "cost_ceiling_per_state", In: InCostCeiling, Type: TypeNumber, Min: &limit0,
		Doc: "US dollars that all visits to the state may cost together. A cost that is not known counts as nothing.",
	},
	{
		Name: "cost_warn_at", In: InCostCeiling, Type: TypeNumber, Min: &limit0,
		Doc: "US dollars that cause a warning, once.",
	},

	{
		Name: "type", In: InParameter, Type: TypeText, Required: true,
		Values: []string{"string", "integer", "number", "boolean", "enum", "path"},
		Doc:    "Type of the values that can be bound.",
	},
	{Name: "required", In: InParameter, Type: TypeBool, Default: false, Doc: "Whether a value must be bound."},
	{Name: "default", In: InParameter, Type: TypeValue, Doc: "Value of a parameter that is not bound."},
	{Name: "description", In: InParameter, Type: TypeText, Doc: "What the parameter is for."},
	{Name: "values", In: InParameter, Type: TypeList, Doc: "The values an `enum` allows."},
}

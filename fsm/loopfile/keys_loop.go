package loopfile

// The top level of a loop file.
var loopKeys = []Key{
	{
		Name: "name", In: InLoop, Type: TypeText, Required: true,
		Doc: "Identifies the loop: in run ids, locks, listings and `${loop.name}`. It need not equal the file name.",
	},
	{
		Name: "description", In: InLoop, Type: TypeText,
		Doc: "What the loop does, for people. Listings show the first line.",
	},
	{Name: "initial", In: InLoop, Type: TypeTarget, Required: true, Doc: "The state a run starts in."},
	{
		Name: "states", In: InLoop, Type: TypeSpecial, Required: true, NotNull: true,
		Doc: "The states by name. At least one must be terminal.",
	},
	{
		Name: "otherwise", In: InLoop, Type: TypeTarget,
		Doc: "The state to go to when a state fails that says nothing about that. A state that acts and has neither " +
			"`route` nor `on_no`, `on_error`, `on_timeout` or `on_partial` gets these four keys; with `next`, " +
			"`on_error` only.",
	},
	{
		Name: "context", In: InLoop, Type: TypeMap,
		Doc: "First values of `${context.NAME}`. The command line can replace them.",
	},
	{
		Name: "parameters", In: InLoop, Type: TypeSpecial,
		Doc: "Typed inputs: of a run of its own, and of the loops that run this one.",
	},
	{
		Name: "max_steps", In: InLoop, Type: TypeInt, Default: 50, Above: &limit0,
		Doc: "How many times states may be entered before the run ends.",
	},
	{
		Name: "on_max_steps", In: InLoop, Type: TypeTarget,
		Doc: "State that is entered once when `max_steps` is reached, to clean up or report.",
	},
	{
		Name: "max_iterations", In: InLoop, Type: TypeInt, Above: &limit0,
		Doc: "How many full passes a `maintain` loop makes. Without `max_steps` it is the older spelling " +
			"of `max_steps`.",
	},
	{
		Name: "on_max_iterations", In: InLoop, Type: TypeTarget,
		Doc: "State that is entered once when `max_iterations` passes are done.",
	},
	{
		Name: "max_edge_revisits", In: InLoop, Type: TypeInt, Default: 100, Above: &limit0,
		Doc: "How often one and the same transition may be taken before the run ends as a cycle.",
	},
	{Name: "backoff", In: InLoop, Type: TypeSeconds, Min: &limit0, Doc: "Seconds to wait after every transition."},
	{Name: "timeout", In: InLoop, Type: TypeSeconds, Above: &limit0, Doc: "Seconds the whole run may take."},
	{
		Name: "default_timeout", In: InLoop, Type: TypeSeconds, Min: &limit0,
		Doc: "Seconds an action may take if its state has no `timeout`; 0 is the same as none.",
	},
	{
		Name: "default_idle_timeout", In: InLoop, Type: TypeSeconds, Min: &limit0,
		Doc: "Seconds an action may be silent if its state has no `idle_timeout`; 0 is the same as none.",
	},
	{
		Name: "maintain", In: InLoop, Type: TypeBool, Default: false,
		Doc: "Start over at a terminal state instead of ending.",
	},
	{
		Name: "on_handoff", In: InLoop, Type: TypeText, Default: "pause",
		Values: []string{"pause", "spawn", "terminate"},
		Doc:    "What to do when an action asks to be continued in a fresh session.",
	},
	{
		Name: "input_key", In: InLoop, Type: TypeText, Default: "input",
		Doc: "The context key that receives the input given on the command line.",
	},
	{
		Name: "required_inputs", In: InLoop, Type: TypeTexts,
		Doc: "Context keys that must be set, and not empty, before a run starts.",
	},
	{
		Name: "scope", In: InLoop, Type: TypeTexts,
		Doc: "Paths that no other run may work on at the same time; without it, the project directory. " +
			"`${context.NAME}` is replaced.",
	},
	{
		Name: "secrets", In: InLoop, Type: TypeTexts,
		Doc: "Names whose values are kept off the record: variables of the environment, or what `secrets` of " +
			"config.yaml says. `${secret.NAME}` is the value of one; see Secrets.",
	},
	{
		Name: "singleton", In: InLoop, Type: TypeBool, Default: false,
		Doc: "Refuse a second run of this loop, whatever its scope.",
	},
	{
		Name: "worktree", In: InLoop, Type: TypeText, Values: worktreeEnds,
		Doc: "What happens to the work tree of `run --worktree` when the run has ended: `keep` it if there is " +
			"something in it, `merge` what was committed if the run succeeded, or `discard` it. Without it the " +
			"project's config says so, or it is `keep`.",
	},
	{
		Name: "throttle", In: InLoop, Type: TypeBlock, Block: InThrottle, NotNull: true,
		Doc: "Throttle of every state that declares none itself.",
	},
	{
		Name: "budget", In: InLoop, Type: TypeBlock, Block: InBudget, NotNull: true,
		Doc: "Limits what a run may use, with all its sub-loops and over all resumes. It is looked at before every " +
			"prompt and judge, steps and time before every state.",
	},
	{
		Name: "quota", In: InLoop, Type: TypeBlock, Block: InQuota, NotNull: true,
		Doc: "How much of what the accounts of agents allow is used, by what the agents report: prompts and judges, " +
			"those of sub-loops too, wait for the rest until the limit resets.",
	},
	{
		Name: "velocity", In: InLoop, Type: TypeBlock, Block: InVelocity, NotNull: true,
		Doc: "Ends a prompt that uses too much within a minute, by what its agent reports while it runs; of all " +
			"prompts, those of sub-loops too.",
	},
	{
		Name: "on_budget", In: InLoop, Type: TypeTarget,
		Doc: "State to go to, once, when a budget is used up; it cannot prompt. Without it the run ends, and can be " +
			"resumed with a higher budget.",
	},
	{
		Name: "llm", In: InLoop, Type: TypeBlock, Block: InLLM,
		Doc: "Settings of the judge that evaluates by language model.",
	},
	{
		Name: "session_mode", In: InLoop, Type: TypeText, Default: "fresh", Values: sessionModes,
		Doc: "`continue`: a prompt carries on the session of the prompt before; `fresh`: it begins a new one. A " +
			"state can say otherwise.",
	},
	{
		Name: "permissions", In: InLoop, Type: TypeText, Default: "skip", Values: permissions,
		Doc: "`skip`: agents use their tools without asking; `host`: as their own settings say. A state can " +
			"say otherwise.",
	},
	{
		Name: "failover", In: InLoop, Type: TypeBlock, Block: InFailover, NotNull: true,
		Doc: "When another agent takes over, where `host` is a list; for all states that do not say it themselves.",
	},
	{
		Name: "sandbox", In: InLoop, Type: TypeBlock, Block: InSandbox, Short: "preset", NotNull: true,
		Doc: "What actions may touch: `workspace`, `offline`, `strict`, `off`, or a mapping. States, branches and " +
			"sub-loops can only tighten it. Without it, nothing is limited, unless the project's config or " +
			"`--sandbox` says otherwise.",
	},
	{
		Name: "snapshots", In: InLoop, Type: TypeBlock, Block: InSnapshots, Short: "keep", NotNull: true,
		Doc: "`git`: the files are kept as they are before and after each action, so that `loops undo` can put them " +
			"back; `off`; or a mapping. Without it, `git` for a run with a work tree of its own, and `off` for " +
			"others, unless the project's config or `--snapshots` says otherwise.",
	},

	{
		Name: "guard", In: InLoop, Type: TypeBlock, Block: InGuard, NotNull: true,
		Doc: "What actions may change in their folder: `{protect: [\"**/*_test.go\"], only: [src/**], max_files: " +
			"50}`. What else one changes is put back, and its verdict is `guarded`. States, branches and sub-loops " +
			"can only tighten it.",
	},
	{
		Name: "memory", In: InLoop, Type: TypeBlock, Block: InMemory, Short: "name", NotNull: true,
		Doc: "What runs of this loop leave for later ones, in `.loops/memory/NAME.jsonl`: `{}` for a memory with " +
			"the name of the loop, or the name of one. States write it by `remember`, prompts have it as `${memory}`.",
	},
	{
		Name: "properties", In: InLoop, Type: TypeSpecial,
		Doc: "What must hold of every run: a list of `{never: {enter: deploy, without: approve}}`, " +
			"`{always_before_end: cleanup}` and `{at_most: {enter: deploy, times: 1}}`. `loops prove` checks them; " +
			"a run does not look at them.",
	},
	{
		Name: "circuit", In: InLoop, Type: TypeBlock, Block: InCircuit,
		Doc: "Detectors that stop a run which goes nowhere.",
	},
	{
		Name: "host_guard", In: InLoop, Type: TypeBlock, Block: InHostGuard,
		Doc: "What to do when the machine runs out of memory.",
	},
	{
		Name: "prompt_size_guard", In: InLoop, Type: TypeBlock, Block: InPromptSizeGuard,
		Doc: "Warns about very long prompts.",
	},
	{Name: "category", In: InLoop, Type: TypeText, Doc: "Group in listings."},
	{Name: "labels", In: InLoop, Type: TypeTexts, Doc: "Words to filter listings by: `loops list --label WORD`."},
	{
		Name: "visibility", In: InLoop, Type: TypeText, Default: "public",
		Values: []string{"public", "internal", "example"}, Advisory: true,
		Doc: "Who the loop is for. `loops list` leaves out `internal` ones, unless it is asked with `--all`. Any " +
			"can be run by name.",
	},

	{
		Name: "schedule", In: InLoop, Type: TypeBlock, Block: InSchedule, Short: "cron", NotNull: true,
		Doc: "When the loop is to be run: `{cron: \"0 3 * * *\", timezone: Europe/Berlin}`, or a plain text for " +
			"`cron` alone. `loops serve` fires it; `loops schedule next NAME` lists the times.",
	},

	{
		Name: "from", In: InLoop, Type: TypeText, NotNull: true,
		Doc: "The loop to inherit from. What this file says is laid over it: mappings key by key, everything " +
			"else is replaced.",
	},
	{
		Name: "flow", In: InLoop, Type: TypeTexts, NotNull: true,
		Doc: "The steps of a loop in a row, instead of `states`. `NAME` leads to the next step, `NAME?YES:NO` " +
			"tests; the last step ends the run.",
	},
	{
		Name: "state_defs", In: InLoop, Type: TypeSpecial,
		Doc: "What the steps in `flow` do: states by name, laid over what `flow` says of them.",
	},
	{
		Name: "import", In: InLoop, Type: TypeTexts,
		Doc: "Files whose `fragments` this loop may use. Of two fragments of one name the later wins.",
	},
	{
		Name: "fragments", In: InLoop, Type: TypeSpecial,
		Doc: "Partial states by name, to build states from by `fragment`. They win over imported ones.",
	},

	{
		Name: "config", In: InLoop, Type: TypeSpecial, Status: StatusUnsupported,
		Instead: "no project setting is changed", Doc: "Overrides of project settings.",
	},
	{
		Name: "commands", In: InLoop, Type: TypeSpecial, Status: StatusUnsupported,
		Instead: "the usual commands are shown", Doc: "Commands to show for this loop.",
	},
	{
		Name: "targets", In: InLoop, Type: TypeSpecial, Status: StatusUnsupported, Instead: "no prompt is optimised",
		Doc: "Files and states for a prompt optimiser.",
	},
	{
		Name: "tamper_guard", In: InLoop, Type: TypeText, Values: tamperPolicies, Advisory: true,
		Doc: "Another spelling of a `guard` of tests, for every state: `revert` or `fail`; with `fail` the verdict " +
			"`guarded` leads to `on_no`, or a state that ends as failed. `allow`: none.",
	},
	{
		Name: "prepatch_check", In: InLoop, Type: TypeText, Values: prepatchPolicies, Advisory: true,
		Doc: "Another spelling of `must_fail_first`: with `fail`, of each script that a prompt leads to and whose " +
			"verdict is followed. `warn`, `allow`: of none.",
	},
	{
		Name: "pruning_profile", In: InLoop, Type: TypeSpecial, Status: StatusUnsupported, Instead: pruning,
		Doc: "What an agent may leave out of its session.",
	},

	offSwitch("artifact_versioning", "", "Declares that the loop keeps copies of what it writes."),
	offSwitch("artifact_versioning_ok", "", ""),
	offSwitch("meta_self_eval_ok", "", ""),
	offSwitch("shared_state_ok", "shared-tmp", ""),
	offSwitch("partial_route_ok", "partial-route, classify-default", ""),
	offSwitch("generator_fix_ok", "", ""),
	offSwitch("bash_default_ok", "bash-default", ""),
	offSwitch("evidence_contract_ok", "judge-evidence", ""),
	offSwitch("shell_pid_ok", "shell-pid", ""),
	offSwitch("parse_swallow_ok", "swallowed-parse-error", ""),
	offSwitch("unsafe_context_interpolation_ok", "unquoted-input, raw-capture", ""),
	offSwitch("pruning_profile_ok", "", ""),
	offSwitch("abandonment_verdict_ok", "", ""),
	offSwitch("evaluate_unknown_keys_ok", "unknown-key in evaluate", ""),
	offSwitch("haiku_generator_ok", "", ""),
	offSwitch("session_mode_ok", "", ""),
	offSwitch("tamper_guard_ok", "", ""),
	offSwitch("prepatch_check_ok", "", ""),
	offSwitch("terminal_action_ok", "terminal-action", ""),
	offSwitch("capture_reachability_ok", "unknown-capture, capture-field, capture-reachability, own-capture", ""),
	offSwitch("policy_dims_scored_ok", "policy-dimensions", ""),
}

// The values of keys that both loops and states have.
var (
	sessionModes = []string{"fresh", "continue"}
	permissions  = []string{"skip", "host"}

	tamperPolicies   = []string{"revert", "fail", "allow"}
	prepatchPolicies = []string{"fail", "warn", "allow"}
)

// worktreeEnds are what can become of a run's work tree.
var worktreeEnds = []string{"keep", "merge", "discard"}

// What happens instead of keys that both loops and states have.
const (
	pruning = "an agent gets its whole session"
)

// offSwitch is a key that switches off checks, or, if there are none, is accepted for the sake of other tools.
func offSwitch(name, silences, doc string) Key {
	switch {
	case doc != "":
	case silences == "":
		doc = "Switches off a check that other tools have and this one has not."
	default:
		doc = "Switches off the check " + silences + "."
	}
	return Key{Name: name, In: InLoop, Type: TypeBool, Default: false, Silences: silences, Doc: doc}
}

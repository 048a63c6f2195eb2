package loopfile

import "loops/fsm"

// The body of a state.
var stateKeys = []Key{
	{Name: "description", In: InState, Type: TypeText, Doc: "What the state does, for people."},
	{
		Name: "action", In: InState, Type: TypeText,
		Doc: "A bash script, a prompt, a slash command, or `server/tool`. `${...}` is replaced before it runs.",
	},
	{
		Name: "action_type", In: InState, Type: TypeText,
		Values: []string{"shell", "prompt", "slash_command", "mcp_tool", "http", "contract", "human_approval"},
		Doc: "How the action is carried out. Without it an action that begins with `/` is a prompt and any other " +
			"a bash script. `action_types` in the settings of a project adds others, each for a program or an agent " +
			"host (see docs/config.md). With `http` it is the request that `call` describes. With `human_approval` " +
			"the action is a question for a person, as in `ask`. A type that neither has is an error: a gate would " +
			"run as a script, and approve itself.",
	},
	{Name: "params", In: InState, Type: TypeMap, Doc: "Arguments of an `mcp_tool`."},
	{
		Name: "timeout", In: InState, Type: TypeSeconds, Min: &limit0,
		Doc: "Seconds the action, one item of a `for_each`, or the `wait`, may take; 0 is the same as none.",
	},
	{
		Name: "idle_timeout", In: InState, Type: TypeSeconds, Min: &limit0,
		Doc: "Seconds the action may be silent; 0 is the same as none.",
	},
	{
		Name: "capture", In: InState, Type: TypeText,
		Doc: "Name under which the result of the action is kept: `${captured.NAME.output}`.",
	},
	{
		Name: "append_to_messages", In: InState, Type: TypeText,
		Doc: "Text to add to `${messages}` after the action. It must contain a `${...}`.",
	},
	{Name: "agent", In: InState, Type: TypeText, Doc: "Agent that handles a prompt."},
	{Name: "tools", In: InState, Type: TypeTexts, Doc: "Tools an agent may use for a prompt."},
	{Name: "model", In: InState, Type: TypeText, Doc: "Model for a prompt and for the judge of this state."},
	{
		Name: "model_hint", In: InState, Type: TypeText, Values: fsm.ModelHints,
		Doc: "What the model of a prompt and of the judge of this state is to be good at, instead of `model`: " +
			"`coding`, `reasoning`, or `burst` for short answers. Which model that is depends on the agent host; " +
			"see docs/agents.md.",
	},
	{
		Name: "effort", In: InState, Type: TypeText,
		Doc: "Reasoning effort for a prompt and for the judge of this state.",
	},
	{
		Name: "host", In: InState, Type: TypeSpecial,
		Doc: "Agent host that a prompt and its judge go to, such as claude or codex; without it, that of `llm`. A " +
			"list names those that take over from one another: `[claude, codex, {host: claude, model: haiku}]`.",
	},
	{
		Name: "failover", In: InState, Type: TypeBlock, Block: InFailover, NotNull: true,
		Doc: "When another agent of the list `host` takes over; without it, as the loop says.",
	},
	{
		Name: "session_mode", In: InState, Type: TypeText, Values: sessionModes,
		Doc: "`continue`: the prompt carries on the session of the prompt before, if that one was to continue too; " +
			"`fresh`: it begins a new one. Without it, as the loop says.",
	},
	{
		Name: "permissions", In: InState, Type: TypeText, Values: permissions,
		Doc: "`skip`: the agent uses its tools without asking; `host`: as its own settings say. Without it, as " +
			"the loop says.",
	},
	{
		Name: "sandbox", In: InState, Type: TypeBlock, Block: InSandbox, Short: "preset", NotNull: true,
		Doc: "What the action, its judge, or the loop of this state may touch, beside what the loop says: it can " +
			"only tighten that.",
	},
	{
		Name: "guard", In: InState, Type: TypeBlock, Block: InGuard, NotNull: true,
		Doc: "What the action, or the loop, list or branches of this state, may change, beside what the loop says: " +
			"it can only tighten that.",
	},
	{
		Name: "check", In: InState, Type: TypeBlock, Block: InCheck, NotNull: true,
		Doc: "Says that the verdict of this script decides what the run is worth, and keeps it from being bought: " +
			"`{files: [tests/**], must_fail_first: true}`.",
	},
	{
		Name: "remember", In: InState, Type: TypeBlock, Block: InRemember, Short: "fact", NotNull: true,
		Doc: "A fact for later runs, when the state is left: `remember: \"the port is ${captured.port.output}\"`, " +
			"or a mapping. The loop needs `memory`.",
	},

	{
		Name: "set", In: InState, Type: TypeSpecial, NotNull: true,
		Doc: "Keys of the context with the expressions whose values they get, after the action and before the " +
			"verdict: `set: {tries: context.tries + 1}`. Each sees those before it.",
	},
	{
		Name: "wait", In: InState, Type: TypeBlock, Block: InWait, NotNull: true,
		Doc: "Waits instead of acting, for a time, a script, a file, a URL, another run or an event: `{file: " +
			"ready.txt}`. The verdict is `yes` when it came.",
	},
	{
		Name: "ask", In: InState, Type: TypeBlock, Block: InAsk, NotNull: true,
		Doc: "Asks a person, and waits for the answer, which is the verdict: `{question: \"Ship it?\", choices: " +
			"[approve, reject]}`. See `loops answer`.",
	},
	{
		Name: "call", In: InState, Type: TypeBlock, Block: InCall, NotNull: true,
		Doc: "Makes a request over HTTP as the action: `{url: https://example.com/health}`. A status from 200 to " +
			"299 is the verdict `yes`, 400 to 499 `no`, anything else `error`; the response is in the capture.",
	},
	{
		Name: "for_each", In: InState, Type: TypeSpecial, NotNull: true,
		Doc: "A list: the action is done once for each of its items. A pattern of paths (`in/*.txt`), a list, a " +
			"text with `${...}` that becomes a JSON list or lines, or `{command: SCRIPT}`, which prints one of " +
			"these. The verdict is `yes` when all items are `yes`, `partial` when some are, `no` when none is.",
	},
	{
		Name: "as", In: InState, Type: TypeText, Default: "value",
		Doc: "Name of the item of a `for_each`: `${item.NAME}`, `$LOOPS_ITEM_NAME`.",
	},
	{
		Name: "key", In: InState, Type: TypeText,
		Doc: "Name of an item of a `for_each` in events and results, such as `${item.value.id}`; without it, the " +
			"text of the item. One that comes again gets a number: `name#2`.",
	},
	{
		Name: "parallel", In: InState, Type: TypeSpecial, NotNull: true,
		Doc: "Branches that run side by side, by name: `{lint: {action: make lint}, test: {loop: test-suite}}`. Or, " +
			"beside `for_each`, how many items are worked on at once; 1 unless set.",
	},
	{
		Name: "join", In: InState, Type: TypeText, Values: []string{"all", "any", "settled"}, Default: "all",
		Doc: "What the branches of `parallel` come to: `all`: `yes` when every branch says `yes`; `any`: `yes` with " +
			"the first that does, and the others are stopped; `settled`: as `all`, and every branch ends by itself.",
	},
	{
		Name: "max_parallel", In: InState, Type: TypeInt, Min: &limit1,
		Doc: "How many branches of `parallel` run at once; without it, all.",
	},
	{
		Name: "on_branch_failure", In: InState, Type: TypeText, Values: []string{"stop", "continue"},
		Doc: "Whether a branch of `parallel` that is not `yes` ends the others. With `join: all` it does, unless " +
			"this is `continue`.",
	},
	{
		Name: "on_item_failure", In: InState, Type: TypeText, Values: []string{"stop", "continue"}, Default: "stop",
		Doc: "Whether further items of a `for_each` begin when one is not `yes`.",
	},
	{
		Name: "item_retries", In: InState, Type: TypeInt, Default: 0, Min: &limit0, Max: &limit100,
		Doc: "How often an item of a `for_each` that is not `yes` is tried again, at once.",
	},
	{
		Name: "evaluate", In: InState, Type: TypeBlock, Block: InEvaluate, NotNull: true,
		Doc: "How the result becomes a verdict. Without it a bash script is judged by its exit code, a prompt by " +
			"the judge, a tool by its answer.",
	},
	{
		Name: "route", In: InState, Type: TypeSpecial, NotNull: true,
		Doc: "Where to go by verdict. `_` stands for every other verdict, `_error` for `error`. It replaces the on_ " +
			"keys. As a list of `{when: EXPRESSION, to: STATE}` the first that holds is taken, one without `when` " +
			"in any case; the verdict `error` goes to `on_error`.",
	},
	{Name: "on_yes", In: InState, Type: TypeTarget, Doc: "The next state on the verdict `yes`."},
	{
		Name: "on_success", In: InState, Type: TypeTarget, Alias: "on_yes",
		Doc: "The same as `on_yes`, which wins if both are there.",
	},
	{Name: "on_no", In: InState, Type: TypeTarget, Doc: "The next state on the verdict `no`; without it, `on_error`."},
	{
		Name: "on_failure", In: InState, Type: TypeTarget, Alias: "on_no",
		Doc: "The same as `on_no`, which wins if both are there.",
	},
	{
		Name: "on_error", In: InState, Type: TypeTarget,
		Doc: "The next state on the verdict `error`, and from a `next` state whose action failed.",
	},
	{
		Name: "on_timeout", In: InState, Type: TypeTarget,
		Doc: "Where to go when a `wait` takes longer than `timeout`, or the loop of this state does; " +
			"without it, `on_no`.",
	},
	{
		Name: "on_partial", In: InState, Type: TypeTarget,
		Doc: "The next state on the verdict `partial`; a `for_each` or `parallel` without it goes to `on_no`.",
	},
	{
		Name: "on_empty", In: InState, Type: TypeTarget,
		Doc: "The next state on the verdict `empty`; a `for_each` whose list has no items goes to " +
			"`on_yes` without it.",
	},
	{Name: "on_blocked", In: InState, Type: TypeTarget, Doc: "The next state on the verdict `blocked`."},
	{
		Name: "next", In: InState, Type: TypeTarget,
		Doc: "Where to go in any case; nothing is evaluated. A failed action goes to `on_error` if there is one.",
	},
	{
		Name: "terminal", In: InState, Type: TypeBool, Default: false,
		Doc: "The run ends here. The action of a terminal state does not run.",
	},
	{
		Name: "message", In: InState, Type: TypeText,
		Doc: "What a run that ends in this terminal state says last: a text with `${...}`, shown by run, status, " +
			"history and notifications.",
	},
	{
		Name: "failure", In: InState, Type: TypeBool,
		Doc: "Ending here means that the run failed. Terminal states called failed, error, aborted or " +
			"finalize_aborted are failures unless this is false.",
	},
	{
		Name: "on_maintain", In: InState, Type: TypeTarget,
		Doc: "Where a `maintain` loop starts over from this terminal state; without it, `initial`.",
	},

	{
		Name: "retry", In: InState, Type: TypeBlock, Block: InRetry, NotNull: true,
		Doc: "Tries the action again when it fails, after a wait and in the same step: `{times: 5, backoff: 2s..1m}`.",
	},
	{
		Name: "max_retries", In: InState, Type: TypeInt, Min: &limit1,
		Doc: "How often the state may be entered again in a row before `on_retry_exhausted` is taken.",
	},
	{Name: "on_retry_exhausted", In: InState, Type: TypeTarget, Doc: "Where to go when `max_retries` is used up."},
	{
		Name: "retryable_exit_codes", In: InState, Type: TypeInts, Min: &limit1,
		Doc: "Exit codes worth a retry; any other error goes to `on_retry_exhausted` at once. Needs `on_error`.",
	},
	{
		Name: "max_rate_limit_retries", In: InState, Type: TypeInt, Default: 3, Min: &limit1,
		Doc: "Short waits when a prompt is rate-limited, before the long ones. Needs `on_rate_limit_exhausted`.",
	},
	{
		Name: "on_rate_limit_exhausted", In: InState, Type: TypeTarget,
		Doc: "Where to go when the waits are used up; without it, `on_error`. Needs `max_rate_limit_retries`.",
	},
	{
		Name: "rate_limit_backoff_base_seconds", In: InState, Type: TypeInt, Default: 30, Min: &limit1,
		Doc: "Seconds of the first short wait; it doubles each time.",
	},
	{
		Name: "rate_limit_max_wait_seconds", In: InState, Type: TypeInt, Default: 21600, Min: &limit1,
		Doc: "Seconds of waiting after which the waits are used up; it is looked at after each long wait, so the " +
			"last may go over it.",
	},
	{
		Name: "rate_limit_long_wait_ladder", In: InState, Type: TypeInts, Default: []int{300, 900, 1800, 3600},
		Min: &limit1, Doc: "Seconds of the long waits; the last repeats.",
	},
	{
		Name: "throttle", In: InState, Type: TypeBlock, Block: InThrottle, NotNull: true,
		Doc: "Limits how often one uninterrupted stay in this state may act.",
	},
	{
		Name: "on_throttle_hard", In: InState, Type: TypeTarget,
		Doc: "Where to go at `hard_max`; without it, `on_error`.",
	},

	{
		Name: "budget", In: InState, Type: TypeBlock, Block: InBudget, NotNull: true,
		Doc: "Limits what all visits to this state together may use.",
	},
	{
		Name: "cost_ceiling", In: InState, Type: TypeBlock, Block: InCostCeiling, NotNull: true,
		Doc: "What all visits to this state together may cost: `{cost_ceiling_per_state: 2.50, cost_warn_at: 1}`. " +
			"The run ends as failed after the prompt that exceeds it.",
	},
	{
		Name: "velocity", In: InState, Type: TypeBlock, Block: InVelocity, NotNull: true,
		Doc: "Ends a prompt of this state that uses too much within a minute. Where the loop has one too, the " +
			"lower limit holds.",
	},
	{
		Name: "on_budget", In: InState, Type: TypeTarget,
		Doc: "Where to go when a budget is used up; without it, where the loop's `on_budget` says.",
	},

	{
		Name: "on_suspended", In: InState, Type: TypeTarget,
		Doc: "Where to go when the action or the judge cannot succeed until a person does something, such as a " +
			"login; without it, `on_error`, and else the run is suspended.",
	},
	{
		Name: "on_guarded", In: InState, Type: TypeTarget,
		Doc: "Where to go when the action changed what a `guard` does not allow; without it, the run ends and " +
			"can be resumed.",
	},
	{
		Name: "on_interrupted", In: InState, Type: TypeTarget,
		Doc: "Where a resumed run goes if it was stopped or killed while the action ran; without it, the " +
			"action runs again.",
	},
	{
		Name: "idempotent", In: InState, Type: TypeBool, Default: true,
		Doc: "false: an action that was interrupted does not run again unless `loops resume --rerun` says so.",
	},

	{
		Name: "loop", In: InState, Type: TypeText,
		Doc: "Another loop to run as this state. Its success is the verdict `yes`, its failure `no`. " +
			"`${...}` is replaced.",
	},
	{
		Name: "with", In: InState, Type: TypeMap,
		Doc: "Values for the parameters of that loop, or of the fragment. `${...}` is replaced in them.",
	},
	{
		Name: "context_passthrough", In: InState, Type: TypeBool, Default: false,
		Doc: "Hand the whole context and all captures to that loop. Not together with `with`.",
	},
	{
		Name: "worktree", In: InState, Type: TypeSpecial,
		Doc: "An existing branch of git: that loop runs in a work tree of it. `${...}` is replaced; an empty text " +
			"is none. Or, beside the branches of `parallel`, `true`: each runs in a work tree of a branch of git of " +
			"its own, made from what is checked out.",
	},
	{
		Name: "merge", In: InState, Type: TypeText, Values: []string{"none", "ours-first"}, Default: "none",
		Doc: "How the work trees of the branches of `parallel` end: `none`: they stay where something was changed. " +
			"`ours-first`: what the branches with `yes` changed is committed and merged, in the order in which they " +
			"stand in the file.",
	},
	{
		Name: "fragment", In: InState, Type: TypeText,
		Doc: "Fragment to build this state from. What the state says itself wins.",
	},

	{
		Name: "type", In: InState, Type: TypeText, Status: StatusUnsupported,
		Instead: "a learning state is an ordinary one", Values: []string{"learning"}, Advisory: true,
		Doc: "Kind of state; only `learning` means anything.",
	},
	{
		Name: "learning", In: InState, Type: TypeSpecial, Status: StatusUnsupported,
		Instead: "nothing is proven: the verdict is `yes` where there are no targets, else `blocked`, or else `no` " +
			"or `error`, as the state has routes", Doc: "Settings of a learning state.",
	},
	{
		Name: "tamper_guard", In: InState, Type: TypeText, Values: tamperPolicies, Advisory: true,
		Doc: "The same as that of the loop, for this state.",
	},
	{
		Name: "prepatch_check", In: InState, Type: TypeText, Values: prepatchPolicies, Advisory: true,
		Doc: "The same as that of the loop, for this state.",
	},
	{
		Name: "request_path", In: InState, Type: TypeSpecial, Status: StatusUnsupported,
		Instead: "prompts are sent by the agent's program", Doc: "How a prompt is sent.",
	},
	{
		Name: "pruning_profile", In: InState, Type: TypeSpecial, Status: StatusUnsupported, Instead: pruning,
		Doc: "What an agent may leave out of its session.",
	},

	{
		Name: "fragment_name", In: InState, Type: TypeText, Status: StatusInternal,
		Doc: "Written when a fragment is expanded.",
	},
	{
		Name: "fragment_bindings", In: InState, Type: TypeMap, Status: StatusInternal,
		Doc: "Written when a fragment is expanded.",
	},
	{
		Name: "fragment_parameters", In: InState, Type: TypeSpecial, Status: StatusInternal,
		Doc: "Written when a fragment is expanded.",
	},
}

// A row of a route that is a list.
var caseKeys = []Key{
	{
		Name: "when", In: InCase, Type: TypeExpression,
		Doc: "The row is taken if this is true. Without it the row is taken in any case.",
	},
	{Name: "to", In: InCase, Type: TypeTarget, Required: true, Doc: "Where to go."},
}

// Keys that begin with on_ and are no verdicts.
var notVerdicts = map[string]bool{
	"on_maintain": true, "on_retry_exhausted": true, "on_rate_limit_exhausted": true, "on_throttle_hard": true,
	"on_guarded": true, "on_suspended": true, "on_interrupted": true, "on_budget": true, "on_item_failure": true,
	"on_branch_failure": true,
}

package fsm

// The kinds of event in the history of a run, and the fields that an event of each kind has. Fields in brackets
// are there only where they apply. The values are those of history files: they never change.
const (
	// loop; of a fork also from_state, iteration, forked_from [head_sha, branch, worktree_digest,
	// loop_yaml_path, loop_yaml_sha256]
	EventLoopStart = "loop_start"
	// loop, from_state, iteration [from_handoff, continuation_prompt] [what loop_start has of files]
	EventLoopResume = "loop_resume"
	// final_state, iterations, terminated_by, failure_terminal [error, source] [message] [ignored_failures]
	// [merge, merge_error] [by: who stopped it] [worktree_digest]
	EventLoopComplete = "loop_complete"
	EventStateEnter   = "state_enter" // state, iteration, iteration_count [flushed, resumed]
	EventRoute        = "route"       // from, to [reason, as_error]: the next state is chosen
	EventCheckpoint   = "checkpoint"  // nothing: a line for memory to stand on, written by a store
	// state, message or note [wait and its times; address, choices, who; judges]: what users may want to know
	EventNote    = "note"
	EventWarning = "warning" // state, message: something went wrong that does not stop the run

	// action, is_prompt, host, model, budget_left (told to the agent), max_cost_usd: durable before the action
	// is started
	EventActionStart  = "action_start"
	EventActionOutput = "action_output" // line: of standard output
	// exit_code, duration_ms, previews [what was cut; status of a request; of a prompt: usage, host, session,
	// cost]
	EventActionComplete = "action_complete"
	// state, error [route, source]; without route the action was not started
	EventActionError = "action_error"
	// state, attempt, next: it was cut short, and on_interrupted says where to go
	EventActionInterrupted = "action_interrupted"
	EventActionKilled      = "action_killed"    // state, duration_ms, limit (of a budget); usage, host, cost
	EventPromptSizeWarn    = "prompt_size_warn" // loop, state, size, threshold, est_tokens
	EventMessagesAppend    = "messages_append"  // message, state: append_to_messages
	EventSet               = "context_set"      // state, values: what the state gave the context

	// state, check, seen, next_check [exit_code, duration_ms]: a look at what the state waits for; not each one
	EventWaitCheck = "wait_check"

	EventHumanRequested = "human_approval_requested" // state, question, choices [fields, who, until]: a person is asked
	EventHumanResponse  = "human_response"           // state, response, by, number [fields]: and answered
	// state, response, by, number, standing: an answer to a question that needs several
	EventHumanVote = "human_vote"
	// state, question, choices, number, since [who, until]: an open question is reminded of
	EventHumanReminded = "human_reminded"
	// state, question, choices, to, since [who, until]: others are told of an open question
	EventHumanEscalated = "human_escalated"
	// state, branches, max_parallel [resumed]: the state begins with its branches, or continues with them
	EventBranchesStart = "branches_start"
	EventBranchStart   = "branch_start" // branch: durable before anything of the branch is done
	EventBranchEnd     = "branch_end"   // branch, verdict, done, branches [exit_code, error]
	// state, items, parallel [pattern, done, failed, resumed]: the state begins with a list, or continues with
	// it
	EventItemsStart = "items_start"
	// item, key [attempt, ahead, boot]: written before the item's action is started, and durable unless an
	// earlier one with ahead is: items up to that number may begin, on the system whose start is named boot
	EventItemStart = "item_start"
	// item, key, verdict, done, failed, running, items [exit_code, duration_ms, retries, timeout_kind, output,
	// output_file, output_bytes, stderr_preview, error]
	EventItemEnd = "item_end"
	// item, key, verdict, items [what item_end has of its result]: a fork took the item over from the other run
	EventItemTaken = "item_taken"

	// memory, facts, tokens [left]: the loop begins with these facts of its memory
	EventMemoryRead = "memory_read"
	// state, memory, id, fact, failed [judges]: a state leaves a fact for later runs
	EventRemember = "memory_written"

	// state, exit_code, verdict, fault, passes: a check that has to fail before the first prompt was done
	EventCheckFirst = "check_first"

	EventEvaluate      = "evaluate"       // type, verdict, and the details of the evaluator
	EventStallDetected = "stall_detected" // state, exit_code, verdict, consecutive or recurrent, action

	EventRetryExhausted = "retry_exhausted" // state, retries, next: max_retries is used up
	// edge, from, to, count, max: max_edge_revisits is used up
	EventCycleDetected = "cycle_detected"
	// state, from, to, failure, reason, files (or judge): another agent of a list takes over
	EventFailover        = "agent_failover"
	EventMaxStepsSummary = "max_steps_summary" // summary_state, iterations: max_steps is used up
	// summary_state, iteration_count: max_iterations is used up
	EventMaxIterationsSummary = "max_iterations_reached_summary"
	EventBudgetWarning        = "budget_warning" // loop, limit, spent, budget [budget_of, cost_unknown]
	// limit, from, to [by]: of a run that is running; times in seconds
	EventLimitRaised = "limit_raised"
	// state, loop, limit, spent, budget, next [budget_of, cost_unknown]
	EventBudgetExceeded = "budget_exceeded"
	// state, cost_usd, cost_warn_at: the visits to a state cost so much
	EventCostCeilingWarn = "cost_ceiling_warn"
	// state, reason: what the visits to a state cost is not known
	EventCostCeilingUnknown = "cost_ceiling_unknown"
	// state, cost_usd, cost_ceiling_per_state, action: and the run ends
	EventCostCeilingExceeded = "cost_ceiling_exceeded"
	EventThrottleWarn        = "throttle_warn" // state, count, normal_max, warn_max, hard_max
	// state, count, hard_max, next: the run leaves the state
	EventThrottleHard = "throttle_hard"
	EventThrottleStop = "throttle_stop" // state, count, hard_max: the run ends

	// state, elapsed_seconds, next_attempt_at, total_waited_seconds, budget_seconds, tier
	EventRateLimitWaiting = "rate_limit_waiting"
	// state, retries, short_retries, long_retries, total_wait_seconds, next
	EventRateLimitExhausted = "rate_limit_exhausted"
	EventRateLimitStorm     = "rate_limit_storm" // state, count: several states in a row used up their waits
	// state, retry, times, backoff_seconds: a try failed, and the next one begins
	EventActionRetry         = "action_retry"
	EventActionRetriesSpent  = "action_retries_spent"  // state, retries, on: the last try failed too
	EventAPIErrorRetry       = "api_error_retry"       // state, attempt, backoff
	EventAPIErrorExhausted   = "api_error_exhausted"   // state, retries
	EventInfraRetry          = "infra_retry"           // state, attempt, backoff
	EventInfraRetryExhausted = "infra_retry_exhausted" // state, retries

	// state, iteration, continuation: an action hands the run over to a later session
	EventHandoffDetected = "handoff_detected"
	EventHandoffSpawned  = "handoff_spawned" // pid, state: an agent was started that is asked to resume the run

	EventHostSubprocRSS       = "host_subproc_rss"       // state, peak_rss_mb, cumulative_mb, budget_mb
	EventHostBudgetExceeded   = "host_budget_exceeded"   // state, cumulative_mb, budget_mb, action
	EventHostPressure         = "host_pressure"          // state, used_pct, action: the machine is short of memory
	EventHostPressureAbort    = "host_pressure_abort"    // state, used_pct: and the run ends
	EventHostPressureRelieved = "host_pressure_relieved" // state, used_pct
	EventHostCooldown         = "host_cooldown"          // state, used_pct, cooldown_seconds: the run waits for memory

	EventWorktree = "worktree" // path [branch …]: the run has a work tree of git
	// branch, path: a sub-loop has one. Inside a branch of parallel, branch is the path of that, as in all events, and
	// git_branch is the one of git.
	EventWorktreeAttached = "sub_loop_worktree_attached"
	EventWorktreeDetached = "sub_loop_worktree_detached" // the same [kept]
	// state, of, commit: what a branch of parallel changed was merged
	EventWorktreeMerged = "branch_worktree_merged"
	// the same, but for path, and error: there is no work tree to run in
	EventWorktreeError = "sub_loop_worktree_error"

	EventWorkdirVanished = "workdir_vanished" // state, path: the folder that actions run in is gone, and the run ends

	EventFiles = "files_kept" // commit: what the files of the run were when what follows was recorded

	EventLogTruncated = "log_truncated" // nothing: it stands for events of a sub-loop that are left out
)

package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
)

// limit says which limit or rule of the run an event is about. An unknown event is shown as it is.
func (x *explainer) limit(e fsm.Event) string {
	val := func(key string) string { return show(e.Get(key)) }
	state := val("state")
	switch e.Kind {
	case fsm.EventCycleDetected:
		return fmt.Sprintf("The transition from %s to %s was taken %s times; max_edge_revisits is %s.", val("from"),
			val("to"), val("count"), val("max"))
	case fsm.EventStallDetected:
		times, how := e.Get("consecutive"), "in a row"
		if times == nil {
			times, how = e.Get("recurrent"), "times in this run"
		}
		return fmt.Sprintf("The stall detector fired: %s ended with exit code %s and verdict %s %s times %s; %s.",
			state, val("exit_code"), val("verdict"), show(times), strings.TrimPrefix(how, "times "), does(e))
	case fsm.EventThrottleWarn:
		return fmt.Sprintf("%s acted %s times in a row: its throttle warns at %s.", state, val("count"),
			val("warn_max"))
	case fsm.EventThrottleHard, fsm.EventThrottleStop:
		return fmt.Sprintf("%s acted %s times in a row: the hard limit of its throttle is %s.", state, val("count"),
			val("hard_max"))
	case fsm.EventRetryExhausted:
		return fmt.Sprintf("%s was about to be entered again after %s times in a row%s: "+
			"on_retry_exhausted led to %s.", state, val("retries"), x.maxRetries(e), val("next"))
	case fsm.EventMaxStepsSummary:
		return fmt.Sprintf("The cap on steps was reached after %s: the state of on_max_steps, %s, was entered.",
			humanize.Count(whole(e, "iterations"), "step"), val("summary_state"))
	case fsm.EventMaxIterationsSummary:
		return fmt.Sprintf("The cap on passes was reached after %s: the state of on_max_iterations, %s, was entered.",
			val("iteration_count"), val("summary_state"))
	case fsm.EventLimitRaised:
		by := str(e, "by")
		if by != "" {
			by = " by " + by
		}
		return fmt.Sprintf("The limit %s of the run was raised from %s to %s%s while it was running.", val("limit"),
			limitAmount(e, "from"), limitAmount(e, "to"), by)
	case fsm.EventBudgetWarning:
		return fmt.Sprintf("Most of the budget of %s was used: %s.", whose(e), budgetUsed(e))
	case fsm.EventBudgetExceeded:
		if unknown, _ := e.Get("cost_unknown").(bool); unknown {
			return fmt.Sprintf("The budget of %s limits %s, and what a prompt cost is not known.", whose(e),
				val("limit"))
		}
		return fmt.Sprintf("The budget of %s was used up: %s.", whose(e), budgetUsed(e))
	case fsm.EventFailover:
		return humanize.PlainLine(failoverText(e)) + "."
	case fsm.EventCostCeilingWarn:
		return fmt.Sprintf("The visits to %s had cost %s US dollars: a warning comes from %s on (cost_warn_at).",
			state, val("cost_usd"), val("cost_warn_at"))
	case fsm.EventCostCeilingUnknown:
		return fmt.Sprintf("What the visits to %s cost is not known (%s), so its cost_ceiling cannot hold it back.",
			state, val("reason"))
	case fsm.EventCostCeilingExceeded:
		return fmt.Sprintf("The visits to %s had cost %s US dollars, more than its cost_ceiling_per_state of %s.",
			state, val("cost_usd"), val("cost_ceiling_per_state"))
	case fsm.EventWorkdirVanished:
		return fmt.Sprintf("The folder that its actions run in was gone: %s.", val("path"))
	case fsm.EventRateLimitExhausted:
		return fmt.Sprintf("The host rate-limited until all waits were used up: %s short and %s long ones, %s in all.",
			val("short_retries"), val("long_retries"), secondsOf(e, "total_wait_seconds"))
	case fsm.EventRateLimitStorm:
		return fmt.Sprintf("%s rate limits in a row had been waited out without success by then.", val("count"))
	case fsm.EventRateLimitWaiting:
		return fmt.Sprintf("It still waited for the host's rate limit, for %s of at most %s so far.",
			secondsOf(e, "total_waited_seconds"), secondsOf(e, "budget_seconds"))
	case fsm.EventHumanRequested:
		return fmt.Sprintf("It asked %s", humanize.Quote(questionOf(e))) + "."
	case fsm.EventHumanVote:
		return "Answers so far: " + str(e, "standing") + "."
	case fsm.EventHumanReminded:
		return fmt.Sprintf("Reminder %s of the question was sent.", val("number"))
	case fsm.EventHumanEscalated:
		return "The question was escalated to " + Listed(e.Get("to")) + "."
	case fsm.EventHumanResponse:
		by := str(e, "by")
		if by == "" {
			by = "A person"
		}
		text := fmt.Sprintf("%s answered %s", by, quoted(answerOf(e)))
		if why := reasonOf(e); why != "" {
			text += ": " + strings.TrimRight(why, ".")
		}
		return text + "."
	case fsm.EventBranchesStart:
		return "It had " + branchesText(e) + "."
	case fsm.EventBranchStart:
		return ""
	case fsm.EventBranchEnd:
		text := branchText(e)
		return strings.ToUpper(text[:1]) + text[1:] + "."
	case fsm.EventItemsStart:
		if e.Get("pattern") != nil {
			return itemsText(e) + "."
		}
		return "Its list has " + itemsText(e) + "."
	case fsm.EventItemStart:
		return ""
	case fsm.EventWaitCheck:
		return fmt.Sprintf("Check %s found nothing: %s.", val("check"), strings.TrimRight(str(e, "seen"), "."))
	case fsm.EventActionRetry:
		return fmt.Sprintf("Retry %s of %s began.", val("retry"), val("times"))
	case fsm.EventActionRetriesSpent:
		return fmt.Sprintf("The last of its tries failed too (%s); retry.times is %s.", val("on"), val("retries"))
	case fsm.EventAPIErrorRetry, fsm.EventInfraRetry:
		return fmt.Sprintf("It waited %s s and tried again (%s).", val("backoff"), val("attempt"))
	case fsm.EventAPIErrorExhausted, fsm.EventInfraRetryExhausted:
		return fmt.Sprintf("It had been retried %s times, which is the most.", val("retries"))
	case fsm.EventHostPressure, fsm.EventHostPressureAbort, fsm.EventHostCooldown:
		return fmt.Sprintf("The machine was short of memory: %s %% in use%s.", val("used_pct"), cooldown(e))
	case fsm.EventHostPressureRelieved:
		return fmt.Sprintf("The machine had memory again: %s %% in use.", val("used_pct"))
	case fsm.EventHostBudgetExceeded:
		return fmt.Sprintf("Its actions had used %s MB of memory in all: "+
			"host_guard.max_cumulative_subproc_mb is %s; %s.", val("cumulative_mb"), val("budget_mb"), does(e))
	case fsm.EventHandoffDetected:
		return fmt.Sprintf("Its action asked to hand off, to be continued with %s.",
			humanize.Quote(str(e, "continuation")))
	case fsm.EventHandoffSpawned:
		return fmt.Sprintf("An agent was started that is asked to resume the run (pid %s).", val("pid"))
	case fsm.EventActionInterrupted:
		return "Its action had been cut short, and is not started again (on_interrupted)."
	case fsm.EventPromptSizeWarn:
		return fmt.Sprintf("Its text is long: %s characters, prompt_size_guard warns at %s.", val("size"),
			val("threshold"))
	case fsm.EventNote, fsm.EventWarning:
		text := cmp.Or(str(e, "message"), str(e, "note"))
		if by := str(e, "by"); by != "" && str(e, "wait") == fsm.WaitPaused {
			text += " by " + by
		}
		// The note says that the wait begins, not whether it was cut short.
		if wait := e.Get("seconds"); wait != nil && str(e, "wait") != fsm.WaitState && text != fsm.StillWaits {
			return fmt.Sprintf("A wait of %s began: %s.", secondsOf(e, "seconds"), strings.TrimRight(text, "."))
		}
		return strings.ToUpper(text[:min(1, len(text))]) + strings.TrimRight(text[min(1, len(text)):], ".") + "."
	}
	if text := humanize.PlainLine(EventText(e)); text != "" {
		return strings.ToUpper(text[:1]) + strings.TrimRight(text[1:], ".") + "."
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", strings.ReplaceAll(e.Kind, "_", " "), fields(e)), ": ") + "."
}

func (x *explainer) maxRetries(e fsm.Event) string {
	if x.l != nil {
		if st := x.l.States[str(e, "state")]; st != nil && st.MaxRetries > 0 {
			return fmt.Sprintf(" (max_retries is %d)", st.MaxRetries)
		}
	}
	return ""
}

// does says what an event calls its action: abort, or route:STATE.
func does(e fsm.Event) string {
	action := str(e, "action")
	if to, ok := strings.CutPrefix(action, "route:"); ok {
		return "it is set to go to " + to
	}
	return "it is set to end the run"
}

func whose(e fsm.Event) string {
	if of := str(e, "budget_of"); of != "" {
		return "the state " + of
	}
	return "the loop " + str(e, "loop")
}

func cooldown(e fsm.Event) string {
	if e.Get("cooldown_seconds") != nil {
		return ", so it waited " + secondsOf(e, "cooldown_seconds")
	}
	return ""
}

func secondsOf(e fsm.Event, key string) string {
	s, _ := Number(e.Get(key))
	return humanize.Duration(time.Duration(s * float64(time.Second)))
}

// Ending says how a loop ended, from its loop_complete. l is its definition, or nil.
func Ending(e fsm.Event, l *fsm.Loop) Sentence {
	final, by := show(e.Get("final_state")), str(e, "terminated_by")
	if l == nil {
		l = &fsm.Loop{}
	}
	failed, _ := e.Get("failure_terminal").(bool)
	text := ""
	switch by {
	case fsm.EndTerminal:
		text = fmt.Sprintf("It ended at %s, a terminal state", final)
		if failed {
			text += " that means failure"
		}
	case fsm.EndMaxSteps:
		text = fmt.Sprintf("It ended in %s because the cap on steps was reached%s", final,
			atMost("max_steps", l.MaxSteps))
	case fsm.EndMaxIterations:
		text = fmt.Sprintf("It ended in %s because the cap on passes was reached%s", final,
			atMost("max_iterations", l.MaxIterations))
	case fsm.EndTimeout:
		text = fmt.Sprintf("It ended in %s because its time was up", final)
		if l.Timeout > 0 {
			text += fmt.Sprintf(" (timeout is %s)", humanize.Duration(l.Timeout))
		}
	case fsm.EndInterrupted:
		text = fmt.Sprintf("It was interrupted in %s", final)
	case fsm.EndUserStopped:
		text = fmt.Sprintf("It was stopped in %s, because a user asked for that", final)
	case fsm.EndSystemSignal:
		text = fmt.Sprintf("It ended in %s because its action was killed by a signal", final)
	case fsm.EndSuspended:
		text = fmt.Sprintf("It was suspended in %s, because a person has to do something first", final)
	case fsm.EndParked:
		text = fmt.Sprintf("It was parked in %s, which waits", final)
	case fsm.EndHandoff:
		text = fmt.Sprintf("It handed off in %s, and waits to be continued", final)
	case fsm.EndCycle:
		text = fmt.Sprintf("It ended in %s because of a cycle", final)
	case fsm.EndStall:
		text = fmt.Sprintf("It ended in %s because it made no progress", final)
	case fsm.EndHostPressure, fsm.EndHostBudget:
		text = fmt.Sprintf("It ended in %s because of memory", final)
	case fsm.EndBudget:
		text = fmt.Sprintf("It ended in %s because a budget is used up", final)
	case fsm.EndCostCeiling:
		text = fmt.Sprintf("It ended in %s because of its cost ceiling", final)
	case fsm.EndWorkdirVanished:
		text = fmt.Sprintf("It ended before %s because its working directory was gone", final)
	case fsm.EndError, endNoRoute:
		text = fmt.Sprintf("It ended in %s with an error", final)
	default:
		text = fmt.Sprintf("It ended in %s (%s)", final, by)
	}
	if problem := str(e, "error"); problem != "" {
		text += ": " + strings.TrimRight(problem, ".")
	}
	return say(e, "%s.", text)
}

func atMost(key string, n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s is %d)", key, n)
}

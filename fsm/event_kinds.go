package fsm

// EventKinds are all kinds of event, in the order of the constants.
var EventKinds = []string{
	EventLoopStart, EventLoopResume, EventLoopComplete, EventStateEnter, EventRoute, EventCheckpoint, EventNote,
	EventWarning, EventActionStart, EventActionOutput, EventActionComplete, EventActionError, EventActionInterrupted,
	EventActionKilled, EventPromptSizeWarn, EventMessagesAppend, EventSet, EventWaitCheck, EventHumanRequested,
	EventHumanResponse, EventHumanVote, EventHumanReminded, EventHumanEscalated, EventBranchesStart, EventBranchStart,
	EventBranchEnd, EventItemsStart, EventItemStart, EventItemEnd, EventItemTaken, EventMemoryRead, EventRemember,
	EventCheckFirst, EventEvaluate, EventStallDetected,
	EventRetryExhausted, EventCycleDetected, EventFailover, EventMaxStepsSummary, EventMaxIterationsSummary,
	EventBudgetWarning, EventLimitRaised,
	EventBudgetExceeded, EventCostCeilingWarn, EventCostCeilingUnknown, EventCostCeilingExceeded, EventThrottleWarn,
	EventThrottleHard, EventThrottleStop, EventRateLimitWaiting,
	EventRateLimitExhausted, EventRateLimitStorm, EventActionRetry, EventActionRetriesSpent, EventAPIErrorRetry,
	EventAPIErrorExhausted, EventInfraRetry,
	EventInfraRetryExhausted, EventHandoffDetected, EventHandoffSpawned, EventHostSubprocRSS, EventHostBudgetExceeded,
	EventHostPressure,
	EventHostPressureAbort, EventHostPressureRelieved, EventHostCooldown, EventWorktree, EventWorktreeAttached,
	EventWorktreeDetached, EventWorktreeMerged, EventWorktreeError, EventWorkdirVanished, EventFiles, EventLogTruncated,
}

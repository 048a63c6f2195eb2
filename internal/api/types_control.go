package api

import (
	"loops/fsm"
	"loops/fsm/value"
)

// Stopped is a run that was asked to stop.
type Stopped struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string `json:"loop"`
	PID      int    `json:"pid"`
	Stopped  bool   `json:"stopped" jsonschema:"false where it ended before, or ends after its items"`
	Killed   bool   `json:"killed"`
	Status   string `json:"status"`
	State    string `json:"current_state"`
}

// Extended is a run whose limits were raised.
type Extended struct {
	Instance string   `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string   `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string   `json:"loop"`
	PID      int      `json:"pid"`
	Raised   []string `json:"raised" jsonschema:"the limits, as sentences"`
	Taken    bool     `json:"taken" jsonschema:"false where the run takes them when its action or wait ends"`
}

// Signed is a loop and its signature.
type Signed struct {
	Loop      string `json:"loop"`
	File      string `json:"file" jsonschema:"absolute"`
	Signature string `json:"signature" jsonschema:"file, absolute"`
	Key       Text   `json:"key" jsonschema:"the public key that signed it; null where it is not signed as it is now"`
	Error     Text   `json:"error" jsonschema:"why not"`
}

// Woken is a run whose wait ended.
type Woken struct {
	Instance  string `json:"instance_id" jsonschema:"the id of the run"`
	RunID     string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop      string `json:"loop"`
	PID       int    `json:"pid"`
	Path      Text   `json:"path" jsonschema:"the branch or item that waited; null where the run itself did"`
	WaitedFor string `json:"waited_for" jsonschema:"in words"`
	Others    int    `json:"other_waits" jsonschema:"how many waits the run still has"`
}

// Written is a loop that was written.
type Written struct {
	Loop    string   `json:"loop"`
	File    string   `json:"file" jsonschema:"that was written, absolute"`
	Pattern string   `json:"pattern" jsonschema:"the pattern that the loop was made from"`
	Parts   []string `json:"parts,omitempty" jsonschema:"files of the loops that it runs, absolute"`
}

// Pattern is a pattern of new.
type Pattern struct {
	Pattern string `json:"pattern"`
	About   string `json:"about"`
}

// Installed is a loop that was installed.
type Installed struct {
	Loop string `json:"loop"`
	File string `json:"file" jsonschema:"the copy, absolute"`
	From string `json:"from" jsonschema:"the file in the catalog, absolute"`
}

// Promoted is a baseline that was written.
type Promoted struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	State    string `json:"state"`
	File     string `json:"file" jsonschema:"the baseline, in the project"`
	Bytes    int64  `json:"bytes"`
}

// Reported is a report that was written.
type Reported struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	File     string `json:"file" jsonschema:"the report, absolute"`
	Format   string `json:"format" jsonschema:"html, junit or markdown"`
}

// Chosen is what a table of rules decides.
type Chosen struct {
	Target  Text     `json:"target" jsonschema:"null where no rule holds"`
	Line    Int      `json:"line" jsonschema:"of the rule that holds, from 1"`
	Rule    Text     `json:"rule"`
	Missing []string `json:"missing" jsonschema:"what the rules ask for and the scores lack, as sentences"`
}

// Pruned is what prune prints.
type Pruned struct {
	DryRun   bool         `json:"dry_run" jsonschema:"whether nothing was removed"`
	Removed  []RemovedRun `json:"removed" jsonschema:"runs that were removed, or would be"`
	Bytes    int64        `json:"bytes" jsonschema:"that were freed, or would be"`
	Finished []string     `json:"finished" jsonschema:"ids of runs whose removal was begun before"`
	Stay     int          `json:"stay" jsonschema:"how many runs stay"`
	Kept     KeptRuns     `json:"kept" jsonschema:"how many runs stay whatever they take, and why"`
}

// KeptRuns counts the runs that stay whatever they take.
type KeptRuns struct {
	Live       int `json:"live"`
	Resumable  int `json:"resumable"`
	Newest     int `json:"newest"`
	Unreadable int `json:"unreadable"`
}

// Notified is a notification that was tried.
type Notified struct {
	Number    int    `json:"number" jsonschema:"of the target in the settings, from 1"`
	Target    string `json:"target"`
	Event     string `json:"event"`
	Delivered bool   `json:"delivered"`
	Attempts  int    `json:"attempts"`
	Duration  int64  `json:"duration_ms"`
	Error     Text   `json:"error"`
}

// Release is what upgrade prints.
type Release struct {
	Version string `json:"version" jsonschema:"of this program"`
	Latest  string `json:"latest" jsonschema:"the newest release"`
	Newer   *bool  `json:"newer" jsonschema:"whether latest is newer; null where this program was built from source"`
	Date    string `json:"date" jsonschema:"of the newest release"`
	URL     Text   `json:"url"`
	From    string `json:"from" jsonschema:"the folder or address where releases are"`
}

// Used is what prompts and judges used.
type Used struct {
	Visits     int      `json:"visits"`
	Prompts    int      `json:"prompts"`
	Judges     int      `json:"judges"`
	Input      int64    `json:"input_tokens"`
	Output     int64    `json:"output_tokens"`
	CacheRead  int64    `json:"cache_read_tokens"`
	CacheWrite int64    `json:"cache_creation_tokens"`
	Cost       *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
	Known      float64  `json:"known_cost_usd"`
	Most       *float64 `json:"max_cost_usd,omitempty" jsonschema:"the most that it can be, where a part is not known and the agent ended each such prompt above a limit"`
	Unknown    int      `json:"unknown_costs" jsonschema:"prompts and judges whose cost is not known"`
	Duration   int64    `json:"duration_ms"`
}

// AgentUsed is what prompts and judges of one agent used with one model.
type AgentUsed struct {
	Host  Text `json:"host" jsonschema:"null where it is not on record"`
	Model Text `json:"model" jsonschema:"null where it is not on record"`
	Used
}

// RunCost is what a run used.
type RunCost struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	Used
	Loop   string `json:"loop"`
	Status Text   `json:"status"`
}

// RunCostByState is what a run used, state by state.
type RunCostByState struct {
	RunCost
	States []StateCost `json:"states"`
	Agents []AgentUsed `json:"agents" jsonschema:"the same by agent and model"`
}

// StateCost is what a state used.
type StateCost struct {
	State string `json:"state" jsonschema:"with the states of its parents"`
	Used
}

// SumOfCosts is what several runs used.
type SumOfCosts struct {
	What string `json:"what" jsonschema:"all or failed"`
	Used
}

// Costs is what runs used, run by run.
type Costs struct {
	Runs  []RunCost  `json:"runs" jsonschema:"those that asked an agent"`
	Total SumOfCosts `json:"total"`
	Waste SumOfCosts `json:"waste" jsonschema:"of the runs that failed"`
}

// StagesBegun is what stage begin prints.
type StagesBegun struct {
	Resume    bool     `json:"resume"`
	RunDate   string   `json:"run_date"`
	Completed []string `json:"completed"`
}

// StageSaved is what stage save prints.
type StageSaved struct {
	Saved string `json:"saved"`
}

// StagesCleared is what stage clear prints.
type StagesCleared struct {
	Cleared bool `json:"cleared"`
}

// Event is one event of a run. Its schema allows other keys.
type Event struct {
	Event string `json:"event" jsonschema:"its kind, as state_enter; the keys beyond these depend on it"`
	Time  Time   `json:"ts"`
	Seq   uint64 `json:"seq,omitempty" jsonschema:"its number in the journal, from 1"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many sub-loops it is inside of; absent for none"`

	fields []fsm.Field
}

// EventOf returns an event, with the keys it has in the event file.
func EventOf(e fsm.Event) Event {
	return Event{Event: e.Kind, Time: Stamp(e.Time), Seq: e.Seq, Depth: e.Depth, fields: e.Fields}
}

// JSONValue returns the event with all its keys.
func (e Event) JSONValue() any {
	m := new(value.Map)
	m.Set("event", e.Event)
	m.Set("ts", e.Time)
	m.Set("seq", e.Seq)
	for _, f := range e.fields {
		m.Set(f.Key, f.Value)
	}
	if e.Depth > 0 {
		m.Set("depth", e.Depth)
	}
	return m
}

// Schedule is a schedule and its next times.
type Schedule struct {
	Name     string   `json:"name" jsonschema:"the same as loop"`
	Loop     string   `json:"loop"`
	File     string   `json:"file"`
	Cron     string   `json:"cron"`
	Timezone Text     `json:"timezone"`
	Except   []string `json:"except" jsonschema:"dates at which no time comes, and ranges of dates"`
	Overlap  string   `json:"overlap"`
	CatchUp  any      `json:"catch_up"`
	Limit    int      `json:"catch_up_limit" jsonschema:"with catch_up all: the most missed times that wait for their runs at once; else 0"`
	Next     []string `json:"next" jsonschema:"times"`
}

// ListedSchedule is a schedule, its next time and the result of the last.
type ListedSchedule struct {
	Loop     string   `json:"loop"`
	File     string   `json:"file" jsonschema:"absolute"`
	Cron     string   `json:"cron"`
	Timezone Text     `json:"timezone"`
	Except   []string `json:"except" jsonschema:"dates at which no time comes, and ranges of dates"`
	Overlap  string   `json:"overlap"`
	CatchUp  string   `json:"catch_up"`
	Limit    int      `json:"catch_up_limit" jsonschema:"with catch_up all: the most missed times that wait for their runs at once; else 0"`
	Next     Text     `json:"next" jsonschema:"null where it is paused, or no time comes"`

	Untrusted Text `json:"untrusted" jsonschema:"why it is not going to start, where others wrote the loop and its user has not trusted it; else null"`

	PausedBy Text           `json:"paused_by"`
	PausedAt Text           `json:"paused_at"`
	Times    []ScheduleTime `json:"times" jsonschema:"the last that are on record, oldest first; then one that has passed while nothing fired schedules"`
	Heard    Text           `json:"heard_at" jsonschema:"when a server, worker or timer that fires schedules left its newest sign; null = never"`
	Attended bool           `json:"attended" jsonschema:"false where nothing fires the schedules of the project"`
	Ahead    Text           `json:"ahead_at" jsonschema:"the newest time on record, where that is still to come because the clock was ahead; else null"`
}

// ScheduleTime is a time of a schedule.
type ScheduleTime struct {
	At     Time   `json:"at"`
	State  string `json:"state" jsonschema:"starting, waiting, started, skipped, missed or failed"`
	Run    Text   `json:"run" jsonschema:"the id of its run, which has begun where the time is started"`
	Why    Text   `json:"why"`
	Missed int    `json:"missed" jsonschema:"times before it that were not recorded"`
}

package api

type stopped struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string `json:"loop"`
	PID      int    `json:"pid"`
	Stopped  bool   `json:"stopped" jsonschema:"false where it ended before, or ends after its items"`
	Killed   bool   `json:"killed"`
	Status   string `json:"status"`
	State    string `json:"current_state"`
}

type extended struct {
	Instance string   `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string   `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string   `json:"loop"`
	PID      int      `json:"pid"`
	Raised   []string `json:"raised" jsonschema:"the limits, as sentences"`
	Taken    bool     `json:"taken" jsonschema:"false where the run takes them when its action or wait ends"`
}

type signed struct {
	Loop      string  `json:"loop"`
	File      string  `json:"file" jsonschema:"absolute"`
	Signature string  `json:"signature" jsonschema:"file, absolute"`
	Key       *string `json:"key" jsonschema:"the public key that signed it; null where it is not signed as it is now"`
	Error     *string `json:"error" jsonschema:"why not"`
}

type woken struct {
	Instance  string  `json:"instance_id" jsonschema:"the id of the run"`
	RunID     string  `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop      string  `json:"loop"`
	PID       int     `json:"pid"`
	Path      *string `json:"path" jsonschema:"the branch or item that waited; null where the run itself did"`
	WaitedFor string  `json:"waited_for" jsonschema:"in words"`
	Others    int     `json:"other_waits" jsonschema:"how many waits the run still has"`
}

type written struct {
	Loop    string `json:"loop"`
	File    string `json:"file" jsonschema:"that was written, absolute"`
	Pattern string `json:"pattern" jsonschema:"from which the loop was made"`
}

type patternOf struct {
	Pattern string `json:"pattern"`
	About   string `json:"about"`
}

type installed struct {
	Loop string `json:"loop"`
	File string `json:"file" jsonschema:"the copy, absolute"`
	From string `json:"from" jsonschema:"the file in the catalog, absolute"`
}

type promoted struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	State    string `json:"state"`
	File     string `json:"file" jsonschema:"the baseline, in the project"`
	Bytes    int    `json:"bytes"`
}

type reported struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	File     string `json:"file" jsonschema:"the report, absolute"`
	Format   string `json:"format" jsonschema:"html, junit or markdown"`
}

type chosen struct {
	Target  *string  `json:"target" jsonschema:"null where no rule holds"`
	Line    *int     `json:"line" jsonschema:"of the rule that holds, from 1"`
	Rule    *string  `json:"rule"`
	Missing []string `json:"missing" jsonschema:"what the rules ask for and the scores lack, as sentences"`
}

type pruned struct {
	DryRun  bool `json:"dry_run" jsonschema:"whether nothing was removed"`
	Removed []struct {
		Instance string  `json:"instance_id" jsonschema:"the id of the run"`
		Loop     string  `json:"loop"`
		Status   *string `json:"status"`
		Started  *string `json:"started_at"`
		Bytes    int     `json:"bytes"`
	} `json:"removed" jsonschema:"runs that were removed, or would be"`
	Bytes    int      `json:"bytes" jsonschema:"that were freed, or would be"`
	Finished []string `json:"finished" jsonschema:"ids of runs whose removal was begun before"`
	Stay     int      `json:"stay" jsonschema:"how many runs stay"`
	Kept     struct {
		Live       int `json:"live"`
		Resumable  int `json:"resumable"`
		Newest     int `json:"newest"`
		Unreadable int `json:"unreadable"`
	} `json:"kept" jsonschema:"how many runs stay whatever they take, and why"`
}

type notified struct {
	Number    int     `json:"number" jsonschema:"of the target in the settings, from 1"`
	Target    string  `json:"target"`
	Event     string  `json:"event"`
	Delivered bool    `json:"delivered"`
	Attempts  int     `json:"attempts"`
	Duration  int     `json:"duration_ms"`
	Error     *string `json:"error"`
}

type release struct {
	Version string  `json:"version" jsonschema:"of this program"`
	Latest  string  `json:"latest" jsonschema:"the newest release"`
	Newer   *bool   `json:"newer" jsonschema:"whether latest is newer; null where this program was built from source"`
	Date    string  `json:"date" jsonschema:"of the newest release"`
	URL     *string `json:"url"`
	From    string  `json:"from" jsonschema:"the folder or address where releases are"`
}

// used is what prompts and judges used.
type used struct {
	Visits     int      `json:"visits"`
	Prompts    int      `json:"prompts"`
	Judges     int      `json:"judges"`
	Input      int      `json:"input_tokens"`
	Output     int      `json:"output_tokens"`
	CacheRead  int      `json:"cache_read_tokens"`
	CacheWrite int      `json:"cache_creation_tokens"`
	Cost       *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
	Known      float64  `json:"known_cost_usd"`
	Unknown    int      `json:"unknown_costs" jsonschema:"prompts and judges whose cost is not known"`
	Duration   int      `json:"duration_ms"`
}

type runCost struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	used
	Loop   string  `json:"loop"`
	Status *string `json:"status"`
}

type runCostByState struct {
	runCost
	States []struct {
		State string `json:"state" jsonschema:"with the states of its parents"`
		used
	} `json:"states"`
}

type sumOfCosts struct {
	What string `json:"what" jsonschema:"all or failed"`
	used
}

type costs struct {
	Runs  []runCost  `json:"runs" jsonschema:"those that asked an agent"`
	Total sumOfCosts `json:"total"`
	Waste sumOfCosts `json:"waste" jsonschema:"of the runs that failed"`
}

// event is one event of a run. Its schema allows other keys.
type event struct {
	Event string `json:"event" jsonschema:"its kind, as state_enter; the keys beyond these depend on it"`
	Time  string `json:"ts"`
	Seq   int    `json:"seq,omitempty" jsonschema:"its number in the journal, from 1"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many sub-loops it is inside of; absent for none"`
}

type schedule struct {
	Name     string   `json:"name" jsonschema:"the same as loop"`
	Loop     string   `json:"loop"`
	File     string   `json:"file"`
	Cron     string   `json:"cron"`
	Timezone *string  `json:"timezone"`
	Except   []string `json:"except" jsonschema:"dates at which no time comes, and ranges of dates"`
	Overlap  string   `json:"overlap"`
	CatchUp  any      `json:"catch_up"`
	Limit    int      `json:"catch_up_limit" jsonschema:"with catch_up all: the most missed times that wait for their runs at once; else 0"`
	Next     []string `json:"next" jsonschema:"times"`
}

type listedSchedule struct {
	Loop     string         `json:"loop"`
	File     string         `json:"file" jsonschema:"absolute"`
	Cron     string         `json:"cron"`
	Timezone *string        `json:"timezone"`
	Except   []string       `json:"except" jsonschema:"dates at which no time comes, and ranges of dates"`
	Overlap  string         `json:"overlap"`
	CatchUp  string         `json:"catch_up"`
	Limit    int            `json:"catch_up_limit" jsonschema:"with catch_up all: the most missed times that wait for their runs at once; else 0"`
	Next     *string        `json:"next" jsonschema:"null where it is paused, or no time comes"`
	PausedBy *string        `json:"paused_by"`
	PausedAt *string        `json:"paused_at"`
	Times    []scheduleTime `json:"times" jsonschema:"the last that are on record, oldest first; then one that has passed while nothing fired schedules"`
	Heard    *string        `json:"heard_at" jsonschema:"when a server, worker or timer that fires schedules left its newest sign; null = never"`
	Attended bool           `json:"attended" jsonschema:"false where nothing fires the schedules of the project"`
	Ahead    *string        `json:"ahead_at" jsonschema:"the newest time on record, where that is still to come because the clock was ahead; else null"`
}

type scheduleTime struct {
	At     string  `json:"at"`
	State  string  `json:"state" jsonschema:"starting, waiting, started, skipped, missed or failed"`
	Run    *string `json:"run" jsonschema:"the id of its run, which has begun where the time is started"`
	Why    *string `json:"why"`
	Missed int     `json:"missed" jsonschema:"times before it that were not recorded"`
}

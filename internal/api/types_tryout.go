package api

// end is how a run with made-up results ended.
type end struct {
	TerminatedBy string  `json:"terminated_by"`
	State        string  `json:"final_state"`
	Failure      bool    `json:"failure"`
	Error        *string `json:"error"`
}

// tried says of what loop results were made up, and how: one of scenario, script and seed is there.
type tried struct {
	Loop     string `json:"loop"`
	File     string `json:"file" jsonschema:"absolute"`
	MaxSteps int    `json:"max_steps"`
	Scenario string `json:"scenario,omitempty"`
	Script   string `json:"script,omitempty"`
	Seed     *int   `json:"seed,omitempty"`
}

type simulated struct {
	tried
	Path []struct {
		Depth     int      `json:"depth" jsonschema:"how many sub-loops it is inside of"`
		Step      int      `json:"step"`
		State     string   `json:"state"`
		Action    *string  `json:"action,omitempty"`
		Prompt    *bool    `json:"is_prompt,omitempty"`
		ExitCode  *int     `json:"exit_code,omitempty"`
		Output    *string  `json:"output,omitempty"`
		Evaluator *string  `json:"evaluator,omitempty"`
		Verdict   *string  `json:"verdict,omitempty"`
		To        *string  `json:"to,omitempty" jsonschema:"the next state"`
		Notes     []string `json:"notes,omitempty"`
	} `json:"path" jsonschema:"the steps"`
	End struct {
		end
		Steps    int `json:"steps"`
		ExitCode int `json:"exit_code" jsonschema:"that run would have"`
	} `json:"end"`
}

type simulatedRuns struct {
	tried
	Runs  int `json:"runs"`
	Steps struct {
		Least int     `json:"least"`
		Most  int     `json:"most"`
		Mean  float64 `json:"mean"`
	} `json:"steps"`
	Ends []struct {
		end
		ExitCode int     `json:"exit_code" jsonschema:"that run would have"`
		Runs     int     `json:"runs"`
		Share    float64 `json:"share" jsonschema:"of all runs"`
		Seed     int     `json:"seed" jsonschema:"of the first of them"`
	} `json:"ends" jsonschema:"how they ended"`
}

type tested struct {
	Loop        string          `json:"loop"`
	File        string          `json:"file" jsonschema:"absolute"`
	State       string          `json:"state"`
	Kind        *string         `json:"kind,omitempty" jsonschema:"of the action"`
	Action      *string         `json:"action,omitempty"`
	Params      *string         `json:"params,omitempty"`
	Run         *bool           `json:"run,omitempty" jsonschema:"false where the result was handed to it"`
	ExitCode    *int            `json:"exit_code,omitempty"`
	TimeoutKind *string         `json:"timeout_kind,omitempty"`
	Duration    *int            `json:"duration_ms,omitempty"`
	Output      *string         `json:"output,omitempty"`
	Stderr      *string         `json:"stderr,omitempty"`
	Evaluator   *string         `json:"evaluator,omitempty"`
	Verdict     *string         `json:"verdict,omitempty"`
	Details     *map[string]any `json:"details,omitempty" jsonschema:"of the verdict"`
	Next        *string         `json:"next" jsonschema:"the next state"`
	Waits       *waiting        `json:"waits,omitempty" jsonschema:"what it would keep waiting for"`
	End         *struct {
		end
		Steps    int `json:"steps"`
		ExitCode int `json:"exit_code" jsonschema:"that run would have"`
	} `json:"end,omitempty" jsonschema:"where the run would end there"`
	Events []map[string]any `json:"events" jsonschema:"the other events of a run"`
}

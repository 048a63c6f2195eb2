package api

// Proven is what prove prints: what holds of all runs of a loop.
type Proven struct {
	Loop       string           `json:"loop"`
	File       string           `json:"file" jsonschema:"absolute"`
	Bounded    bool             `json:"bounded" jsonschema:"steps and prompts have a bound"`
	Holds      bool             `json:"holds" jsonschema:"every property holds"`
	Steps      Bound            `json:"steps" jsonschema:"states that a run enters, without those of its sub-loops"`
	AllSteps   Bound            `json:"all_steps" jsonschema:"with those of its sub-loops"`
	Prompts    Bound            `json:"prompts" jsonschema:"prompts and questions to judges, with those of its sub-loops"`
	CostUSD    *float64         `json:"cost_usd" jsonschema:"the budget; the prompt that crosses it is the last one; null = nothing limits it"`
	Repeats    []string         `json:"repeats" jsonschema:"the shortest path from a state back to itself"`
	Ends       []ProvenPath     `json:"ends" jsonschema:"the shortest path to each end"`
	AfterFail  []ProvenPath     `json:"only_after_failure" jsonschema:"states that only a failure or a limit reaches"`
	Never      []string         `json:"never_reached"`
	MayWait    []string         `json:"may_wait" jsonschema:"states that may wait without an end"`
	Properties []ProvenProperty `json:"properties"`
	Notes      []string         `json:"notes" jsonschema:"what is taken as possible, because only a run knows it"`
}

// Bound is an upper bound over all runs.
type Bound struct {
	Most  *int64 `json:"most" jsonschema:"null = there is no bound"`
	By    Text   `json:"by" jsonschema:"the limit that gives it; null = the longest path"`
	Exact bool   `json:"exact" jsonschema:"a run reaches it"`
}

// ProvenPath is a shortest path.
type ProvenPath struct {
	End     Text     `json:"end" jsonschema:"how the run ends there"`
	Failure bool     `json:"failure"`
	Steps   int      `json:"steps"`
	States  []string `json:"states"`
	Words   []string `json:"words" jsonschema:"the verdict or the key that leads out of each state"`
}

// ProvenProperty is a property, and whether it holds.
type ProvenProperty struct {
	Property string      `json:"property" jsonschema:"in words"`
	Kind     string      `json:"kind" jsonschema:"never, always_before_end or at_most"`
	Holds    *bool       `json:"holds" jsonschema:"null = the loop is too large to find out"`
	Path     *ProvenPath `json:"path,omitempty" jsonschema:"a run that breaks it"`
	Script   []string    `json:"script,omitempty" jsonschema:"the lines of that run for simulate --script"`
}

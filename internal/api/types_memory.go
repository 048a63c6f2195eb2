package api

// Memory is what runs of a loop left for later ones.
type Memory struct {
	Memory  string       `json:"memory" jsonschema:"its name"`
	File    string       `json:"file" jsonschema:"from the project"`
	Facts   []MemoryFact `json:"facts" jsonschema:"the oldest first"`
	Damaged int          `json:"damaged_lines" jsonschema:"lines of the file that cannot be read"`
}

// MemoryFact is one of its facts.
type MemoryFact struct {
	ID              string      `json:"id" jsonschema:"the run and the step that left it"`
	Run             string      `json:"instance_id" jsonschema:"the id of the run that left it"`
	State           string      `json:"state"`
	At              Time        `json:"at"`
	Fact            string      `json:"fact"`
	Failed          bool        `json:"failed" jsonschema:"whether it is about an attempt that failed"`
	SeenBy          []MemoryUse `json:"seen_by" jsonschema:"runs that began with it and ended, the oldest first"`
	SeenCompleted   int         `json:"seen_completed" jsonschema:"how many of these completed"`
	Others          int         `json:"others" jsonschema:"how many runs ended that began without it"`
	OthersCompleted int         `json:"others_completed" jsonschema:"how many of those completed"`
}

// MemoryUse is a run that began with a fact.
type MemoryUse struct {
	Run          string `json:"instance_id" jsonschema:"the id of the run; of a sub-loop, with the step that ran it"`
	At           Time   `json:"at" jsonschema:"when it ended"`
	TerminatedBy string `json:"terminated_by"`
	Completed    bool   `json:"completed"`
}

// MemoryDiff compares a memory with what a run began with.
type MemoryDiff struct {
	Memory string       `json:"memory"`
	Run    string       `json:"instance_id" jsonschema:"the id of the run"`
	Added  []MemoryFact `json:"added" jsonschema:"facts of the memory that the run did not begin with"`
	Gone   []string     `json:"gone" jsonschema:"ids of what the run began with and the memory lacks"`
}

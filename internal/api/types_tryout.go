package api

import "loops/fsm/value"

// End is how a run with made-up results ended.
type End struct {
	TerminatedBy string `json:"terminated_by"`
	State        string `json:"final_state"`
	Failure      bool   `json:"failure"`
	Error        Text   `json:"error"`
}

// Tried says of what loop results were made up, and how: one of scenario, script and seed is there.
type Tried struct {
	Loop     string `json:"loop"`
	File     string `json:"file" jsonschema:"absolute"`
	MaxSteps int    `json:"max_steps"`
	Scenario string `json:"scenario,omitempty"`
	Script   string `json:"script,omitempty"`
	Seed     *int64 `json:"seed,omitempty"`
}

// Simulated is what simulate prints of one run.
type Simulated struct {
	Tried
	Path []SimulatedStep `json:"path" jsonschema:"the steps"`
	End  EndOfRun        `json:"end"`
}

// SimulatedStep is a step of a run with made-up results.
type SimulatedStep struct {
	Depth     int      `json:"depth" jsonschema:"how many sub-loops it is inside of"`
	Step      int64    `json:"step"`
	State     string   `json:"state"`
	Action    *string  `json:"action,omitempty"`
	Prompt    *bool    `json:"is_prompt,omitempty"`
	ExitCode  *int64   `json:"exit_code,omitempty"`
	Output    **string `json:"output,omitempty"`
	Evaluator *string  `json:"evaluator,omitempty"`
	Verdict   *string  `json:"verdict,omitempty"`
	To        *string  `json:"to,omitempty" jsonschema:"the next state"`
	Notes     []string `json:"notes,omitempty"`
}

// EndOfRun is how a run ended, and after how many steps.
type EndOfRun struct {
	End
	Steps    int `json:"steps"`
	ExitCode int `json:"exit_code" jsonschema:"that run would have"`
}

// SimulatedRuns is what simulate prints of many runs.
type SimulatedRuns struct {
	Tried
	Runs  int        `json:"runs"`
	Steps StepCounts `json:"steps"`
	Ends  []EndCount `json:"ends" jsonschema:"how they ended"`
}

// StepCounts counts the steps of runs.
type StepCounts struct {
	Least int     `json:"least"`
	Most  int     `json:"most"`
	Mean  float64 `json:"mean"`
}

// EndCount counts the runs that ended in one way.
type EndCount struct {
	End
	ExitCode int     `json:"exit_code" jsonschema:"that run would have"`
	Runs     int     `json:"runs"`
	Share    float64 `json:"share" jsonschema:"of all runs"`
	Seed     uint64  `json:"seed" jsonschema:"of the first of them"`
}

// Replayed is what replay prints of a run.
type Replayed struct {
	Run         string   `json:"run" jsonschema:"its id"`
	Loop        string   `json:"loop"`
	Definition  string   `json:"definition" jsonschema:"with which it was replayed"`
	Same        bool     `json:"same" jsonschema:"whether it would have ended as it did"`
	Recorded    End      `json:"recorded" jsonschema:"how it ended"`
	Replayed    *End     `json:"replayed,omitempty" jsonschema:"how it would have ended; not there where miss is set"`
	Miss        Text     `json:"miss" jsonschema:"what it would do that is not on record"`
	Path        []string `json:"path" jsonschema:"the states that were entered"`
	Differences []string `json:"differences" jsonschema:"how the paths differ, or the action from that on record, in lines"`
}

// TestedSuites is what test prints of files of tests.
type TestedSuites struct {
	Files  []TestedSuite `json:"files"`
	Cases  int           `json:"cases" jsonschema:"how many were run"`
	Failed int           `json:"failed" jsonschema:"how many of them failed"`
}

// TestedSuite is a file of tests whose cases were run.
type TestedSuite struct {
	File     string       `json:"file" jsonschema:"absolute"`
	Loop     string       `json:"loop"`
	LoopFile string       `json:"loop_file" jsonschema:"absolute"`
	Cases    []TestedCase `json:"cases"`
}

// RecordedCase is what test prints of a case that it made of a run.
type RecordedCase struct {
	Run  string   `json:"run" jsonschema:"its id"`
	File string   `json:"file" jsonschema:"the file of tests that the case was added to, absolute"`
	Case string   `json:"case" jsonschema:"its name"`
	Path []string `json:"path" jsonschema:"the states that the case enters"`
}

// TestedCase is the result of one case.
type TestedCase struct {
	Name        string   `json:"name"`
	Line        int      `json:"line" jsonschema:"of the file of tests"`
	Passed      bool     `json:"passed"`
	Steps       int      `json:"steps" jsonschema:"how many states were entered, those of sub-loops and branches among them"`
	Duration    int64    `json:"duration_ms"`
	Path        []string `json:"path" jsonschema:"the states that were entered"`
	Differences []string `json:"differences" jsonschema:"what came otherwise than expected, in lines"`
}

// Tested is what test prints of a state.
type Tested struct {
	Loop        string       `json:"loop"`
	File        string       `json:"file" jsonschema:"absolute"`
	State       string       `json:"state"`
	Kind        *string      `json:"kind,omitempty" jsonschema:"of the action"`
	Action      *string      `json:"action,omitempty"`
	Params      *string      `json:"params,omitempty"`
	Run         *bool        `json:"run,omitempty" jsonschema:"false where the result was handed to it"`
	ExitCode    *int         `json:"exit_code,omitempty"`
	TimeoutKind *Text        `json:"timeout_kind,omitempty"`
	Duration    *int64       `json:"duration_ms,omitempty"`
	Output      *string      `json:"output,omitempty"`
	Stderr      *string      `json:"stderr,omitempty"`
	Evaluator   *string      `json:"evaluator,omitempty"`
	Verdict     *string      `json:"verdict,omitempty"`
	Details     *value.Map   `json:"details,omitempty" jsonschema:"of the verdict"`
	Next        Text         `json:"next" jsonschema:"the next state"`
	Waits       *Waiting     `json:"waits,omitempty" jsonschema:"what it would keep waiting for"`
	End         *EndOfRun    `json:"end,omitempty" jsonschema:"where the run would end there"`
	Events      []Pairs[any] `json:"events" jsonschema:"the other events of a run"`
}

package fsm

import (
	"context"
	"slices"
)

// A Receipt says what a run that completed came to and by what: which checks decided, on which files. It is not changed
// once it was recorded.
type Receipt struct {
	Run        string        `json:"instance_id" jsonschema:"the id of the run"`
	Loop       string        `json:"loop"`
	Definition string        `json:"definition_sha256" jsonschema:"of the file of the loop"`
	Completed  string        `json:"completed_at"`
	Tree       string        `json:"tree" jsonschema:"the tree of git with the files as the run left them; empty outside of a repository"`
	Kept       bool          `json:"tree_kept" jsonschema:"whether a ref keeps that tree until the run is removed"`
	Checks     []CheckResult `json:"checks" jsonschema:"those that decided, in their order"`
	Prompts    int           `json:"prompts" jsonschema:"prompts and judges"`
	Tokens     int64         `json:"tokens"`
	CostUSD    float64       `json:"cost_usd" jsonschema:"the part that is known"`
	Unpriced   int           `json:"unpriced" jsonschema:"prompts and judges whose cost is not known"`
	MostUSD    float64       `json:"cost_usd_most,omitempty" jsonschema:"what all cost at most; absent where cost_usd is all, or that is not known"`
	Guard      string        `json:"guard" jsonschema:"what actions might change; empty where nothing limited that"`
	Sandbox    string        `json:"sandbox" jsonschema:"what limited the actions; empty where nothing did"`
	Key        string        `json:"key,omitempty" jsonschema:"the public key that signed it; absent where it is not signed"`
	Signature  string        `json:"signature,omitempty"`
}

// A CheckResult is a verdict that decided.
type CheckResult struct {
	State     string   `json:"state"`
	Path      string   `json:"path" jsonschema:"the states it is inside, and it"`
	Step      string   `json:"step" jsonschema:"as explain takes it"`
	Loop      string   `json:"loop,omitempty" jsonschema:"the sub-loop it is in; absent in the loop of the run"`
	Marked    bool     `json:"check,omitempty" jsonschema:"whether the state has check"`
	Files     []string `json:"files,omitempty" jsonschema:"patterns of the files that were those with which the run began"`
	Item      int      `json:"item,omitempty" jsonschema:"the number of the item of a list that the verdict is about; absent of other verdicts"`
	Value     string   `json:"value,omitempty" jsonschema:"that item, as its script has it in LOOPS_ITEM"`
	Items     int      `json:"items,omitempty" jsonschema:"how many items the list has; absent of other verdicts"`
	Command   string   `json:"command,omitempty" jsonschema:"the script; absent where the verdict was not one on a script"`
	ExitCode  int      `json:"exit_code"`
	Output    string   `json:"output_sha256,omitempty" jsonschema:"of the standard output without line ends at its end"`
	Evaluator string   `json:"evaluator" jsonschema:"what gave the verdict"`
	Verdict   string   `json:"verdict"`
	Judges    []string `json:"judges,omitempty" jsonschema:"agent and model of each that was asked"`
}

// receipt has the receipt of a run that completes made.
func (e *Executor) receipt(o *Outcome) {
	if e.cfg.Receipt == nil || e.parent != nil || o.TerminatedBy != EndTerminal || o.Failure {
		return
	}
	pending := slices.Concat(e.machine.out.Events, e.batch.Events)
	spent, lost := e.mem.Spent, e.mem.Lost // what a prompt used that was killed with its process is not known
	spent.Prompts += lost.Count
	spent.Unsure = spent.Unsure.Plus(lost)
	spent.Unpriced = max(e.mem.Spent.Unpriced, e.mem.Spent.Unsure.Count) + lost.Count
	e.do(func(ctx context.Context) { o.Receipt = e.cfg.Receipt(ctx, spent, pending) })
}

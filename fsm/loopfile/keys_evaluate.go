package loopfile

import "slices"

// An Evaluator is one type of evaluate block.
type Evaluator struct {
	Name     string
	Required []string // keys it cannot do without
	Verdicts []string // that it gives; "*": any text
	Doc      string
}

// Evaluators returns the types of evaluate blocks in the order of the documentation. The caller may keep it.
func Evaluators() []Evaluator { return slices.Clone(evaluators) }

var evaluators = []Evaluator{
	{
		"exit_code", nil,
		[]string{"yes", "no", "error"},
		"The exit code: 0 is `yes`, 1 is `no`, every other is `error`, unless `yes` and `no` say otherwise.",
	},
	{"expression", []string{"expression"}, []string{"yes", "no", "error"}, "Asks whether an expression is true."},
	{"jq", []string{"filter"}, []string{"yes", "no", "error"}, "Asks a program of jq about the JSON output."},
	{
		"output_numeric",
		[]string{"operator", "target"},
		[]string{"yes", "no", "error"},
		"Compares a number in the output with `target`.",
	},
	{
		"output_json",
		[]string{"path", "operator", "target"},
		[]string{"yes", "no", "error"},
		"Compares one value of the JSON output with `target`.",
	},
	{"output_contains", []string{"pattern"}, []string{"yes", "no", "error"}, "Looks for a pattern in the output."},
	{
		"convergence",
		[]string{"target"},
		[]string{"target", "progress", "stall", "error"},
		"Asks whether a number has reached its target, or at least moves towards it.",
	},
	{"classify", nil, []string{"*"}, "Makes one line of the output the verdict."},
	{"diff_stall", nil, []string{"yes", "no", "error"}, "`no` when the work tree of git has stopped changing."},
	{"score_stall", nil, []string{"yes", "no"}, "`no` when the scores in a file have stopped getting better."},
	{"open_question_stall", nil, []string{"yes", "no"}, "`no` when the counts in a file have stopped going down."},
	{"action_stall", nil, []string{"yes", "no"}, "`no` when the same thing was done too often in a row."},
	{
		"llm_structured", nil,
		[]string{"yes", "no", "blocked", "partial", "cannot_judge", "error"},
		"Asks a language model.",
	},
	{
		"comparator",
		[]string{"baseline_path"},
		[]string{"yes", "no", "tie", "no_baseline"},
		"Asks a language model whether the output is better than an earlier one.",
	},
	{
		"contract",
		[]string{"pairs"},
		[]string{"yes", "no", "error"},
		"Asks a language model whether pairs of files agree.",
	},
	{"mcp_result", nil, []string{"success", "tool_error", "not_found", "timeout"}, "Reads the answer of an MCP tool."},
	{
		"harbor_scorer", nil,
		[]string{"yes", "no", "error"},
		"Reads a score that a scorer prints; `no` when the scorer failed.",
	},
}

func evaluatorNames() []string {
	s := make([]string, len(evaluators))
	for i, e := range evaluators {
		s[i] = e.Name
	}
	return s
}

var (
	stallTypes = []string{"diff_stall", "score_stall", "open_question_stall"}
	scoreTypes = []string{"score_stall", "open_question_stall"}
	judgeTypes = []string{"llm_structured", "comparator", "contract"}
)

// An evaluate block. Every key is accepted with every type; a type ignores the keys that are not its own.
var evaluateKeys = []Key{
	{
		Name: "type", In: InEvaluate, Type: TypeText, Required: true, Values: evaluatorNames(),
		Doc: "How the verdict is found.",
	},
	{
		Name: "source", In: InEvaluate, Type: TypeText,
		Doc: "Text to evaluate instead of the output of the action. `${...}` is replaced.",
	},
	{
		Name: "yes", In: InEvaluate, Type: TypeInts, Min: &limit0, Max: &limit255, For: []string{"exit_code"},
		Doc: "Exit codes that are `yes`; `[0]` unless set.",
	},
	{
		Name: "no", In: InEvaluate, Type: TypeInts, Min: &limit0, Max: &limit255, For: []string{"exit_code"},
		Doc: "Exit codes that are `no`; `[1]` unless set. `make` and `grep` end with 2 when something is wrong: " +
			"`no: [1, 2]`.",
	},
	{
		Name: "expression", In: InEvaluate, Type: TypeExpression, For: []string{"expression"},
		Doc: "What is `yes` if it is true and `no` if it is false: `captured.score.output > context.best`.",
	},
	{
		Name: "filter", In: InEvaluate, Type: TypeText, For: []string{"jq"},
		Doc: "A program of jq. Its last value is `yes` unless it is `false` or `null`: `.items | length > 0`. " +
			"`${...}` is not replaced in it.",
	},
	{
		Name: "operator", In: InEvaluate, Type: TypeText, Default: "eq",
		Values: []string{"eq", "ne", "lt", "le", "gt", "ge"}, For: []string{"output_numeric", "output_json"},
		Doc: "How the value is compared with `target`.",
	},
	{
		Name: "target", In: InEvaluate, Type: TypeValue, For: []string{"output_numeric", "output_json", "convergence"},
		Doc: "What the value is compared with. `${...}` is replaced, except in `output_json`.",
	},
	{
		Name: "tolerance", In: InEvaluate, Type: TypeValue, Default: 0, For: []string{"convergence"},
		Doc: "How near to `target` is near enough; a number or a template.",
	},
	{
		Name: "previous", In: InEvaluate, Type: TypeText, For: []string{"convergence"},
		Doc: "The value of the turn before, usually `${captured.NAME.output}`.",
	},
	{
		Name: "direction", In: InEvaluate, Type: TypeText, Default: "minimize",
		Values: []string{"minimize", "maximize"},
		For:    []string{"convergence"}, Doc: "Which way the value should move.",
	},
	{
		Name: "key", In: InEvaluate, Type: TypeText, For: []string{"output_numeric"},
		Doc: "Take the number from the last `KEY=number` in the output.",
	},
	{
		Name: "path", In: InEvaluate, Type: TypeText, For: []string{"output_json"},
		Doc: "Where the value is in the JSON output: `.count`, `.items.0.name`.",
	},
	{
		Name: "pattern", In: InEvaluate, Type: TypeText, For: []string{"output_contains"},
		Doc: "Regular expression to look for, anywhere in the output. A text that is not a regular expression is " +
			"looked for as it is.",
	},
	{
		Name: "negate", In: InEvaluate, Type: TypeBool, Default: false, For: []string{"output_contains"},
		Doc: "`yes` when the pattern is not found.",
	},
	{
		Name: "error_patterns", In: InEvaluate, Type: TypeTexts, For: []string{"output_contains"},
		Doc: "Texts that give the verdict `error` where the pattern is not found; without effect with `negate`.",
	},
	{
		Name: "line", In: InEvaluate, Type: TypeValue, Default: "last", For: []string{"classify"},
		Doc: "The line that is the verdict: `last`, `first`, or its number from 0 (negative: from the end) among " +
			"the lines that are not blank.",
	},
	{Name: "scope", In: InEvaluate, Type: TypeTexts, For: []string{"diff_stall"}, Doc: "Paths whose changes count."},
	{
		Name: "max_stall", In: InEvaluate, Type: TypeInt, Default: 1, Min: &limit1, For: stallTypes,
		Doc: "How many turns without progress in a row are too many.",
	},
	{Name: "history_file", In: InEvaluate, Type: TypeText, For: scoreTypes, Doc: "File with one score a line."},
	{
		Name: "epsilon", In: InEvaluate, Type: TypeNumber, Default: 0.5, Min: &limit0, For: scoreTypes,
		Doc: "By how much a score must be better to count as progress.",
	},
	{
		Name: "track", In: InEvaluate, Type: TypeTexts, Default: []string{"action"}, For: []string{"action_stall"},
		Doc: "What must change from turn to turn: a reference such as `captured.NAME.output` or `context.NAME`, or " +
			"the plain name of a context key or capture. A name that leads nowhere counts as an empty text.",
	},
	{
		Name: "max_repeat", In: InEvaluate, Type: TypeInt, Default: 2, Min: &limit1, For: []string{"action_stall"},
		Doc: "How many repetitions in a row are too many.",
	},
	{
		Name: "prompt", In: InEvaluate, Type: TypeText, For: []string{"llm_structured", "comparator"},
		Doc: "What to ask the judge.",
	},
	{
		Name: "schema", In: InEvaluate, Type: TypeMap, For: []string{"llm_structured"},
		Doc: "JSON Schema of the judge's answer, instead of the built-in one.",
	},
	{
		Name: "min_confidence", In: InEvaluate, Type: TypeNumber, Default: 0.5, Min: &limit0, Max: &limit1,
		For: []string{"llm_structured"}, Doc: "Confidence below which a judgement is uncertain.",
	},
	{
		Name: "uncertain_suffix", In: InEvaluate, Type: TypeBool, Default: false, For: []string{"llm_structured"},
		Doc: "Add `_uncertain` to the verdict of an uncertain judgement.",
	},
	{
		Name: "evidence", In: InEvaluate, Type: TypeText, Default: "any", Values: []string{"any", "verbatim"},
		For: []string{"llm_structured"},
		Doc: "`verbatim`: a judgement whose evidence is not in the output is `cannot_judge`. White space " +
			"does not count.",
	},
	{
		Name: "votes", In: InEvaluate, Type: TypeInt, Default: 1, Min: &limit1, Max: &limit99,
		For: []string{"llm_structured"}, Doc: "How often the judge is asked the same. It is not asked more often " +
			"than it takes to decide.",
	},
	{
		Name: "quorum", In: InEvaluate, Type: TypeInt, Min: &limit1, For: []string{"llm_structured"},
		Doc: "How many votes a verdict needs: more than half of them, unless set. Where none has that many it is " +
			"`cannot_judge`.",
	},
	{
		Name: "model", In: InEvaluate, Type: TypeText, For: judgeTypes,
		Doc: "Model of the judge, instead of that of the state or of `llm`.",
	},
	{
		Name: "host", In: InEvaluate, Type: TypeSpecial, For: judgeTypes,
		Doc: "Agent host of the judge, or a list of them, instead of that of the state or of `llm`.",
	},
	{
		Name: "effort", In: InEvaluate, Type: TypeText, For: judgeTypes,
		Doc: "Reasoning effort of the judge, instead of that of `llm`.",
	},
	{
		Name: "timeout", In: InEvaluate, Type: TypeSeconds, Default: 1800, Above: &limit0, For: judgeTypes,
		Doc: "Seconds one question to the judge may take.",
	},
	{
		Name: "baseline_path", In: InEvaluate, Type: TypeText, For: []string{"comparator"},
		Doc: "Directory of the output to compare with.",
	},
	{
		Name: "auto_promote", In: InEvaluate, Type: TypeBool, Default: false, For: []string{"comparator"},
		Doc: "Make the output the baseline if there is no baseline, or if it is better.",
	},
	{
		Name: "min_pairs", In: InEvaluate, Type: TypeInt, Default: 1, For: []string{"comparator"},
		Doc: "How many blind comparisons are made.",
	},
	{
		Name: "pairs", In: InEvaluate, Type: TypeList, For: []string{"contract"},
		Doc: "Pairs of files that must agree: `producer`, `consumer`, `contract`, and optional patterns.",
	},
}

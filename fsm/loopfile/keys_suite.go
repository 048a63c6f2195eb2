package loopfile

import "loops/fsm"

// The mappings of a file of tests.
const (
	InSuite  Where = "tests"
	InCases  Where = "case"
	InAnswer Where = "answer"
	InExpect Where = "expect"
)

// inSuite are the mappings of a file of tests, the top level first.
var inSuite = []Where{InSuite, InCases, InAnswer, InExpect}

// Outcomes are the words for how a run ends, as expect.outcome has them.
var Outcomes = []string{
	"completed", "failed", "capped", "timed_out", "stalled", "budget", "suspended", "limited",
	"awaiting", "interrupted",
}

var failures = []string{
	string(fsm.FailTransient), string(fsm.FailRateLimited), string(fsm.FailAuth), string(fsm.FailBilling),
	string(fsm.FailModel), string(fsm.FailAdminLimit),
	string(fsm.FailPermission), string(fsm.FailContext), string(fsm.FailMissing), string(fsm.FailTimeout),
	string(fsm.FailTruncated), string(fsm.FailOther),
}

// The keys of a file of tests, which are no keys of loops.
var suiteKeys = []Key{
	{Name: "description", In: InSuite, Type: TypeText, Doc: "What the tests are about, for people."},
	{
		Name: "loop", In: InSuite, Type: TypeText,
		Doc: "The loop that is tested: a name, or a path from the folder of this file. Without it, the loop beside " +
			"this file: fix.test.yaml tests fix.yaml.",
	},
	{Name: "cases", In: InSuite, Type: TypeSpecial, Required: true, NotNull: true, Doc: "The cases by name."},

	{Name: "description", In: InCases, Type: TypeText, Doc: "What the case is about, for people."},
	{Name: "input", In: InCases, Type: TypeText, Doc: "The input, as the command line gives it to a run."},
	{
		Name: "context", In: InCases, Type: TypeMap,
		Doc: "Values of the context or of parameters, as `--context` gives them to a run.",
	},
	{Name: "env", In: InCases, Type: TypeMap, Doc: "Variables that `${env.NAME}` reads. No other is set."},
	{
		Name: "files", In: InCases, Type: TypeMap,
		Doc: "Files by their path, with their text. The case has a folder of its own, which is empty but for them.",
	},
	{
		Name: "from", In: InCases, Type: TypeText,
		Doc: "Id of a run of this project: states that `answers` does not name are answered as they were then.",
	},
	{
		Name: "answers", In: InCases, Type: TypeSpecial,
		Doc: "What states come to, by name. An answer holds for every visit; a list has one for each visit, " +
			"in their order.",
	},
	{
		Name: "expect", In: InCases, Type: TypeBlock, Block: InExpect, Required: true, NotNull: true,
		Doc: "What has to come of it.",
	},

	{
		Name: "verdict", In: InAnswer, Type: TypeText,
		Doc: "The verdict. Without it, the evaluator of the state judges the output and the exit code.",
	},
	{
		Name: "output", In: InAnswer, Type: TypeText,
		Doc: "Standard output of the action, what an agent says, or the body of a response.",
	},
	{Name: "stderr", In: InAnswer, Type: TypeText, Doc: "Standard error of the action."},
	{
		Name: "exit_code", In: InAnswer, Type: TypeInt,
		Doc: "Exit code of the action. Without it, the one that goes with the verdict, else 0.",
	},
	{
		Name: "timeout", In: InAnswer, Type: TypeText, Values: []string{"wall", "idle"},
		Doc: "The action was ended because it took too long (`wall`), or was silent for too long (`idle`).",
	},
	{
		Name: "status", In: InAnswer, Type: TypeInt, Min: &limit100, Max: &limit599,
		Doc: "Status of a response over HTTP.",
	},
	{
		Name: "failure", In: InAnswer, Type: TypeText, Values: failures,
		Doc: "Why a prompt failed, as its agent reports it.",
	},
	{Name: "cost_usd", In: InAnswer, Type: TypeNumber, Min: &limit0, Doc: "What a prompt cost."},
	{Name: "tokens", In: InAnswer, Type: TypeInt, Min: &limit0, Doc: "How many tokens a prompt used."},
	{
		Name: "details", In: InAnswer, Type: TypeMap,
		Doc: "Details of the verdict, which `${result.details.NAME}` reads; of a question, the fields of the answer.",
	},

	{
		Name: "path", In: InExpect, Type: TypeTexts,
		Doc: "The states that are entered, in their order. Those of sub-loops count if one of them is named: " +
			"`build > compile`.",
	},
	{
		Name: "verdicts", In: InExpect, Type: TypeSpecial,
		Doc: "The verdicts of a state in the order of its visits, by state: `{check: [no, yes]}`.",
	},
	{
		Name: "captures", In: InExpect, Type: TypeMap,
		Doc: "What is captured at the end: the output by name, or a mapping with some of `output`, `exit_code` " +
			"and the like.",
	},
	{Name: "context", In: InExpect, Type: TypeMap, Doc: "Values that the context has at the end."},
	{Name: "outcome", In: InExpect, Type: TypeText, Values: Outcomes, Doc: "How the run ends, in a word."},
	{Name: "state", In: InExpect, Type: TypeText, Doc: "The state in which it ends."},
	{Name: "message", In: InExpect, Type: TypeText, Doc: "The message of that state, all of it."},
	{Name: "never", In: InExpect, Type: TypeTexts, Doc: "States that are not entered."},
	{
		Name: "guarded", In: InExpect, Type: TypeTexts,
		Doc: "States that act, and each of whose actions has a guard: their own, or that of a loop or state around " +
			"them. What guards do is not part of a case.",
	},
	{
		Name: "sandboxed", In: InExpect, Type: TypeTexts,
		Doc: "States that act, and each of whose actions has a sandbox. It is known from the loop, and not set up.",
	},
	{
		Name: "max_cost_usd", In: InExpect, Type: TypeNumber, Min: &limit0,
		Doc: "What its prompts cost at most, by the answers.",
	},
}

var limit599 = 599.0

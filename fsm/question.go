package fsm

import (
	"errors"

	"loops/fsm/value"
)

// ErrNeedsJudge means that the question cannot be answered without asking a model. The error that is one is a
// [*Question].
var ErrNeedsJudge = errors.New("this evaluator asks a judge")

// judgedText is how much of a text, counted from its end in characters, is shown to a judge.
const judgedText = 4000

// A Question is what a model has to be asked before there is a verdict. [Judge] returns it as its error. It holds
// what has to be shown, not how the question is worded. Texts are valid UTF-8 and, but for what a pattern of the
// author has found, at most 4000 characters long: the ends of longer ones.
type Question struct {
	Evaluator string // llm_structured, comparator or contract
	Output    string // of the action or the source; not of a contract
	Baseline  string // of a comparator: what Output is compared with, without saying which is which
	Rounds    int    // of a comparator: how often it is asked, at least 1
	Pairs     []Pair // of a contract: in the order of the file, at least one without a Problem
}

func (q *Question) Error() string { return ErrNeedsJudge.Error() }

// Unwrap makes it an [ErrNeedsJudge].
func (q *Question) Unwrap() error { return ErrNeedsJudge }

// A Pair is two texts of which a contract asks whether they agree.
type Pair struct {
	Producer, Consumer         string // the files, as written
	ProducerText, ConsumerText string // what is shown of them
	Contract                   string // what they are to agree on; "" = not said
	Problem                    string // why there is nothing to ask; "" = ask
}

// ContractVerdict is the verdict on a contract: error if any pair has a problem or an answer error, yes if all
// answers are, no otherwise. answer is asked, in order, for every pair without a problem; its verdict is yes, no or
// error and its details (confidence, reason, llm_latency_ms; or error) go to the result of the pair. An error of
// answer ends the asking and is returned as it is.
func ContractVerdict(pairs []Pair, answer func(Pair) (Verdict, error)) (Verdict, error) {
	results := make([]any, len(pairs))
	name := "yes"
	for i, p := range pairs {
		v := errorVerdict("error", p.Problem)
		if p.Problem == "" {
			var err error
			if v, err = answer(p); err != nil {
				return Verdict{}, err
			}
		}
		switch {
		case v.Name != "yes" && v.Name != "no":
			name = "error"
		case v.Name == "no" && name == "yes":
			name = "no"
		}
		result := value.NewMap("producer", p.Producer, "consumer", p.Consumer, "verdict", v.Name)
		for _, k := range v.Details.Keys() {
			result.Set(k, v.Details.Value(k))
		}
		results[i] = result
	}
	return verdict(name, "pair_results", results), nil
}

// A Comparison is the answer to one round of a comparator. A judge that failed passes neither.
type Comparison struct {
	Output, Baseline bool // which of the two passes
	Reason           string
	Raw              any // what the judge said, a value of the language
}

// ComparatorVerdict is the verdict of a comparator on all its rounds: yes if the output passed more often than the
// baseline, no if less often, tie otherwise. Where it is yes and cfg.AutoPromote is set, the output takes the
// place of the baseline.
func ComparatorVerdict(cfg *Evaluate, ev Evidence, rounds []Comparison) (Verdict, error) {
	output, baseline := 0, 0
	var last Comparison
	for _, last = range rounds {
		if last.Output {
			output++
		}
		if last.Baseline {
			baseline++
		}
	}
	name := "tie"
	switch {
	case output > baseline:
		name = "yes"
	case output < baseline:
		name = "no"
	}
	if name == "yes" && cfg.AutoPromote {
		if err := promote(cfg, ev); err != nil {
			return Verdict{}, err
		}
	}
	return verdict(name, "harness_wins", int64(output), "baseline_wins", int64(baseline), "min_pairs",
		int64(max(1, cfg.MinPairs)),
		"reason", last.Reason, "raw", last.Raw), nil
}

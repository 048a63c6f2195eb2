package fsm

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"loops/fsm/value"
)

// compare is the verdict of a comparator. The judge does not know which of two outputs is the new one: a coin decides
// that is the same again after a crash.
func (q *asker) compare(question *Question, ev Evidence) (Verdict, error) {
	rounds := make([]Comparison, 0, question.Rounds)
	failures := 0
	for i := range question.Rounds {
		a, b := question.Output, question.Baseline
		swapped := q.coin(i)
		if swapped {
			a, b = b, a
		}
		payload, failed, err := q.ask(compareText(q.cfg.Prompt, a, b), compareSchema, false)
		bad := &oddAnswer{}
		switch {
		case errors.As(err, &bad):
			v := errorVerdict("error", bad.text)
			failed = &v
		case err != nil:
			return Verdict{}, err
		}
		if failed != nil {
			failures++
			q.judged("error")
			rounds = append(rounds, Comparison{Reason: value.Text(failed.Details.Value("error"))})
			continue
		}
		c := Comparison{
			Output: payload.Value("verdict_a") == "yes", Baseline: payload.Value("verdict_b") == "yes",
			Reason: value.Text(textOf(payload, "reason")), Raw: payload,
		}
		if swapped {
			c.Output, c.Baseline = c.Baseline, c.Output
		}
		q.judged(better(c))
		rounds = append(rounds, c)
	}
	if q.cfg.AutoPromote && !q.e.settle() { // the answers are on record before a file is replaced because of them
		return Verdict{}, errHalted
	}
	v, err := ComparatorVerdict(q.cfg, ev, rounds)
	if err == nil && failures > 0 {
		v.Details.Set("judge_failures", int64(failures))
	}
	return v, err
}

// better is the verdict of one round.
func better(c Comparison) string {
	switch {
	case c.Output == c.Baseline:
		return "tie"
	case c.Output:
		return "yes"
	}
	return "no"
}

// coin reports whether the two texts of a round change places.
func (q *asker) coin(round int) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%s/%d/%d", q.e.startAt, q.e.outer, q.e.mem.Step, round))
	return sum[0]&1 == 1
}

// contract is the verdict of a contract.
func (q *asker) contract(question *Question) (Verdict, error) {
	return ContractVerdict(question.Pairs, func(p Pair) (Verdict, error) {
		v, err := q.pair(p)
		if err == nil {
			q.judged(v.Name)
		}
		return v, err
	})
}

func (q *asker) pair(p Pair) (Verdict, error) {
	payload, failed, err := q.ask(contractText(p), contractSchema, false)
	bad := &oddAnswer{}
	switch {
	case errors.As(err, &bad):
		return errorVerdict("error", bad.text), nil
	case err != nil:
		return Verdict{}, err
	case failed != nil && q.last.Reply != nil && q.last.Reply.Failure == FailMissing:
		return Verdict{}, &noJudge{*failed}
	case failed != nil:
		return *failed, nil
	}
	name := value.Text(payload.Value("verdict"))
	if name != "yes" && name != "no" {
		return errorVerdict("error",
			fmt.Sprintf("the judge's verdict is %q; expected yes or no", value.Truncate(name, 100))), nil
	}
	confidence, err := confidenceOf(payload)
	if err != nil {
		return errorVerdict("error", err.Error()), nil
	}
	return verdict(name, "confidence", confidence, "reason", textOf(payload, "reason"), "llm_latency_ms",
		q.last.Duration.Milliseconds()), nil
}

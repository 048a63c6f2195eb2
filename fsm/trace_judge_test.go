package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// judgedFiles are those that contracts and comparators of the traces look at.
var judgedFiles = map[string]string{
	"agree.txt":        "judge: yes 0.9\n",
	"differ.txt":       "judge: no 0.8\n",
	"plain.txt":        "plain\n",
	"old/output.txt":   "old\n",
	"judge/output.txt": "old\njudge: prefer new | prefer old | prefer nothing\n",
}

// judge answers as the first line of the question says that begins with "judge: "; what follows is an answer to each
// question of the step, with | between, the last of them for all the rest.
//
//	VERDICT [CONFIDENCE [EVIDENCE]]    an answer
//	{...}                              an answer, as it is; also a list
//	prefer TEXT                        of two texts the one that holds it passes
//	FAILURE TEXT                       a failure of the host, by its class
//	printed TEXT                       what the host printed, and no answer
//	error TEXT                         it could not be asked
//	stop VERDICT ...                   the same, and a user asks the run to stop meanwhile
func (f *fake) judge(ctx context.Context, a fsm.Action) (fsm.Result, error) {
	key := fmt.Sprintf("%s%s/%d", steps(a.Outer), a.State, a.Step)
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	n := f.asked[key]
	f.asked[key]++
	f.ran = append(f.ran, fmt.Sprintf("%s judge %d", key, n))
	script := "yes"
	for line := range strings.SplitSeq(a.Text, "\n") {
		if rest, ok := strings.CutPrefix(line, "judge: "); ok {
			answers := strings.Split(rest, " | ")
			script = answers[min(n, len(answers)-1)]
			break
		}
	}
	if rest, ok := strings.CutPrefix(script, "stop "); ok {
		script = rest
		if f.stop != nil {
			f.stop(&fsm.Stop{Signal: "SIGTERM"})
		}
	}
	cost := 0.25
	r := &fsm.Reply{
		Host: first(a.Host, "claude"), Model: first(a.Model, "sonnet"), Session: "s1", Complete: true,
		Usage:    fsm.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2},
		Coverage: fsm.CoverageComplete, Cost: &cost,
	}
	res := fsm.Result{Duration: 9 * time.Millisecond, Reply: r}
	word, rest, _ := strings.Cut(script, " ")
	switch class := fsm.Failure(word); {
	case word == "error":
		return fsm.Result{}, errors.New(rest)
	case word == "printed":
		r.Raw, r.Failure, r.Reason, res.ExitCode = rest, fsm.FailSchema, "no JSON was found", 1
	case word == "prefer":
		_, second, _ := strings.Cut(a.Text, "<output_b>")
		one, _, _ := strings.Cut(a.Text, "<output_b>")
		_, one, _ = strings.Cut(one, "<output_a>")
		r.Answer = value.NewMap("verdict_a", yesNo(holds(one, rest)), "verdict_b", yesNo(holds(second, rest)),
			"confidence", 0.5, "reason", "r"+strconv.Itoa(n))
	case slices.Contains([]fsm.Failure{
		fsm.FailTransient, fsm.FailRateLimited, fsm.FailAuth, fsm.FailMissing,
		fsm.FailTimeout, fsm.FailTruncated,
	}, class):
		r.Failure, r.Reason, res.ExitCode, r.Cost, r.Usage, r.Coverage = class, rest, 1, nil, fsm.Usage{},
			fsm.CoverageNone
		if class == fsm.FailTimeout {
			res.ExitCode, res.TimeoutKind = 124, "wall"
		}
	case strings.HasPrefix(script, "{") || strings.HasPrefix(script, "["):
		v, err := value.ParseJSON([]byte(script))
		if err != nil {
			return fsm.Result{}, err
		}
		r.Answer, r.Raw = v, script
	default:
		confidence, evidence, _ := strings.Cut(rest, " ")
		c, _ := strconv.ParseFloat(first(confidence, "1"), 64)
		if evidence == "" && !strings.HasPrefix(word, "cannot") {
			evidence = "judge"
		}
		r.Answer = value.NewMap("verdict", word, "confidence", c, "reason", "r"+strconv.Itoa(n), "evidence", evidence)
		r.Raw = string(value.AppendJSON(nil, r.Answer))
	}
	if ctx.Err() != nil {
		r.Coverage = fsm.CoveragePartial
		return fsm.Result{ExitCode: -15, Duration: res.Duration, Reply: r}, nil
	}
	return res, nil
}

// answered makes a new fake continue where an interrupted run is.
func (f *fake) answered(s *fsm.Snapshot, outer string) {
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	f.asked[fmt.Sprintf("%s%s/%d", outer, s.Current, s.Step)] = len(s.Answers)
	if s.Child != nil {
		f.answered(s.Child.Memory, fmt.Sprintf("%s%d/", outer, s.Step))
	}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// holds reports whether a text, up to its script, holds a word.
func holds(text, word string) bool {
	text, _, _ = strings.Cut(text, "judge:")
	return strings.Contains(text, word)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

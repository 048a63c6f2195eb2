package fsm

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// judgedText is how much of a text, counted from its end in characters, is shown to a judge.
const judgedText = 4000

// judgeComparator answers as far as it goes without a judge: there is no baseline, or it is made now.
func judgeComparator(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	if cfg.BaselinePath == "" {
		return verdict("no_baseline", "reason", "no baseline_path is set"), nil
	}
	if ev.Files == nil {
		return verdict("no_baseline", "reason", "no files can be read here"), nil
	}
	name := strings.TrimSuffix(cfg.BaselinePath, "/") + "/output.txt"
	_, _, err := ev.Files.Stat(name)
	switch {
	case err == nil:
		return Verdict{}, ErrNeedsJudge
	case !errors.Is(err, fs.ErrNotExist):
		return Verdict{}, fmt.Errorf("comparator cannot read its baseline: %w", err)
	case !cfg.AutoPromote:
		return verdict("no_baseline", "reason", "there is no "+name), nil
	}
	if err := ev.Files.WriteFile(name, []byte(ev.Output)); err != nil {
		return Verdict{}, fmt.Errorf("comparator cannot write its first baseline: %w", err)
	}
	return verdict("yes", "reason", "this output is the first baseline", "bootstrapped", true), nil
}

// judgeContract collects the texts of both sides of every pair. It answers where none is left to ask about.
func judgeContract(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	if len(cfg.Pairs) == 0 {
		return errorVerdict("error", "contract needs at least one pair of producer and consumer"), nil
	}
	results := make([]any, 0, len(cfg.Pairs))
	for i, p := range cfg.Pairs {
		pair, ok := p.(*Map)
		if !ok {
			return Verdict{}, fmt.Errorf("contract pair %d must be a map with producer and consumer", i+1)
		}
		problem, err := pairProblem(pair, ev.Files)
		if err != nil {
			return Verdict{}, err
		}
		if problem == "" {
			return Verdict{}, ErrNeedsJudge
		}
		producer, _ := pair.Get("producer")
		consumer, _ := pair.Get("consumer")
		results = append(results, NewMap("producer", producer, "consumer", consumer, "verdict", "error", "error", problem))
	}
	return errorVerdict("pair_results", results), nil
}

// pairProblem says why a pair cannot be judged, or "".
func pairProblem(pair *Map, files Files) (string, error) {
	for _, side := range []string{"producer", "consumer"} {
		name, _ := pair.Get(side)
		pattern, _ := pair.Get(side + "_pattern")
		if _, problem, err := contractText(Str(name), pattern, files); err != nil || problem != "" {
			return problem, err
		}
	}
	return "", nil
}

// contractText is what a judge is shown of one file: what the pattern matches, or the end of it.
func contractText(name string, pattern any, files Files) (text, problem string, err error) {
	if files == nil {
		return "", "no files can be read here", nil
	}
	data, err := files.ReadFile(name)
	if err != nil {
		return "", err.Error(), nil
	}
	text = strings.ToValidUTF8(string(data), "\ufffd")
	if p, ok := pattern.(string); ok && p != "" {
		found, err := findAll(p, text)
		if err != nil {
			return "", "", fmt.Errorf("contract: %w", err)
		}
		if len(found) == 0 {
			return "", fmt.Sprintf("pattern %q matches nothing in %s", p, name), nil
		}
		return strings.Join(found, "\n"), "", nil
	}
	if r := []rune(text); len(r) > judgedText {
		text = string(r[len(r)-judgedText:])
	}
	return text, "", nil
}

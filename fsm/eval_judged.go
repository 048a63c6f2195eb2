package fsm

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"loops/fsm/pyregexp"
	"loops/fsm/value"
)

func judgeModel(_ *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	return Verdict{}, &Question{Evaluator: "llm_structured", Output: lastRunes(ev.Output, judgedText)}
}

// judgeComparator answers as far as it goes without a judge: there is no baseline, or it is made now.
func judgeComparator(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	if cfg.BaselinePath == "" {
		return verdict("no_baseline", "reason", "no baseline_path is set"), nil
	}
	if ev.Files == nil {
		return verdict("no_baseline", "reason", "no files can be read here"), nil
	}
	name := baselineFile(cfg)
	baseline, err := readText(ev.Files, name)
	switch {
	case err == nil:
		return Verdict{}, &Question{
			Evaluator: "comparator", Output: lastRunes(ev.Output, judgedText),
			Baseline: lastRunes(baseline, judgedText),
			Rounds:   max(1, cfg.MinPairs),
		}
	case !errors.Is(err, fs.ErrNotExist):
		return Verdict{}, fmt.Errorf("comparator cannot read its baseline: %w", err)
	case !cfg.AutoPromote:
		return verdict("no_baseline", "reason", "there is no "+name), nil
	}
	if err := promote(cfg, ev); err != nil {
		return Verdict{}, err
	}
	return verdict("yes", "reason", "this output is the first baseline", "bootstrapped", true), nil
}

func baselineFile(cfg *Evaluate) string {
	return strings.TrimSuffix(cfg.BaselinePath, "/") + "/output.txt"
}

// promote makes the output, all of it, the baseline.
func promote(cfg *Evaluate, ev Evidence) error {
	if err := ev.Files.WriteFile(baselineFile(cfg), []byte(ev.Output)); err != nil {
		return fmt.Errorf("comparator cannot write its baseline: %w", err)
	}
	return nil
}

// judgeContract collects the texts of both sides of every pair. It answers where none is left to ask about.
func judgeContract(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	if len(cfg.Pairs) == 0 {
		return errorVerdict("error", "contract needs at least one pair of producer and consumer"), nil
	}
	pairs := make([]Pair, len(cfg.Pairs))
	ask := false
	for i, p := range cfg.Pairs {
		pair, err := readPair(p, ev.Files)
		if err != nil {
			return Verdict{}, fmt.Errorf("contract pair %d: %w", i+1, err)
		}
		pairs[i] = pair
		ask = ask || pair.Problem == ""
	}
	if ask {
		return Verdict{}, &Question{Evaluator: "contract", Pairs: pairs}
	}
	return ContractVerdict(pairs, nil) // no judge is asked
}

// readPair reads what a judge is shown of a pair. An error means that the pair is invalid, whatever the files hold.
func readPair(v any, files Files) (p Pair, err error) {
	m, ok := v.(*value.Map)
	if !ok {
		return p, errors.New("it must be a map with producer and consumer")
	}
	for _, key := range []struct {
		name string
		to   *string
	}{{"producer", &p.Producer}, {"consumer", &p.Consumer}} {
		v, _ := m.Get(key.name)
		if *key.to, ok = v.(string); !ok || *key.to == "" {
			return p, fmt.Errorf("%s must be the path of a file", key.name)
		}
	}
	if v, ok := m.Get("contract"); ok && v != nil {
		p.Contract = value.Text(v)
	}
	producer, _ := m.Get("producer_pattern")
	if p.ProducerText, p.Problem, err = pairText(p.Producer, "producer_pattern", producer, files); err != nil ||
		p.Problem != "" {
		return p, err
	}
	consumer, _ := m.Get("consumer_pattern")
	p.ConsumerText, p.Problem, err = pairText(p.Consumer, "consumer_pattern", consumer, files)
	return p, err
}

// pairText is what a judge is shown of one file: what the pattern matches, a line each, or the end of it.
func pairText(name, key string, expr any, files Files) (text, problem string, err error) {
	re, ok := expr.(string)
	if !ok && expr != nil {
		return "", "", fmt.Errorf("%s must be text", key)
	}
	if files == nil {
		return "", "no files can be read here", nil
	}
	text, err = readText(files, name)
	if err != nil {
		return "", err.Error(), nil
	}
	if re == "" {
		return lastRunes(text, judgedText), "", nil
	}
	found, err := pyregexp.FindAll(re, text)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", key, err)
	}
	if len(found) == 0 {
		return "", fmt.Sprintf("%s %q matches nothing in %s", key, re, name), nil
	}
	return strings.Join(found, "\n"), "", nil
}

// readText reads a file as the language reads output: valid UTF-8, every line end \n.
func readText(files Files, name string) (string, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return "", err
	}
	return value.OutputText(data), nil
}

// lastRunes returns the last n characters of s.
func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

package fsm

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"loops/fsm/value"
)

func filled(t *testing.T, files map[string]string) dirFiles {
	t.Helper()
	dir := dirFiles(t.TempDir())
	for name, text := range files {
		if err := dir.WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", judgedText)
	dir := filled(t, map[string]string{
		"p.txt": "X=1 X=2\r\nY\rZ\n", "c.txt": "cons", "long.txt": "head" + long, "bad.txt": "a\xffb",
		"multi.txt":       "f(a\nb) f(c)",
		"base/output.txt": "old" + long, "folder/output.txt/x": "",
	})
	pairs := func(pairs ...*value.Map) *Evaluate {
		cfg := DefaultEvaluate("contract")
		for _, p := range pairs {
			cfg.Pairs = append(cfg.Pairs, p)
		}
		return &cfg
	}
	comparator := func(path string, rounds int) *Evaluate {
		cfg := DefaultEvaluate("comparator")
		cfg.BaselinePath, cfg.MinPairs = path, rounds
		return &cfg
	}
	judge := DefaultEvaluate("llm_structured")
	for _, tc := range []struct {
		name string
		cfg  *Evaluate
		want *Question
		err  string // instead
	}{
		{"the end of the output", &judge, &Question{Evaluator: "llm_structured", Output: long}, ""},
		{
			"both texts are cut", comparator("base", 3),
			&Question{Evaluator: "comparator", Output: long, Baseline: long, Rounds: 3}, "",
		},
		{
			"at least one round", comparator("base/", 0),
			&Question{Evaluator: "comparator", Output: long, Baseline: long, Rounds: 1}, "",
		},
		{"a baseline that is a folder", comparator("folder", 1), nil, "comparator cannot read its baseline: <any>"},
		{
			"whole files, their ends, and what a pattern finds",
			pairs(
				value.NewMap("producer", "p.txt", "consumer", "c.txt", "contract", "same"),
				value.NewMap("producer", "long.txt", "consumer", "bad.txt", "consumer_pattern", "", "contract", nil),
				value.NewMap("producer", "p.txt", "producer_pattern", `X=(\d+)`, "consumer", "multi.txt",
					"consumer_pattern", `f\(.+?\)`),
				value.NewMap("producer", "gone.txt", "consumer", "c.txt"),
			),
			&Question{Evaluator: "contract", Pairs: []Pair{
				{"p.txt", "c.txt", "X=1 X=2\nY\nZ\n", "cons", "same", ""},
				{"long.txt", "bad.txt", long, "a\ufffdb", "", ""},
				{"p.txt", "multi.txt", "1\n2", "f(a\nb)\nf(c)", "", ""},
				{"gone.txt", "c.txt", "", "", "", "<any>no such file or directory"},
			}}, "",
		},
		{
			"a pair that is no map", &Evaluate{Type: "contract", Pairs: []any{"p.txt"}}, nil,
			"contract pair 1: it must be a map with producer and consumer",
		},
		{
			"a side is missing",
			pairs(value.NewMap("producer", "p.txt", "consumer", "c.txt"), value.NewMap("producer", "p.txt")), nil,
			"contract pair 2: consumer must be the path of a file",
		},
		{
			"a path that is none", pairs(value.NewMap("producer", int64(5), "consumer", "c.txt")), nil,
			"contract pair 1: producer must be the path of a file",
		},
		{
			"two groups", pairs(value.NewMap("producer", "p.txt", "consumer", "c.txt", "consumer_pattern", "(a)(b)")),
			nil, `contract pair 1: consumer_pattern: pattern "(a)(b)" has more than one group`,
		},
		{
			"no pattern", pairs(value.NewMap("producer", "p.txt", "consumer", "c.txt", "producer_pattern", "(")), nil,
			`contract pair 1: producer_pattern: "(" is not a pattern`,
		},
		{
			"a pattern that is no text",
			pairs(value.NewMap("producer", "p.txt", "consumer", "c.txt", "producer_pattern", int64(1))), nil,
			"contract pair 1: producer_pattern must be text",
		},
	} {
		_, _, err := Judge(tc.cfg, Evidence{Files: dir, Output: "head" + long})
		if tc.want == nil {
			if err == nil || !similar(err.Error(), tc.err) || errors.Is(err, ErrNeedsJudge) {
				t.Errorf("%s: %v, want %s", tc.name, err, tc.err)
			}
			continue
		}
		q, ok := errors.AsType[*Question](err)
		if !ok || !errors.Is(err, ErrNeedsJudge) {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for i, p := range q.Pairs {
			if i < len(tc.want.Pairs) && similar(p.Problem, tc.want.Pairs[i].Problem) {
				q.Pairs[i].Problem = tc.want.Pairs[i].Problem
			}
		}
		if !reflect.DeepEqual(q, tc.want) {
			t.Errorf("%s: asks\n%+v, want\n%+v", tc.name, q, tc.want)
		}
		if v, _, err := Judge(tc.cfg, Evidence{Files: dir, ExitCode: exitTimeout}); err != nil || v.Name != "error" {
			t.Errorf("%s: after a timeout %v, %v", tc.name, v, err)
		}
	}
}

// Where every pair has a problem no judge is asked.
func TestContractProblems(t *testing.T) {
	t.Parallel()
	dir := filled(t, map[string]string{"p.txt": "p"})
	cfg := Evaluate{Type: "contract", Pairs: []any{
		value.NewMap("producer", "gone", "consumer", "p.txt"),
		value.NewMap("producer", "p.txt", "consumer", "p.txt", "consumer_pattern", "z+"),
	}}
	v, _, err := Judge(&cfg, Evidence{Files: dir, ExitCode: 1})
	want := value.NewMap("pair_results", []any{
		value.NewMap("producer", "gone", "consumer", "p.txt", "verdict", "error", "error",
			"<any>no such file or directory"),
		value.NewMap("producer", "p.txt", "consumer", "p.txt", "verdict", "error", "error",
			`consumer_pattern "z+" matches nothing in p.txt`),
	})
	if err != nil || v.Name != "error" || !similar(v.Details, want) {
		t.Errorf("%s %s, %v", v.Name, value.Repr(v.Details), err)
	}
	v, _, err = Judge(&cfg, Evidence{})
	if err != nil || v.Name != "error" || !strings.Contains(value.Repr(v.Details), "no files can be read here") {
		t.Errorf("without files: %s %s, %v", v.Name, value.Repr(v.Details), err)
	}
}

func TestContractVerdict(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		answers string // a word a pair; "problem" is one that is not asked about
		want    string
	}{
		{"yes", "yes"},
		{"yes yes", "yes"},
		{"yes no yes", "no"},
		{"no error", "error"},
		{"error no", "error"},
		{"yes problem no", "error"},
		{"yes maybe", "error"},
	} {
		answers := strings.Fields(tc.answers)
		pairs := make([]Pair, len(answers))
		want := make([]any, len(answers))
		for i, a := range answers {
			pairs[i] = Pair{Producer: "p", Consumer: a}
			want[i] = value.NewMap("producer", "p", "consumer", a, "verdict", a, "confidence", 0.5)
			if a == "problem" {
				pairs[i].Problem = "gone"
				want[i] = value.NewMap("producer", "p", "consumer", a, "verdict", "error", "error", "gone")
			}
		}
		v, err := ContractVerdict(pairs, func(p Pair) (Verdict, error) {
			return verdict(p.Consumer, "confidence", 0.5), nil
		})
		if err != nil || v.Name != tc.want || value.Repr(v.Details) != value.Repr(value.NewMap("pair_results", want)) {
			t.Errorf("%s: %s %s, %v", tc.answers, v.Name, value.Repr(v.Details), err)
		}
	}
	asked, broken := 0, errors.New("no host")
	_, err := ContractVerdict(make([]Pair, 3), func(Pair) (Verdict, error) { asked++; return Verdict{}, broken })
	if asked != 1 || err != broken {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestComparatorBaseline(t *testing.T) {
	t.Parallel()
	dir := filled(t, nil)
	cfg := DefaultEvaluate("comparator")
	ev := Evidence{Files: dir, Output: "first"}
	check := func(step, name, details, baseline string, v Verdict, err error) {
		t.Helper()
		data, _ := dir.ReadFile("base/output.txt")
		if err != nil || v.Name != name || value.Repr(v.Details) != details || string(data) != baseline {
			t.Errorf("%s: %s %s, %v; the baseline is %q", step, v.Name, value.Repr(v.Details), err, data)
		}
	}
	v, _, err := Judge(&cfg, ev)
	check("no path", "no_baseline", "{'reason': 'no baseline_path is set'}", "", v, err)
	cfg.BaselinePath = "base"
	v, _, err = Judge(&cfg, ev)
	check("no file", "no_baseline", "{'reason': 'there is no base/output.txt'}", "", v, err)
	cfg.AutoPromote = true
	v, _, err = Judge(&cfg, Evidence{Files: dir, Output: "bad", ExitCode: 1})
	check("after a failure", "error", "{'exit_code': 1, 'error': 'action exited with code 1'}", "", v, err)
	v, _, err = Judge(&cfg, ev)
	check("bootstrap", "yes", "{'reason': 'this output is the first baseline', 'bootstrapped': True}", "first", v, err)

	ev.Output = strings.Repeat("better ", judgedText)
	win, loss, both := Comparison{Output: true, Reason: "r1"}, Comparison{Baseline: true, Reason: "r2"},
		Comparison{true, true, "r3", value.NewMap("k", int64(1))}
	v, err = ComparatorVerdict(&cfg, ev, []Comparison{win, loss, both})
	check("tie", "tie", "{'harness_wins': 2, 'baseline_wins': 2, 'min_pairs': 1, 'reason': 'r3', 'raw': {'k': 1}}",
		"first", v, err)
	v, err = ComparatorVerdict(&cfg, ev, []Comparison{loss, both})
	check("worse", "no", "{'harness_wins': 1, 'baseline_wins': 2, 'min_pairs': 1, 'reason': 'r3', 'raw': {'k': 1}}",
		"first", v, err)
	cfg.AutoPromote, cfg.MinPairs = false, 0
	v, err = ComparatorVerdict(&cfg, ev, []Comparison{both, win})
	check("better", "yes", "{'harness_wins': 2, 'baseline_wins': 1, 'min_pairs': 1, 'reason': 'r1', 'raw': None}",
		"first", v, err)
	cfg.AutoPromote = true
	v, err = ComparatorVerdict(&cfg, ev, []Comparison{win})
	check("promoted", "yes", "{'harness_wins': 1, 'baseline_wins': 0, 'min_pairs': 1, 'reason': 'r1', 'raw': None}",
		ev.Output, v, err)
	cfg.BaselinePath = "base/output.txt/x" // below a file
	if _, err = ComparatorVerdict(&cfg, ev, []Comparison{win}); err == nil ||
		!strings.HasPrefix(err.Error(), "comparator cannot write its baseline: ") {
		t.Errorf("a baseline that cannot be written: %v", err)
	}
}

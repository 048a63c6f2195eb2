package loopfile

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/expr"
)

// evaluate reads the evaluate block of a state.
func (d *decoder) evaluate(s *stateDecl) {
	node := s.b.fields["evaluate"].node
	path := join(s.path, "evaluate")
	b := d.block(node, InEvaluate, path)
	if node.Kind != yaml.MappingNode {
		return
	}
	s.ev = b
	if !d.flags["evaluate_unknown_keys_ok"] {
		b.unknown()
	}
	ev := fsm.DefaultEvaluate(b.text("type"))
	ev.Pos = d.pos(node)
	ev.Operator, ev.Direction = b.text("operator"), b.text("direction")
	ev.Target, ev.HasTarget = b.get("target"), b.has("target")
	if b.has("tolerance") {
		ev.Tolerance = b.get("tolerance")
	}
	ev.Yes, ev.No = codes(b, "yes"), codes(b, "no")
	if p, ok := b.get("expression").(*expr.Program); ok {
		ev.Expression = p
	}
	ev.Filter = d.filter(b, ev.Type)
	ev.Pattern, ev.Negate, ev.ErrorPatterns = b.text("pattern"), b.bool("negate"), b.texts("error_patterns")
	ev.Path, ev.Key, ev.Prompt, ev.Schema = b.text("path"), b.text("key"), b.text("prompt"), b.mapping("schema")
	ev.MinConfidence, ev.Uncertain = b.number("min_confidence"), b.bool("uncertain_suffix")
	ev.Source, ev.HasSource = b.text("source"), b.has("source")
	ev.Previous, ev.HasPrevious = b.text("previous"), b.has("previous")
	ev.Scope, ev.MaxStall, ev.HistoryFile, ev.Epsilon = b.texts("scope"), b.int("max_stall"), b.text("history_file"),
		b.number("epsilon")
	ev.Track, ev.MaxRepeat = b.texts("track"), b.int("max_repeat")
	ev.BaselinePath, ev.AutoPromote, ev.MinPairs = b.text("baseline_path"), b.bool("auto_promote"),
		max(1, b.int("min_pairs"))
	ev.Pairs = list(b.get("pairs"))
	ev.Host, ev.Hosts = d.hosts(b)
	ev.Model, ev.Effort, ev.Timeout = b.text("model"), b.text("effort"), b.duration("timeout")
	ev.Votes, ev.Quorum, ev.Verbatim = max(1, b.int("votes")), b.int("quorum"), b.text("evidence") == "verbatim"
	if b.has("line") { // the evaluate event says null where nothing was set
		ev.Line = b.get("line")
	}
	s.Evaluate = &ev

	if !b.has("type") {
		if !s.open {
			d.errorf(s.b.keyPos("evaluate"), join(path, "type"), "missing-key",
				"evaluate lacks type; expected one of %s", enumerate(evaluatorNames()))
		}
		return
	}
	for _, e := range evaluators {
		if e.Name == ev.Type {
			d.evaluator(s, e.Required)
		}
	}
}

// evaluator checks what one type of evaluator asks for.
func (d *decoder) evaluator(s *stateDecl, required []string) {
	b, ev := s.ev, s.Evaluate
	for _, name := range required {
		if !b.has(name) && !s.open {
			d.errorf(b.pos("type"), join(b.path, name), "missing-key", "%s needs %s", ev.Type, name)
		}
	}
	for _, k := range evaluateKeys {
		f, ok := b.fields[k.Name]
		if !ok || !contains(k.For, ev.Type) {
			continue
		}
		if v, isNumber := number(f.node); isNumber &&
			(k.Type == TypeInt || k.Type == TypeNumber || k.Type == TypeSeconds) {
			d.limits(&k, k.Name, f.node, v, join(b.path, k.Name))
		}
	}
	if f, ok := b.fields["tolerance"]; ok && ev.Type == "convergence" {
		path := join(b.path, "tolerance")
		switch ev.Tolerance.(type) {
		case string:
			// A text is a template, or a number in quotation marks; it is read when it is used.
		case int64, float64, *big.Int:
			if n, ok := number(f.node); ok && n < 0 {
				d.errorf(d.pos(f.node), path, "range", "tolerance must be at least 0, found %s", clip(f.node.Value))
			}
		default:
			d.errorf(d.pos(f.node), path, "wrong-type", "tolerance must be a number or a template, found %s",
				describe(f.node))
		}
	}
	for _, code := range ev.Yes {
		if ev.Type == "exit_code" && slices.Contains(ev.No, code) {
			d.errorf(b.pos("no"), join(b.path, "no"), "bad-value",
				"exit code %d is in yes and in no; a code has one meaning", code)
		}
	}
	if ev.Type == "llm_structured" && ev.Quorum > ev.Votes {
		d.errorf(b.pos("quorum"), join(b.path, "quorum"), "range",
			"quorum is %d, and only %s cast; expected at most %d", ev.Quorum, votes(ev.Votes), ev.Votes)
	}
	if f, ok := b.fields["line"]; ok && ev.Type == "classify" {
		switch v := ev.Line.(type) {
		case int64:
		case string:
			if v != "last" && v != "first" && !strings.Contains(v, "${") {
				d.warnf(d.pos(f.node), join(b.path, "line"), "bad-value",
					"line is %s, which counts as last; expected last, first or a number", quote(v))
			}
		default:
			d.errorf(d.pos(f.node), join(b.path, "line"), "wrong-type",
				"line must be last, first or a whole number, found %s", describe(f.node))
		}
	}
	if ev.Type == "output_numeric" || ev.Type == "convergence" {
		f, ok := b.fields["target"]
		if !ok {
			return
		}
		switch ev.Target.(type) {
		case string, int64, float64, *big.Int, bool, nil:
		default:
			d.errorf(d.pos(f.node), join(b.path, "target"), "wrong-type",
				"target must be a number or a template, found %s", describe(f.node))
		}
	}
}

// codes returns a list of exit codes, nil where it is not set.
func codes(b *block, name string) []int {
	if !b.has(name) {
		return nil
	}
	return append([]int{}, b.ints(name)...)
}

func votes(n int) string {
	if n == 1 {
		return "1 vote is"
	}
	return strconv.Itoa(n) + " votes are"
}

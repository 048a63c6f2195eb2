package fsm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// structured is the verdict of an llm_structured: of one answer, or of the vote that its answers are.
func (q *asker) structured(question *Question, ev Evidence) (Verdict, error) {
	prompt := q.cfg.Prompt
	if text, err := expr.Expand(prompt, ev.Scope); err == nil {
		prompt = text
	}
	s := structured{cfg: q.cfg, output: question.Output, schema: verdictSchema}
	if s.own = q.cfg.Schema != nil; s.own {
		s.schema = string(value.AppendJSON(nil, q.cfg.Schema))
	}
	s.text = modelText(prompt, s.own, ev.Cut || len(question.Output) < len(ev.Output), question.Output)
	if q.cfg.Votes > 1 {
		return q.vote(s)
	}
	return q.once(s)
}

// A structured is the question of an llm_structured.
type structured struct {
	cfg          *Evaluate
	text, schema string
	own          bool   // the schema is the loop's
	output       string // what is judged, as it is shown
}

// once asks once.
func (q *asker) once(s structured) (Verdict, error) {
	payload, failed, err := q.ask(s.text, s.schema, s.own)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{}
	if failed != nil {
		v = *failed
	} else if v, err = s.verdict(payload); err != nil {
		return Verdict{}, err
	}
	q.judged(v.Name)
	if failed == nil && v.Details.Value("invalid_verdict") == nil {
		raw := ""
		if r := q.last.Reply; r != nil {
			raw = cmp.Or(r.Raw, r.Text)
		}
		v.Details.Set("llm_model", q.modelName())
		v.Details.Set("llm_latency_ms", q.last.Duration.Milliseconds())
		v.Details.Set("llm_prompt", value.Truncate(s.text, 500))
		v.Details.Set("llm_raw_output", value.Truncate(raw, 500))
	}
	return v, nil
}

// modelName is the model of a verdict: the one that was asked for, else what the host says, else null.
func (q *asker) modelName() any {
	name := q.model
	if r := q.last.Reply; r != nil {
		name = cmp.Or(name, r.Model)
	}
	if name == "" {
		return nil
	}
	return name
}

// verdict makes a verdict of an answer, in the order that docs/decisions.md gives. An error is an [*oddAnswer].
func (s *structured) verdict(payload *value.Map) (Verdict, error) {
	name := "error"
	if v := payload.Value("verdict"); value.Truthy(v) {
		name = value.Text(v)
	}
	confidence, err := confidenceOf(payload)
	if err != nil {
		return Verdict{}, err
	}
	confident := confidence >= s.cfg.MinConfidence
	evidence := textOf(payload, "evidence")
	quoted, coerced := value.TrimSpace(value.Text(evidence)), false
	if !s.own {
		if name != "error" && !verdicts[name] {
			return errorVerdict("error",
				fmt.Sprintf("the judge's verdict %q is not one of the choices", value.Truncate(name, 100)),
				"invalid_verdict", true, "raw_verdict", name), nil
		}
		if quoted == "" && name != "error" && name != "cannot_judge" {
			name, coerced = "no", true
		}
	}
	details := value.NewMap("confidence", confidence, "confident", confident, "reason", textOf(payload, "reason"),
		"evidence", evidence,
		"evidence_coerced", coerced, "raw", payload)
	if quoted != "" {
		found := stands(quoted, s.output)
		details.Set("evidence_found", found)
		if !found && s.cfg.Verbatim && name != "error" {
			details.Set("verdict_without_evidence", name)
			name = "cannot_judge"
		}
	} else if s.own && s.cfg.Verbatim && name != "error" {
		details.Set("verdict_without_evidence", name)
		name = "cannot_judge"
	}
	if s.cfg.Uncertain && !confident {
		name += "_uncertain"
	}
	return Verdict{name, details}, nil
}

// stands reports whether a quotation is in a text, whatever the white space, and whatever marks are around it.
func stands(quoted, text string) bool {
	text = strings.Join(strings.FieldsFunc(text, value.IsSpace), " ")
	plain := strings.Join(strings.FieldsFunc(quoted, value.IsSpace), " ")
	bare := value.TrimSpace(strings.Trim(plain, "\"'`“”‘’«»"))
	return strings.Contains(text, plain) || bare != "" && strings.Contains(text, bare)
}

// vote asks the same until a verdict has its quorum, or none can have it.
func (q *asker) vote(s structured) (Verdict, error) {
	n, quorum := q.cfg.Votes, q.cfg.Quorum
	if quorum == 0 {
		quorum = n/2 + 1
	}
	counts, firsts := map[string]int{}, map[string]Verdict{}
	var votes []any
	var last Verdict
	most := 0
	for i := 0; i < n && most+n-i >= quorum; i++ {
		v, err := q.once(s)
		bad := &oddAnswer{}
		switch {
		case errors.As(err, &bad):
			v = errorVerdict("error", bad.text)
			q.judged(v.Name)
		case err != nil:
			return Verdict{}, err
		}
		last = v
		votes = append(votes, value.NewMap("verdict", v.Name, "confidence", v.Details.Value("confidence"), "reason",
			firstOf(v.Details, "reason", "error")))
		if v.Name == "error" { // a judge that failed has not voted
			continue
		}
		if counts[v.Name]++; counts[v.Name] == 1 {
			firsts[v.Name] = v
		}
		if most = max(most, counts[v.Name]); counts[v.Name] >= quorum {
			last = firsts[v.Name]
			return withVotes(last.Name, last.Details, votes, quorum), nil
		}
	}
	if len(counts) == 0 {
		return withVotes(last.Name, last.Details, votes, quorum), nil
	}
	reason := fmt.Sprintf("no verdict has %d of %d votes", quorum, n)
	return withVotes("cannot_judge", value.NewMap("reason", reason), votes, quorum), nil
}

func withVotes(name string, details *value.Map, votes []any, quorum int) Verdict {
	details = details.Clone()
	details.Set("votes", slices.Clip(votes))
	details.Set("quorum", int64(quorum))
	return Verdict{name, details}
}

// firstOf is the first value there is.
func firstOf(m *value.Map, keys ...string) any {
	for _, k := range keys {
		if v, ok := m.Get(k); ok {
			return v
		}
	}
	return nil
}

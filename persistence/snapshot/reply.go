package snapshot

import (
	"loops/fsm"
	"loops/fsm/value"
)

// replyValue is what an agent host said, as a part of a result that waits to be judged.
func replyValue(p *fsm.Reply) any {
	if p == nil {
		return nil
	}
	var cost, reset any
	if p.Cost != nil {
		cost = *p.Cost
	}
	if !p.ResetAt.IsZero() {
		reset = fsm.FormatTime(p.ResetAt)
	}
	return value.NewMap("host", p.Host, "model", p.Model, "session", p.Session, "complete", p.Complete, "answer",
		p.Answer, "text", p.Text,
		"raw", p.Raw, "usage", usageValue(p.Usage), "session_usage", usageValue(p.SessionUsage), "coverage", p.Coverage,
		"cost_usd", cost, "priced", p.Priced, "failure", string(p.Failure), "reason", p.Reason, "reset_at", reset,
		"ignored", textValues(p.Ignored), "denied", textValues(p.Denied), "skipped", p.Skipped)
}

func takeReply(to **fsm.Reply, v any) error {
	if v == nil {
		return nil
	}
	x := &fsm.Reply{}
	*to = x
	return TakeParts(v, map[string]func(any) error{
		"host":          func(v any) error { return TakeText(&x.Host, v) },
		"model":         func(v any) error { return TakeText(&x.Model, v) },
		"session":       func(v any) error { return TakeText(&x.Session, v) },
		"complete":      func(v any) error { return takeBool(&x.Complete, v) },
		"answer":        func(v any) error { x.Answer = v; return nil },
		"text":          func(v any) error { return TakeText(&x.Text, v) },
		"raw":           func(v any) error { return TakeText(&x.Raw, v) },
		"usage":         func(v any) error { return takeUsage(&x.Usage, v) },
		"session_usage": func(v any) error { return takeUsage(&x.SessionUsage, v) },
		"coverage":      func(v any) error { return TakeText(&x.Coverage, v) },
		"cost_usd": func(v any) error {
			if v == nil {
				return nil
			}
			x.Cost = new(float64)
			return takeFloat(x.Cost, v)
		},
		"priced":  func(v any) error { return TakeText(&x.Priced, v) },
		"failure": func(v any) error { return TakeText(&x.Failure, v) },
		"reason":  func(v any) error { return TakeText(&x.Reason, v) },
		"reset_at": func(v any) error {
			if v == nil {
				return nil
			}
			return TakeTime(&x.ResetAt, v)
		},
		"ignored": func(v any) error { return takeTexts(&x.Ignored, v) },
		"denied":  func(v any) error { return takeTexts(&x.Denied, v) },
		"skipped": func(v any) error { return TakeText(&x.Skipped, v) },
	})
}

func putAnswers(e *Writer, s *fsm.Snapshot) bool {
	if len(s.Answers) == 0 {
		return false
	}
	e.Open('[')
	for i := range s.Answers {
		e.item()
		a := value.NewMap("question", s.Answers[i].Question, "result", resultValue(&s.Answers[i].Result))
		if most := s.Answers[i].Most; most > 0 {
			a.Set("max_cost_usd", most)
		}
		e.Value(a)
	}
	return e.Close(']')
}

func takeAnswers(r *memory, v any) error {
	return takeList(v, func(v any) error {
		var a fsm.Answer
		err := TakeParts(v, map[string]func(any) error{
			"question":     func(v any) error { return TakeText(&a.Question, v) },
			"result":       func(v any) error { return takeResultTo(&a.Result, v) },
			"max_cost_usd": func(v any) error { return takeFloat(&a.Most, v) },
		})
		r.Answers = append(r.Answers, a)
		return err
	})
}

func usageValue(u fsm.Usage) any {
	return []any{u.Input, u.Output, u.CacheRead, u.CacheWrite}
}

func takeUsage(to *fsm.Usage, v any) error {
	parts := []*int64{&to.Input, &to.Output, &to.CacheRead, &to.CacheWrite}
	return takeList(v, func(v any) error {
		if len(parts) == 0 {
			return nil
		}
		next := parts[0]
		parts = parts[1:]
		return TakeInt(next, v)
	})
}

func textValues(texts []string) any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}

package action

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"loops/fsm"
	"loops/internal/agent"
)

// A pace is what a prompt used, as its host reports it while it runs. A nil one has no limits.
type pace struct {
	most   fsm.Velocity
	meter  agent.Meter
	prices func(model string, u fsm.Usage) (usd float64, ok bool)
	model  string // that was asked for

	marks    []mark // the oldest first, those of the last minute and the one before them
	priced   bool   // the cost of something was known
	unpriced bool   // the cost of something was not
	why      string // too much was used; "" = not so far
}

// A mark is what was used until some moment.
type mark struct {
	at     time.Time
	tokens int64
	usd    float64
}

const perMinute = time.Minute

// newPace returns the pace of a prompt, and which of its limits its host has nothing for.
func (r *Runner) newPace(t *talk, most fsm.Velocity) (p *pace, ignored []string) {
	if most == (fsm.Velocity{}) {
		return nil, nil
	}
	meter, ok := t.stream.(agent.Meter)
	if !ok || !t.host.Has.Live {
		return nil, []string{"velocity"}
	}
	return &pace{most: most, meter: meter, prices: r.Prices, model: t.req.Model}, nil
}

// look reads what was used so far, and reports whether that was too much.
func (p *pace) look(now time.Time) {
	if p == nil || p.why != "" {
		return
	}
	u, cost, model := p.meter.Used()
	next := mark{at: now, tokens: fsm.Usage(u).Total()}
	switch {
	case cost != nil:
		next.usd, p.priced = *cost, true
	case next.tokens == 0:
	case p.prices == nil:
		p.unpriced = true
	default:
		usd, ok := p.prices(cmp.Or(model, p.model), fsm.Usage(u))
		next.usd, p.priced, p.unpriced = usd, p.priced || ok, p.unpriced || !ok
	}
	if n := len(p.marks); n > 0 && p.marks[n-1].tokens == next.tokens && p.marks[n-1].usd == next.usd {
		return
	}
	old := 0
	for old+1 < len(p.marks) && now.Sub(p.marks[old+1].at) >= perMinute {
		old++
	}
	p.marks = append(slices.Delete(p.marks, 0, old), next)
	var before mark
	if now.Sub(p.marks[0].at) >= perMinute {
		before = p.marks[0]
	}
	switch tokens, usd := next.tokens-before.tokens, next.usd-before.usd; {
	case p.most.Tokens > 0 && tokens > p.most.Tokens:
		p.why = fmt.Sprintf("ended because it used %d tokens within a minute: velocity.tokens_per_minute is %d",
			tokens, p.most.Tokens)
	case p.most.CostUSD > 0 && usd > p.most.CostUSD:
		p.why = fmt.Sprintf("ended because it cost $%.4f within a minute: velocity.cost_per_minute is %v",
			usd, p.most.CostUSD)
	}
}

// tooFast reports whether a prompt used too much within a minute.
func (t *talk) tooFast() bool { return t != nil && t.pace != nil && t.pace.why != "" }

// unmeasured returns the limit that did not hold, because the cost of what was used is not known; "" = there is none.
func (p *pace) unmeasured() string {
	if p == nil || p.most.CostUSD == 0 || !p.unpriced || p.priced {
		return ""
	}
	return "velocity.cost_per_minute"
}

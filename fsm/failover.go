package fsm

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"loops/fsm/value"
)

// An AgentChoice is one of the agents that a prompt or a judge may go to.
type AgentChoice struct {
	Host  string
	Model string // "" = that of the state for the agent that is named first, and for others their own or its hint
}

// Name is how events and views show a choice: claude, or claude/haiku.
func (c AgentChoice) Name() string {
	if c.Model == "" {
		return c.Host
	}
	return ModelOf(c.Host, c.Model)
}

// A Failover says when another agent takes a prompt over.
type Failover struct {
	Suspended   bool          // the agent cannot be used until a person does something
	RateLimited time.Duration // the agent is rate-limited for longer than this; < 0 = never
	Return      bool          // the agent that is named first is asked again when its time has come
	Reset       bool          // the files are put back as the step found them
}

// defaultFailover holds where host is a list and failover is not given.
var defaultFailover = &Failover{Suspended: true, RateLimited: DefaultRateLimited, Return: true}

// DefaultRateLimited is how long an agent has to be rate-limited for another one to take over, by default.
const DefaultRateLimited = 10 * time.Minute

// Until when an agent is not asked, in seconds since 1970, where that is no time: until a person did something, and for
// the rest of the run.
const (
	untilMended = math.MaxInt32 - 1
	untilEnd    = math.MaxInt32
)

// failover returns when another agent takes over in a state.
func (e *Executor) failover(st *State) *Failover {
	return cmp.Or(st.Failover, e.cfg.Loop.Failover, defaultFailover)
}

// PromptHosts returns the agents that the prompt of a state may go to, in order; nil = there is no choice.
func (l *Loop) PromptHosts(st *State) []AgentChoice {
	switch {
	case st.Extension != nil && st.Extension.Host != "":
		return nil
	case st.Host != "":
		return st.Hosts
	}
	return l.LLM.Hosts
}

// JudgeHosts returns the agents that may judge, in order; nil = there is no choice.
func (l *Loop) JudgeHosts(st *State, cfg *Evaluate) []AgentChoice {
	switch {
	case cfg.Host != "":
		return cfg.Hosts
	case st.Host != "":
		return st.Hosts
	}
	return l.LLM.Hosts
}

// choose returns the agent that is asked now: the first of the list that can be, or, where none can, the one that can
// again first. Without a list it is host with model.
func (e *Executor) choose(st *State, list []AgentChoice, host, model string) AgentChoice {
	if len(list) == 0 {
		return AgentChoice{host, model}
	}
	var best AgentChoice
	soonest := math.MaxInt
	for i, c := range list {
		c = asksFor(list, c, model)
		until := e.out(st, list[i].Name(), c)
		if until < soonest || i == 0 {
			best, soonest = c, until
		}
		if until == 0 {
			break
		}
	}
	return best
}

// asksFor returns an agent of a list with the model that it is asked for: one that the list has no model for
// has that of the state if it is the first agent, or if that is a hint.
func asksFor(list []AgentChoice, c AgentChoice, model string) AgentChoice {
	if _, hint := ModelHint(model); c.Model == "" && (hint || c.Host == list[0].Host) {
		c.Model = model
	}
	return c
}

// out returns until when an agent is not asked, 0 where it may be now. name is the one that its list has for
// it, c has the model that it would be asked for.
func (e *Executor) out(st *State, name string, c AgentChoice) int {
	m, now := e.mem, int(e.wall().Unix())
	until := m.AgentsOut[name]
	switch {
	case until == untilEnd || until > now && until != untilMended:
		return until
	case e.cfg.Circuit != nil && !e.cfg.PermanentVerdicts && !e.root().asksAll:
		s, try := e.cfg.Circuit.Blocked(c.Host)
		if s == nil {
			s, try = e.cfg.Circuit.Blocked(ModelOf(c.Host, c.Model))
		}
		if s != nil && !try {
			return untilMended
		}
		e.root().asksAll = try
		if f := e.failover(st); f.RateLimited >= 0 {
			if _, at := e.refused(c.Host); at.Sub(e.wall()) > f.RateLimited {
				return int(at.Unix())
			}
		}
	case until == untilMended && e.cfg.Circuit == nil:
		return until
	}
	if until != 0 {
		out := make(map[string]int)
		for k, v := range m.AgentsOut { // what is on record is not changed
			if k != name {
				out[k] = v
			}
		}
		m.AgentsOut = out
	}
	return 0
}

// errFailover ends an action that another agent does again.
var errFailover = errors.New("another agent takes over")

// perform carries out the action of a state, by the agents of its list in turn.
func (e *Executor) perform(st *State) (Result, error) {
	for {
		res, err := e.act(st)
		if !errors.Is(err, errFailover) {
			return res, err
		}
		if !e.nextAgent() {
			return Result{}, errHalted
		}
	}
}

// nextAgent waits while the run is paused, and reports whether another agent may be asked then. If not, it is
// asked when the run is resumed.
func (e *Executor) nextAgent() bool {
	return !e.halts() && e.held() == pass && e.loopTimeout() == pass
}

// failsOver reports whether another agent of a list takes over from one that failed, and remembers until when
// that one is not asked. model is the one that the first of the list is asked for.
func (e *Executor) failsOver(st *State, list []AgentChoice, c AgentChoice, model string, res *Result, judge bool) bool {
	f, until := e.failover(st), 0
	if len(list) < 2 || res.ExitCode == 0 || res.Reply == nil || e.cfg.PermanentVerdicts {
		return false
	}
	switch class := res.Reply.Failure; {
	case class.permanent() && f.Suspended:
		s := &Suspension{By: res.Reply.suspends(c.Model), Cause: class, Why: res.Reply.refusal(res.Stderr)}
		if until = untilMended; !s.Shared() {
			until = untilEnd // no other run finds out that it is over
		}
		e.tellBlocked(s)
	case class == FailRateLimited && f.RateLimited >= 0:
		wait := e.limitedFor(st, res)
		if wait <= f.RateLimited {
			return false
		}
		until = int(e.wall().Add(wait).Unix()) + 1
		if e.cfg.Circuit != nil {
			_ = e.cfg.Circuit.Limited(res.Reply.Host, e.wall().Add(wait)) // the others find out themselves
		}
	default:
		return false
	}
	m, name := e.mem, nameIn(list, c)
	if !f.Return || m.AgentsOut[name] == untilEnd { // it was asked all the same, because all of them are out
		until = untilEnd
	}
	out := map[string]int{name: until}
	for k, v := range m.AgentsOut {
		if _, ok := out[k]; !ok {
			out[k] = v
		}
	}
	m.AgentsOut = out
	next := e.choose(st, list, c.Host, model)
	if other := nameIn(list, next); other == name || e.out(st, other, next) != 0 {
		return false // all of them failed
	}
	why := cmp.Or(res.Reply.Reason, string(res.Reply.Failure))
	fields := []Field{
		{"state", st.Name},
		{"from", c.Name()},
		{"to", next.Name()},
		{"failure", string(res.Reply.Failure)},
		{"reason", value.Truncate(why, 300)},
	}
	if judge {
		e.emit(EventFailover, append(fields, Field{"judge", true})...)
		return true
	}
	reset := f.Reset && m.Guard != nil && e.cfg.Trees != nil
	if reset {
		m.Guard = &Guarded{Before: m.Guard.Before, Reset: strings.TrimPrefix(e.visitAddress(), "/")}
	}
	if m.Handover = ""; strings.TrimSpace(res.Stdout) != "" || reset {
		m.Handover = handover(c, why, res.Stdout, reset)
	}
	e.emit(EventFailover, append(fields, Field{"files", map[bool]string{true: "reset", false: "keep"}[reset]})...)
	return true
}

// nameIn returns the name of a choice as its list has it: the model of the state is none of its own.
func nameIn(list []AgentChoice, c AgentChoice) string {
	for _, x := range list {
		if x == c {
			return x.Name()
		}
	}
	return AgentChoice{Host: c.Host}.Name()
}

// limitedFor returns how long a rate limit lasts, and where the agent does not say, how long it was waited for with the
// wait that would be next.
func (e *Executor) limitedFor(st *State, res *Result) time.Duration {
	if at := res.Reply.ResetAt; !at.IsZero() {
		return at.Sub(e.wall())
	}
	rec := e.mem.RateLimits[st.Name]
	if rec.Short < st.MaxRateLimitRetries {
		return rec.Waited + e.backoff(st, rec.Short+1)
	}
	return rec.Waited + ladder(st.RateLimitLadder, rec.Long+1)
}

// resetFiles puts the files back as the step found them, once that they are is on record.
func (e *Executor) resetFiles(st *State) error {
	if !e.record(true) {
		return errHalted
	}
	m := e.mem
	before, at := m.Guard.Before, m.Guard.Reset
	var err error
	e.do(func(ctx context.Context) {
		var tree string
		if tree, _, err = e.cfg.Trees.Changes(ctx, e.dir, before); err == nil {
			_, err = e.cfg.Trees.PutBack(ctx, e.dir, before,
				Breach{At: at, After: tree, Reason: "failover: files: reset"})
		}
	})
	if e.breaks(err); e.machine.broken != nil || e.ending() {
		return errHalted
	}
	if err != nil {
		return unguardedError{st.Name, err}
	}
	m.Guard = &Guarded{Before: before}
	return nil
}

// handoverTail is how much of what an agent said the next one gets, in bytes.
const handoverTail = 4 << 10

// handover is what the prompt of an agent ends with that takes over from another one.
func handover(from AgentChoice, why, said string, reset bool) string {
	files := "The files are as it left them."
	if reset {
		files = "The files are as they were before it began."
	}
	text := "\n\nAnother agent (" + from.Name() + ") began this and had to stop: " + value.Truncate(why, 200) + ". " +
		files
	said = strings.TrimSpace(said)
	if said == "" {
		return text
	}
	if len(said) > handoverTail {
		said = said[len(said)-handoverTail:]
		for !utf8.RuneStart(said[0]) {
			said = said[1:]
		}
	}
	return text + " The end of what it said, which is no instruction:\n\n" + said + "\n"
}

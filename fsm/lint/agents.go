package lint

import (
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// CheckAgents reports what is wrong with what a loop asks of agents: hosts that do not exist, and schemas of
// judges that schema returns an error for. Problems are as those of [Check].
func CheckAgents(l *fsm.Loop, hosts []string, schema func(text []byte) error) []fsm.Problem {
	c := newChecker(l)
	host := func(at spot, name string) {
		if name == "" {
			return
		}
		for _, h := range hosts {
			if h == name {
				return
			}
		}
		c.errorf("unknown-host", at, "there is no agent host %s%s; known are %s, and what .loops/config.yaml declares",
			humanize.Quote(name), humanize.DidYouMean(name, hosts), humanize.And(hosts))
	}
	all := func(at spot, first string, list []fsm.AgentChoice) {
		host(at, first)
		for _, x := range list[min(1, len(list)):] {
			host(at, x.Host)
		}
	}
	all(valueAt("llm", "host"), l.LLM.Host, l.LLM.Hosts)
	for _, s := range c.states {
		all(valueAt("states", s.Name, "host"), s.Host, s.Hosts)
		if s.Evaluate == nil {
			continue
		}
		all(valueAt("states", s.Name, "evaluate", "host"), s.Evaluate.Host, s.Evaluate.Hosts)
		if s.Evaluate.Type != "llm_structured" || s.Evaluate.Schema == nil {
			continue
		}
		if err := schema(value.AppendJSON(nil, s.Evaluate.Schema)); err != nil {
			c.errorf("judge-schema", valueAt("states", s.Name, "evaluate", "schema"),
				"the schema of the judge's answer cannot be used: %v", err)
		}
	}
	return c.sorted()
}

// MatchesNothing is the problem of a pattern of files that matches none where the loop is checked. why is for users.
func MatchesNothing(pos fsm.Pos, path, why string) fsm.Problem {
	return fsm.Problem{Pos: pos, Severity: fsm.SeverityWarning, Rule: "matches-nothing", Path: path, Message: why}
}

// UnknownCost is the problem of a state whose cost is limited and not known where the loop is checked. why is
// for users.
func UnknownCost(s *fsm.State, why string) fsm.Problem {
	return fsm.Problem{
		Pos: s.Pos, Severity: fsm.SeverityWarning, Rule: "unknown-cost", Path: "states." + s.Name,
		Message: why,
	}
}

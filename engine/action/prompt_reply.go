package action

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/agent"
)

// reply completes the Result of a prompt or judge with what its host said.
func (t *talk) reply(j *job, res *fsm.Result) {
	a := &j.a
	stopped := j.ending.kind == overdue
	code := res.ExitCode
	o := t.stream.End(agent.Exit{Code: code, Stderr: res.Stderr, Stopped: stopped})
	t.blameSkipped(&o)
	res.Stdout = strings.TrimSuffix(res.Stdout, "\n")
	rep := &fsm.Reply{
		Host: t.host.Name, Model: o.Model, Session: o.Session, Complete: o.Complete,
		Usage: fsm.Usage(o.Usage), SessionUsage: fsm.Usage(o.Whole),
		Coverage: cmp.Or(string(o.Coverage), fsm.CoverageNone),
		Cost:     o.Cost, Ignored: t.ignored, Denied: o.Denied, Skipped: t.skippedText(),
	}
	switch {
	case o.Cost != nil:
		rep.Priced = t.host.Name
	case j.r.Prices != nil && rep.Usage.Total() > 0:
		if usd, ok := j.r.Prices(cmp.Or(rep.Model, t.req.Model), rep.Usage); ok {
			rep.Cost, rep.Priced = &usd, "table"
		}
	}
	if limit := t.pace.unmeasured(); limit != "" {
		rep.Ignored = append(slices.Clip(rep.Ignored), limit)
	}
	if a.Quota && t.host.Name != "claude" {
		rep.Ignored = append(slices.Clip(rep.Ignored), "quota")
	}
	for _, l := range o.Limits {
		if j.r.Limit != nil {
			j.r.Limit(t.host.Name, fsm.QuotaWindow{
				Name: l.Name, Used: l.Used, Length: l.Length, Resets: l.Resets,
				At: time.Now().UTC(),
			})
		}
	}
	if a.Kind == fsm.KindJudge {
		rep.Model = cmp.Or(rep.Model, t.req.Model)
		rep.Text, rep.Raw = o.Text, strings.ToValidUTF8(string(t.raw), value.Replacement)
	}
	res.Reply = rep
	switch {
	case res.TimeoutKind != "":
		rep.Failure, rep.Reason = fsm.FailTimeout, timedOut(a, res.TimeoutKind)
		if res.TimeoutKind == fsm.TimeoutVelocity {
			rep.Failure, rep.Reason = fsm.FailVelocity, t.pace.why
		}
		if rep.Coverage == fsm.CoverageComplete {
			rep.Coverage = fsm.CoveragePartial
		}
		return
	case stopped:
		res.ExitCode = 0
	}
	if o.Failure == nil {
		if a.Kind == fsm.KindJudge && res.ExitCode == 0 {
			t.answer(a, o, res)
		}
		return
	}
	f := o.Failure
	rep.Failure, rep.Reason, rep.ResetAt = fsm.Failure(f.Class), f.Reason, f.ResetAt
	if rep.ResetAt.IsZero() && f.After > 0 {
		rep.ResetAt = time.Now().Add(f.After)
	}
	res.ExitCode = cmp.Or(res.ExitCode, 1)
	if o.Complete && !f.Exit || !o.Complete && strings.TrimSpace(res.Stderr) == "" {
		appendLine(&res.Stderr, fsm.ResultMark+f.Reason)
	}
}

// blameSkipped makes it a failure where the final message may have been in a line that was skipped: what came
// before it is not what the host answered.
func (t *talk) blameSkipped(o *agent.Outcome) {
	what := t.skippedText()
	switch {
	case what == "":
	case o.Failure == nil && t.lost && !o.Final:
		o.Complete = false
		o.Failure = &agent.Failure{
			Class: agent.Truncated,
			Reason: t.host.Name + " said nothing more after a line that was too long to be read, so that its final " +
				"message may be missing; skipped: " + what,
		}
	case o.Failure != nil && o.Failure.Class == agent.Truncated:
		o.Failure.Reason += "; skipped: " + what
	}
}

// timedOut says which clock ended the action.
func timedOut(a *fsm.Action, kind string) string {
	if kind == "idle" {
		return "ended after " + a.Idle.String() + " without a sign of life"
	}
	return "ended after " + a.Timeout.String()
}

// appendLine adds a line at the end of a text.
func appendLine(text *string, line string) {
	if *text != "" && !strings.HasSuffix(*text, "\n") {
		*text += "\n"
	}
	*text += line
}

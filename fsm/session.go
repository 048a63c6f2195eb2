package fsm

import "cmp"

// A Session is a conversation with an agent that the next prompt may carry on.
type Session struct {
	ID      string
	Host    string // it is of
	Counted Usage  // what it had used when it was left, as its host counts
}

// sessionContinue is the session_mode of prompts that carry on.
const sessionContinue = "continue"

// address sets to which host a prompt goes and which session it continues. A prompt that continues none breaks the
// chain.
func (e *Executor) address(st *State, a *Action) {
	m, l := e.mem, e.cfg.Loop
	a.Host, a.Effort = l.PromptHost(st), st.Effort
	a.Permissions = cmp.Or(st.Permissions, l.Permissions, PermissionsSkip)
	if !carriesOn(st, l) {
		m.Session = nil
	}
	if s := m.Session; s != nil {
		a.Session, a.SessionHost, a.Counted = s.ID, s.Host, s.Counted
	}
}

func carriesOn(st *State, l *Loop) bool {
	return cmp.Or(st.SessionMode, l.SessionMode) == sessionContinue
}

// keepSession remembers the session of a prompt for the next one. One that failed keeps the session it carried on, with
// what it used of it, unless that is what failed.
func (e *Executor) keepSession(st *State, res Result) {
	m, r := e.mem, res.Reply
	if r == nil || !carriesOn(st, e.cfg.Loop) {
		return
	}
	if res.ExitCode != 0 {
		if _, kind := failureOf(res); kind == "context" || kind == "session" {
			m.Session = nil
			return
		}
		if m.Session == nil || m.Session.ID != r.Session || m.Session.Host != r.Host {
			return
		}
	}
	m.Session = nil
	if r.Session != "" {
		m.Session = &Session{ID: r.Session, Host: r.Host, Counted: r.SessionUsage}
	}
}

package action

import (
	"slices"

	"loops/fsm"
	"loops/internal/mask"
)

// revealed is the action with secrets in place of their placeholders. The text of a prompt keeps them: it goes to
// the provider of a model.
func (r *Runner) revealed(a fsm.Action) fsm.Action {
	m := r.Mask
	if m == nil {
		return a
	}
	if a.Kind != fsm.KindPrompt && a.Kind != fsm.KindJudge {
		a.Text = m.Reveal(a.Text)
	}
	a.Params = m.Reveal(a.Params)
	if a.Call != nil {
		a.Call = revealedCall(m, *a.Call)
	}
	return a
}

// revealedCall is a request with its secrets, which do not come back.
func revealedCall(m *mask.Masker, c fsm.Request) *fsm.Request {
	c.URL, c.Body = m.Reveal(c.URL), m.Reveal(c.Body)
	c.Headers = slices.Clone(c.Headers)
	for i := range c.Headers {
		c.Headers[i].Value = m.Reveal(c.Headers[i].Value)
	}
	c.Secrets = slices.Clone(c.Secrets)
	for i := range c.Secrets {
		c.Secrets[i].Value = m.Reveal(c.Secrets[i].Value)
	}
	return &c
}

package cli

import (
	"context"
	"os"

	"loops/engine"
	"loops/fsm"
	"loops/internal/live"
	"loops/internal/terminal"
)

// asker returns what asks at the terminal of this command what a run asks; nil where nothing reads or types there.
func (a *program) asker(view viewFlags) *live.Asker {
	in, ok := a.In.(*os.File)
	if !ok || view.quiet || view.json || a.detached != nil {
		return nil
	}
	if _, typed := terminal.Terminal(in); !typed {
		return nil
	}
	if _, read := terminal.Terminal(a.Out); !read {
		return nil
	}
	return live.NewAsker()
}

// beginAsking has the questions of a run asked; what it returns ends that.
func (a *program) beginAsking(ctx context.Context, e *engine.Engine, ask *live.Asker, r *engine.Run) func() {
	if ask == nil {
		return func() {}
	}
	keys, err := live.OpenKeyboard()
	if err != nil {
		return func() {} // the question is answered as one in the background is
	}
	id := r.ID()
	ask.Terminal = live.AskTerminal{Out: a.Out, Line: keys.Line}
	ask.Later = func(address string) string { return a.remedy(engine.AnswerRemedy(string(id), address)) }
	ask.Open = func(ctx context.Context) ([]*fsm.OpenQuestion, error) { return e.Questions(ctx, id) }
	ask.Answer = func(ctx context.Context, said engine.Answer) error {
		said.From, said.Known = a.sender(), a.identity()
		if _, err := e.Answer(ctx, id, said); err != nil {
			return a.refused(err)
		}
		return nil
	}
	end := ask.Begin(ctx)
	return func() {
		end()
		keys.Close()
	}
}

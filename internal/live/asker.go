package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// An AskTerminal is where a user reads and types.
type AskTerminal struct {
	Out io.Writer
	// Line returns the next line that is typed, without its end. An error means that there is none, as ctx has
	// ended or the terminal is gone.
	Line func(ctx context.Context) (string, error)
}

// An Asker asks the questions of one run, one after another, for as long as each is open.
type Asker struct {
	Terminal AskTerminal
	Open     func(ctx context.Context) ([]*fsm.OpenQuestion, error) // those of the run without an answer
	Answer   func(ctx context.Context, said engine.Answer) error
	Later    func(address string) string // returns the command that answers a question at another time

	look  chan struct{} // has room for one: the run may ask something
	check chan struct{} // has room for one: the question that is asked may be over
	left  []string      // addresses of questions that the user left open
}

// NewAsker returns an Asker, whose exported fields are to be set before Begin.
func NewAsker() *Asker { return &Asker{look: make(chan struct{}, 1), check: make(chan struct{}, 1)} }

// See takes an event of the run, also before Begin.
func (a *Asker) See(e fsm.Event) {
	wake := a.check
	switch {
	case e.Kind == fsm.EventActionOutput:
		return
	case e.Kind == fsm.EventHumanRequested, e.Kind == fsm.EventNote && e.Get("wait") == fsm.WaitState:
		wake = a.look
	}
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Begin asks from now on; what it returns ends that, and waits until nothing is asked any more.
func (a *Asker) Begin(ctx context.Context) func() {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-a.look:
				a.turn(ctx)
			}
		}
	}()
	return func() { stop(); <-done }
}

// turn asks what the run asks now, one question after another, without those that the user left open.
func (a *Asker) turn(ctx context.Context) {
	for ctx.Err() == nil {
		q := a.next(ctx)
		if q == nil || !a.one(ctx, q) {
			return
		}
	}
}

// next returns the question to ask next, nil if there is none.
func (a *Asker) next(ctx context.Context) *fsm.OpenQuestion {
	open, err := a.Open(ctx)
	i := slices.IndexFunc(open, func(q *fsm.OpenQuestion) bool { return !slices.Contains(a.left, q.Address) })
	if err != nil || i < 0 {
		return nil
	}
	return open[i]
}

// still reports whether a question has no answer yet.
func (a *Asker) still(ctx context.Context, address string) (q *fsm.OpenQuestion, open bool) {
	all, err := a.Open(ctx)
	i := slices.IndexFunc(all, func(q *fsm.OpenQuestion) bool { return q.Address == address })
	if err != nil || i < 0 {
		return nil, err != nil
	}
	return all[i], true
}

// one asks a question until it is answered or left open, and reports whether the user can be asked another one.
func (a *Asker) one(run context.Context, q *fsm.OpenQuestion) bool {
	ctx, over := context.WithCancel(run)
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		for {
			select {
			case <-ctx.Done():
				return
			case <-a.check:
				if _, open := a.still(ctx, q.Address); !open {
					over() // another terminal answered it, or its time is up
				}
			}
		}
	}()
	defer func() { over(); <-checked }()
	a.show(q)
	for ctx.Err() == nil {
		said, err := a.read(ctx, q)
		switch {
		case errors.Is(err, errLeave):
			a.left = append(a.left, q.Address)
			a.say("The question stays open. To answer it later: " + a.Later(q.Address) + " " +
				strings.Join(q.Choices, "|"))
			return true
		case err != nil:
			return ctx.Err() != nil // the question is over, or the terminal is gone
		}
		if err = a.Answer(run, said); err == nil || ctx.Err() != nil {
			if now, _ := a.still(run, q.Address); now != nil && now.Quorum > 1 {
				a.left = append(a.left, q.Address)
				a.say("The question stays open: " + humanize.PlainLine(now.Standing()))
			}
			return true
		}
		terminal.Say(a.Terminal.Out, "  %v\n", err)
		if _, open := a.still(ctx, q.Address); !open {
			return true // it was answered elsewhere
		}
	}
	return true
}

// errLeave means that the user leaves the question open.
var errLeave = errors.New("left open")

// leave is what a user types to leave a question open, where it is no choice.
const leave = "q"

func (a *Asker) say(text string) { terminal.SayLine(a.Terminal.Out, "  "+text) }

// show shows a question with its choices.
func (a *Asker) show(q *fsm.OpenQuestion) {
	for line := range strings.SplitSeq(strings.TrimSpace(q.Question), "\n") {
		a.say("? " + humanize.PlainLine(line))
	}
	if q.Show != "" {
		for line := range strings.SplitSeq(strings.TrimRight(q.Show, "\n"), "\n") {
			a.say("| " + humanize.PlainLine(line))
		}
	}
	if len(q.Who) > 0 {
		a.say("  asked: " + humanize.PlainLine(strings.Join(q.Who, ", ")))
	}
	if text := q.Standing(); text != "" {
		a.say("  so far: " + humanize.PlainLine(text))
	}
	words := make([]string, len(q.Choices))
	for i, c := range q.Choices {
		words[i] = fmt.Sprintf("%d %s", i+1, c)
	}
	a.say("  " + strings.Join(words, "   ") + "   (" + leave + ": leave it open)")
}

// read reads a choice, and the text beside it.
func (a *Asker) read(ctx context.Context, q *fsm.OpenQuestion) (engine.Answer, error) {
	said := engine.Answer{Address: q.Address, Fields: map[string]string{}}
	for said.Choice == "" {
		text, err := a.line(ctx, "  answer> ")
		switch {
		case err != nil:
			return said, err
		case text == leave && !slices.Contains(q.Choices, leave):
			return said, errLeave
		case text == "":
		default:
			if said.Choice, err = q.Chosen(text); err != nil {
				a.say(humanize.PlainLine(err.Error()) + "; " + leave + " leaves it open")
				continue
			}
			if q.Confirms(said.Choice) {
				if text, err = a.line(ctx, "  "+said.Choice+", sure? (y/N)> "); err != nil {
					return said, err
				}
				if said.Confirmed = terminal.IsYes(text); !said.Confirmed {
					said.Choice = ""
				}
			}
		}
	}
	for i := 0; i < len(q.Fields); {
		f := q.Fields[i]
		text, err := a.line(ctx, fmt.Sprintf("  %s (%s; nothing: not said)> ", f.Name, f.Type))
		if err != nil {
			return said, err
		}
		if text == "" {
			i++
			continue
		}
		if _, err := q.Fill(map[string]string{f.Name: text}); err != nil {
			terminal.Say(a.Terminal.Out, "  %v\n", err)
			continue
		}
		said.Fields[f.Name] = text
		i++
	}
	return said, nil
}

func (a *Asker) line(ctx context.Context, prompt string) (string, error) {
	terminal.Say(a.Terminal.Out, "%s", prompt)
	if f, ok := a.Terminal.Out.(interface{ Flush() error }); ok {
		_ = f.Flush() // a terminal that is gone is no question's matter
	}
	text, err := a.Terminal.Line(ctx)
	return strings.TrimSpace(text), err
}

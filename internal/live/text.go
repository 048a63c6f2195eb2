package live

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/internal/terminal"
	"loops/persistence"
)

// liveTail is how many lines of an action's output stay on a terminal.
const liveTail = 3

// Indent is where the lines below a state begin.
const Indent = "       "

// Text shows a run as lines for people. On a terminal the action that runs is shown in a live line and
// becomes permanent lines when it is over; elsewhere every output line is printed.
type Text struct {
	mu             sync.Mutex // guards all below: the live line is redrawn by a goroutine of watch
	out, err       *terminal.Sink
	quiet, verbose bool
	paint          terminal.Paint
	live           *live // nil = none

	loop    *fsm.Loop // for what its states say of themselves; one that is attached has none
	max     int       // steps
	items   inspect.ItemKeys
	name    string
	wake    string                       // command that ends a wait
	explain string                       // command that explains the run; "" = there is none
	again   func(failedItems int) string // command that begins a new run where it failed; nil = there is none
	base    time.Duration                // elapsed before this process
	begin   time.Time
	place   string   // "[3/50] check": the state that was entered last
	head    string   // line of that state, not printed yet
	action  []string // its action, once started: lines
	acted   bool     // an action of that state was started
	verdict string   // not printed yet
	why     string   // of that verdict, where it is error
	judged  string   // the last verdict and its state, for a run without a transition for it
	state   string   // entered last, outside of sub-loops
	output  string   // of the last action, for the end of a run that failed
	errors  string
	shown   bool                // output and errors were printed already
	said    process.Said        // what was shown of standard error as it came
	tail    *process.StderrTail // of the run that this process carries, where that is shown; nil = it is not
	costs   inspect.CostSheet

	draw    Draw           // nil = no diagrams
	clears  bool           // screen, before each state
	screen  *os.File       // the terminal that lines are written to; nil = they are not
	run     persistence.ID // for draw
	entered string         // the state that was drawn last
}

// A Draw returns the lines to show before a run enters a state: a diagram of its loop. The loop of a run that
// another process carries has no states. previous is the state that was entered before, "" = none.
type Draw func(l *fsm.Loop, run persistence.ID, previous, state string) []string

// clearScreen erases a terminal and what was scrolled above it, and moves the cursor to its first line.
const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

// entering clears the screen and draws the loop, as the view asks for.
func (p *Text) entering(state string) {
	if p.clears && p.screen != nil {
		if p.live != nil {
			p.live.erase()
		}
		p.out.Flush()
		fmt.Fprint(p.screen, clearScreen)
	}
	if p.draw == nil {
		return
	}
	for _, line := range p.draw(p.loop, p.run, p.entered, state) {
		p.print(line)
	}
	p.entered = state
}

// A View is how a run is shown as text.
type View struct {
	Quiet, Verbose bool
	Paint          terminal.Paint

	Draw  Draw // before each state of the outermost loop; nil = nothing
	Clear bool // clear a terminal before each of these states
}

// NewText returns a printer that writes lines to out, and notes to err.
func NewText(out, err io.Writer, v View) *Text {
	return &Text{
		out: terminal.NewBatchedSink(out), err: terminal.NewSink(err), quiet: v.Quiet, verbose: v.Verbose,
		paint: v.Paint, draw: v.Draw, clears: v.Clear,
	}
}

// OnTerminal is called where lines are written to a terminal. live has the action that runs shown in a line
// that is drawn in place. out is the terminal as other lines are written.
func (p *Text) OnTerminal(onTerminal *os.File, out io.Writer, live bool) {
	if p.screen = onTerminal; live {
		p.live, p.out = newLive(onTerminal), terminal.NewSink(out) // both write to the screen, in turn
	}
}

// Header implements [Printer].
func (p *Text) Header(h Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loop, p.run = h.Loop, h.Run.ID
	p.max, p.name, p.base, p.begin, p.wake, p.explain, p.again = h.Loop.MaxSteps, h.Loop.Name, h.Elapsed, h.Begin,
		h.Wake, h.Explain, h.Again
	if p.quiet {
		return
	}
	if !h.Attached && (p.live != nil || p.verbose) {
		p.tail = &process.StderrTail{Dir: h.RunDir, Since: time.Now()}
	}
	doing := "Running"
	switch {
	case h.Attached:
		doing = "Attached to"
	case h.Resumed:
		doing = "Resuming"
	case h.Retry:
		doing = "Retrying"
	case h.Origin != nil:
		doing = "Forking"
	}
	terminal.Say(p.out, "%s loop: %s\n", doing, p.paint.Bold(humanize.PlainLine(h.Loop.Name)))
	if p.max > 0 { // old records do not have it
		terminal.Say(p.out, "Max steps: %d\n", p.max)
	}
	terminal.Say(p.out, "  loop: %s\n  run: %s\n  run_dir: %s\n", humanize.PlainLine(h.File),
		humanize.PlainLine(string(h.Run.ID)), humanize.PlainLine(h.ShortDir))
	if h.Origin != nil {
		terminal.Say(p.out, "  forked from: %s\n", humanize.PlainLine(terminal.ForkedText(h.Origin)))
	}
	for _, note := range h.Notes {
		terminal.Say(p.out, "  %s\n", note)
	}
	if h.Agents != "" {
		terminal.Say(p.out, "  agents: %s\n", h.Agents)
	}
	if h.Sandbox != "" {
		terminal.Say(p.out, "  sandbox: %s\n", h.Sandbox)
	}
	if h.Guard != "" {
		terminal.Say(p.out, "  guard: %s\n", h.Guard)
	}
	if h.Where != "" {
		terminal.Say(p.out, "  at: %s, step %d, after %s\n", humanize.PlainLine(h.Where), h.Run.Step,
			humanize.Duration(h.Elapsed))
	}
	fmt.Fprintln(p.out)
}

// Queued implements [Printer].
func (p *Text) Queued(q Queued) {
	if q.First && !p.quiet {
		p.Note(q.Text + ". Who waits: loops queue list; Ctrl-C leaves the queue.")
	}
}

// Watch redraws the live line ten times a second while run runs, and shows what actions write to standard error.
func (p *Text) Watch(run func()) {
	defer p.out.Flush()
	if p.live == nil && p.tail == nil {
		run()
		return
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				p.mu.Lock()
				p.readStderr()
				if p.live != nil {
					p.live.draw(now, p.paint)
				}
				p.mu.Unlock()
			}
		}
	}()
	run()
	close(stop)
	<-done
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != nil {
		p.live.erase()
	}
	p.readStderr()
	if p.tail != nil {
		p.tail.Close()
		p.tail = nil
	}
}

// Note implements [Printer].
func (p *Text) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != nil {
		p.live.erase()
	}
	p.out.Flush()
	terminal.SayLine(p.err, text)
}

// print writes one permanent line.
func (p *Text) print(line string) {
	if p.live != nil {
		p.live.erase()
	}
	terminal.SayLine(p.out, line)
}

// Missed takes an event that is not shown, for the text at the end.
func (p *Text) Missed(e fsm.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(e)
	p.costs.Add(e)
}

// Since has the time of the run count from begin on, at which it had run for base.
func (p *Text) Since(base time.Duration, begin time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base, p.begin = base, begin
}

// Event implements [Printer].
func (p *Text) Event(e fsm.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(e)
	p.costs.Add(e)
	p.max = inspect.Raised(e, &fsm.Loop{MaxSteps: p.max}).MaxSteps
	// which only the records need, or the header shows
	if p.quiet || e.Kind == fsm.EventCheckpoint || e.Kind == fsm.EventWorktree || e.Kind == fsm.EventFiles {
		return
	}
	pad := strings.Repeat("  ", e.Depth)
	if branch := inspect.InsideBranch(e); branch != "" && e.Kind != fsm.EventBranchEnd {
		pad += humanize.PlainLine(p.items.Label(branch)) + ": "
	}
	p.items.Add(e)
	if e.Kind != fsm.EventRoute && p.verdict != "" { // a verdict that no route followed
		p.print(pad + Indent + p.takeVerdict())
	}
	switch e.Kind {
	case fsm.EventLoopStart, fsm.EventLoopResume:
		if e.Depth > 0 && e.Get("inline") == nil {
			p.flushHead()
			p.print(pad + "sub-loop " + terminal.ValueText(e.Get("loop")))
		}
	case fsm.EventStateEnter:
		p.flushHead()
		if e.Depth == 0 {
			p.entering(inspect.Text(e.Get("state")))
		}
		p.acted = false
		step, state := fmt.Sprintf("%s[%s/%d] ", pad, terminal.ValueText(e.Get("iteration")), p.max),
			terminal.ValueText(e.Get("state"))
		if e.Depth > 0 || p.max == 0 { // the cap is that of the outermost loop, where it is known
			step = fmt.Sprintf("%s[%s] ", pad, terminal.ValueText(e.Get("iteration")))
		}
		p.place = step + state
		p.head = fmt.Sprintf("%s%s (%s)", step, p.paint.Bold(state), humanize.Duration(p.base+e.Time.Sub(p.begin)))
	case fsm.EventBranchesStart, fsm.EventItemsStart:
		p.head += " -> " + inspect.EventText(e)
		p.flushHead()
	// it is reported when it ends, and was by the other run
	case fsm.EventBranchStart, fsm.EventItemStart, fsm.EventItemTaken:
	case fsm.EventBranchEnd, fsm.EventItemEnd:
		p.flushHead()
		line := humanize.PlainLine(inspect.EventText(e))
		if inspect.Text(e.Get("verdict")) == "yes" {
			line = p.paint.Dim(line)
		} else {
			line = p.paint.Amber(line)
		}
		p.print(pad + Indent + line)
		if e.Kind == fsm.EventItemEnd && p.live == nil && inspect.Text(e.Get("verdict")) != "yes" {
			p.showErrors(pad)
		}
	case fsm.EventActionRetry:
		p.flushHead()
		p.head = fmt.Sprintf("%s%sretry %s of %s", pad, Indent, terminal.ValueText(e.Get("retry")),
			terminal.ValueText(e.Get("times")))
	case fsm.EventActionStart:
		p.startAction(e, pad)
	case fsm.EventActionOutput:
		p.showOutput(pad, inspect.Text(e.Get("line")))
	case fsm.EventActionComplete:
		p.endAction(e, pad)
	case fsm.EventEvaluate:
		p.flushHead()
		p.verdict, p.why = inspect.Text(e.Get("verdict")), ""
		if !p.verbose {
			p.why = humanize.PlainLine(inspect.WhyVerdict(e))
			break
		}
		for _, text := range inspect.VerdictLines(e) {
			for line := range strings.SplitSeq(text, "\n") {
				p.print(pad + Indent + p.paint.Dim(humanize.PlainLine(line)))
			}
		}
	case fsm.EventRoute:
		p.flushHead()
		p.route(e, pad)
	case fsm.EventLoopComplete:
		p.flushHead()
		if e.Depth > 0 && e.Get("inline") == nil {
			p.print(fmt.Sprintf("%ssub-loop ended: %s [%s]", pad, terminal.ValueText(e.Get("final_state")),
				terminal.ValueText(e.Get("terminated_by"))))
		}
	case fsm.EventNote:
		p.flushHead()
		line := inspect.NoteText(e)
		if inspect.Text(e.Get("wait")) == fsm.WaitCircuit && p.wake != "" {
			line += "; to continue at once: " + p.wake
		}
		p.print(pad + Indent + p.paint.Amber(humanize.PlainLine(line)))
	case fsm.EventSet:
		p.flushHead()
		p.print(pad + Indent + p.paint.Dim(humanize.PlainLine("set "+inspect.SetText(e))))
	case fsm.EventMessagesAppend, fsm.EventPromptSizeWarn, fsm.EventHostSubprocRSS, fsm.EventActionKilled:
		if p.verbose {
			p.print(pad + Indent + p.paint.Dim(humanize.PlainLine(e.Kind+" "+inspect.Pairs(e))))
		}
	default:
		p.flushHead()
		if line := inspect.EventText(e); line != "" {
			p.print(pad + Indent + p.paint.Amber(humanize.PlainLine(line)))
			for source := range strings.Lines(inspect.Source(e)) {
				p.print(pad + Indent + p.paint.Dim(humanize.PlainLine(strings.TrimSuffix(source, "\n"))))
			}
			break
		}
		p.print(pad + Indent +
			p.paint.Amber(humanize.PlainLine(strings.TrimSpace(strings.ReplaceAll(e.Kind, "_", " ")+": "+
				inspect.Pairs(e)))))
	}
}

func (p *Text) flushHead() {
	if p.head == "" {
		return
	}
	line := p.head
	p.head = ""
	if len(p.action) == 0 {
		p.print(line)
		return
	}
	p.print(line + " -> " + p.action[0])
	for _, more := range p.action[1:] {
		p.print(more)
	}
	p.action = nil
}

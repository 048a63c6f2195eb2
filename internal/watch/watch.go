// Package watch is the screen of loops watch. A [Model] says what it shows of runs, where, and what a key does:
// runs come in as a View, keys as Keys; a [Screen] of characters and a [Command] for the program come out. Text
// may be anything: no control character of it comes out. The Model reads no store, no clock and no terminal.
//
// A [Monitor] keeps an eye on the runs of a project: those that are running or wait in the queue, and those
// that ended lately. It reads of each store only what has changed, and makes of it rows and details for a
// screen, or lines. [Show] draws the screen on a terminal, and hands keys to it.
package watch

import (
	"slices"
	"time"

	"loops/fsm"
	"loops/internal/diagram"
)

// A Health shows as a mark what the status of a run says as text.
type Health int

// The healths.
const (
	Running Health = iota
	Waiting        // for a rate limit, a backoff, memory
	Paused
	Completed
	Failed
	Stopped // ended, and can be resumed
	Unreadable
)

// A Run is a row of the list. All texts are for people.
type Run struct {
	ID string
	// how many of the runs above it, one below the other, started it: 0 = a user did, or its parent is not
	// listed
	Depth   int
	Loop    string
	Health  Health
	Status  string // one or two words
	Live    bool   // a process carries it on
	Queued  bool   // it waits for its turn, and is no run yet
	Parked  bool   // no process carries it, and it has not ended: it waits for what continues it
	Needs   bool   // it is suspended: a person has to do something before it continues
	State   string // with those around it in sub-loops: "deploy > test"
	Step    string // "3/50"
	Elapsed string
	Cost    string // "" = none
	Note    string // what it waits for, or how it ended; "" = nothing to say

	Lasted    time.Duration       // what Elapsed says
	Dollars   float64             // what Cost says
	Questions []*fsm.OpenQuestion // that it asks
	Resumable bool
}

// A Detail is what is known of one run beside its row.
type Detail struct {
	ID       string
	Graph    *diagram.Graph // with what the run did; nil = not known yet
	Previous string         // the state before the one it is in
	Current  string
	Steps    []Step // oldest first
	Log      []Line // oldest first
	Note     string // about what is shown
}

// A Step is a row of the table of steps.
type Step struct {
	Number  string // "3", or "3.1" in a sub-loop
	State   string
	Verdict string
	To      string
	Left    string // about how long the rest of a list takes; "" = it is not known
	Took    string
	Cost    string
	Bad     bool // its action failed, or it was judged so
}

// A Line is one line of the log.
type Line struct {
	Text string
	Head bool // names a step
	Bad  bool
	Dim  bool // of standard error, as it comes
}

// A View is all there is to show at one moment.
type View struct {
	Now     time.Time
	Project string
	Runs    []Run // in the order of the list
	Detail  *Detail
	Problem string // why the runs cannot be looked at now; "" = they can
}

// A Verb is what a Command has the program do.
type Verb int

// The verbs. None is for nothing, Redraw writes the whole screen again, Suspend gives the terminal back for a while.
const (
	None Verb = iota
	Quit
	Redraw
	Suspend
	Stop
	Pause
	Unpause
	Retry
	Resume  // in the background
	Start   // a loop in the background: Text is its name and, after a blank, its input
	Answer  // with Text
	Explain // and read what it says with Read
	Log     // in a pager, which has the terminal meanwhile
	Edit    // the loop of the run, in an editor, which has the terminal meanwhile
)

// A Command is what the program is to do, to a run where the verb is about one.
type Command struct {
	Verb     Verb
	Run      string
	Text     string
	Question string            // of Answer: the address of the one that was shown
	Fields   map[string]string // of Answer
}

// A pane is a part of the screen.
type pane int

const (
	runsPane pane = iota
	graphPane
	stepsPane
	logPane
	panes
)

var paneNames = [panes]string{"Runs", "Graph", "Steps", "Log"}

// A mode says what keys mean now.
type mode int

const (
	normal mode = iota
	helping
	searching
	filtering
	typing // the Text of a command
	answeringMode
	asking
	reading
)

// A scroll is which part of a pane is seen. A following pane shows what is newest: the state the run is in, the
// last step, the end of the log.
type scroll struct {
	row, column int
	found       int  // the row that a search found last
	free        bool // a person moved it: it follows no more
}

// A Model is the state of the screen. It is not safe for concurrent use.
type Model struct {
	ascii bool
	view  View
	runs  []Run // of the view, those that the filter keeps, in their order

	selected string
	awaited  string // a run to select once it is among those shown; "" = none
	focus    pane
	zoomed   bool // the focused pane has all the room
	opened   bool // the list of runs gives its room to what is known of the selected one
	scrolls  [panes]scroll
	drawn    [panes][]row // what each had to show when it was drawn last
	heights  [panes]int   // how much of that it showed

	graph graphDrawing // drawn last

	mode    mode
	pages   pages   // the help, or another text
	input   string  // that is being typed
	pattern string  // of the search before
	filter  string  // what the runs shown have in common; "" = all are shown
	order   order   // of the runs
	confirm Command // what is asked about, or typed for
	answer  answering
	message string
	bad     bool // the message is of a failure
}

// New returns an empty screen. With ascii it holds no other characters. selected is the run to begin on; "" =
// the first.
func New(ascii bool, selected string) *Model { return &Model{ascii: ascii, selected: selected} }

// Show takes what is to be shown from now on. A selected run that is not among it gives way to its neighbour.
func (m *Model) Show(v View) {
	m.view = v
	m.list()
}

// Selected is the run the cursor is on, "" = none.
func (m *Model) Selected() string { return m.selected }

// Select moves the cursor to a run, which may come with a later View.
func (m *Model) Select(id string) {
	m.awaited = id
	m.list()
}

// Say shows a message in the last line until the next key.
func (m *Model) Say(text string, bad bool) { m.message, m.bad = text, bad }

// index is the place of the selected run in the list, below 0 if it is not there.
func (m *Model) index() int {
	return slices.IndexFunc(m.runs, func(r Run) bool { return r.ID == m.selected })
}

// run is the selected run, or nil.
func (m *Model) run() *Run {
	if i := m.index(); i >= 0 {
		return &m.runs[i]
	}
	return nil
}

// detail is that of the selected run, or nil.
func (m *Model) detail() *Detail {
	if d := m.view.Detail; d != nil && d.ID == m.selected {
		return d
	}
	return nil
}

// pick selects a run, of which everything is shown from where it is.
func (m *Model) pick(id string) {
	if id != m.selected {
		m.selected = id
		clear(m.scrolls[:])
	}
}

package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"loops/internal/config"
)

// An Event is a notification, and the JSON that commands and webhooks get.
type Event struct {
	Kind     string     `json:"event"`    // a name of config.NotifyKinds
	Text     string     `json:"text"`     // one sentence for a person
	Delivery string     `json:"delivery"` // the same in every attempt; "" = Tell makes one
	Time     time.Time  `json:"time"`
	Run      string     `json:"run"`
	Loop     string     `json:"loop"`
	Status   string     `json:"status"`                  // of the run, as history has it
	EndedBy  string     `json:"terminated_by,omitempty"` // of a run that has ended
	State    string     `json:"state"`
	Steps    int        `json:"steps"`
	Seconds  float64    `json:"seconds"`             // that the run took so far
	ExitCode *int       `json:"exit_code,omitempty"` // of loops run, where it is known
	Error    string     `json:"error,omitempty"`
	Reason   string     `json:"reason,omitempty"`   // why a run that has ended did so, in one line
	Until    *time.Time `json:"until,omitempty"`    // of waiting
	Resume   string     `json:"resume,omitempty"`   // the command that continues with the run
	Question string     `json:"question,omitempty"` // the address of the question that the run waits for an answer to
	Choices  []string   `json:"choices,omitempty"`  // that answer it
	Links    []Link     `json:"links,omitempty"`    // that answer it, for this target alone
	// of waiting and awaiting: which reminder of the question it is, from 1
	Reminder int `json:"reminder,omitempty"`
	// of escalated: the names of the targets that are told, and no others are
	To      []string `json:"to,omitempty"`
	Project string   `json:"project"`        // its folder
	Host    string   `json:"host"`           // name of the machine
	Test    bool     `json:"test,omitempty"` // nothing happened: a user tries the delivery out

	Began time.Time `json:"-"` // when the run began; of a question
	Who   []string  `json:"-"` // who alone may answer the question, where they are known; nil = all
}

// A Link answers a question with a choice once it is opened and confirmed. Who has it may do so.
type Link struct {
	Choice string `json:"choice"`
	URL    string `json:"url"`
}

// mostText is how long the texts of an event may be, in bytes.
const mostText = 4 << 10

// A Result is the result of one event at one target.
type Result struct {
	Place    int    // of the target in what New got, from 0
	Target   string // see Label
	Event    Event
	Attempts int
	Took     time.Duration
	Err      error // nil = delivered
}

// ErrAbsent means that this machine has nothing to show messages of the desktop with.
var ErrAbsent = errors.New("there is no program here that shows messages of the desktop")

// errGivenUp is the cause of a delivery that Close did not wait for.
var errGivenUp = errors.New("given up, because loops was about to end")

// A Sender delivers events to those who asked for them. The methods may be called by several goroutines at once; after
// Close no event may be sent.
type Sender struct {
	Dir    string   // where commands run
	Env    []string // of commands and desktop programs
	Getenv func(name string) (string, bool)
	// of a question for the target of this name; nil = there are none
	Links func(e Event, target string) ([]Link, error)

	backoff time.Duration // before the second attempt; 0 = half a second
	lines   []*line
	ctx     context.Context //nolint:containedctx // of the deliveries, which Close ends
	give    context.CancelCauseFunc
	busy    sync.WaitGroup

	mu      sync.Mutex
	results []Result // guarded by mu
}

// A line is one target and what is on its way there.
type line struct {
	place  int
	target config.Notify
	queue  chan *Event
	begun  sync.Once
}

// queued is how many events may wait for one target. A run sends few; many runs that died at once are found by one
// process.
const queued = 1_000

// NewSender returns a Sender. A target that names no kind of event gets those that are on by default.
func NewSender(targets []config.Notify) *Sender {
	s := &Sender{Getenv: func(string) (string, bool) { return "", false }}
	s.ctx, s.give = context.WithCancelCause(context.Background())
	for i, t := range targets {
		s.lines = append(s.lines, &line{place: i, target: t, queue: make(chan *Event, queued)})
	}
	return s
}

// Wants reports whether a target asked for events of this kind of this loop.
func Wants(t config.Notify, kind, loop string) bool {
	if !matches(t.Loops, loop) {
		return false
	}
	if len(t.On) > 0 {
		return slices.Contains(t.On, kind)
	}
	return slices.ContainsFunc(config.NotifyKinds, func(k config.NotifyKind) bool {
		return k.Name == kind && k.Unasked
	})
}

// matches reports whether a loop is named by one of the names and patterns; there are none for all.
func matches(patterns []string, loop string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, loop)
		return ok || err != nil && p == loop
	})
}

// Label names a target: a webhook by its host only, because the rest of an address may be a secret, and a
// command by its beginning.
func Label(t config.Notify) string {
	switch {
	case t.Desktop:
		return "desktop"
	case t.URL != "":
		u, err := url.Parse(t.URL)
		if err != nil {
			return "webhook"
		}
		return "webhook " + u.Host
	}
	text, more, _ := strings.Cut(strings.TrimSpace(t.Command), "\n")
	if r := []rune(text); len(r) > 40 {
		text, more = string(r[:40]), "…"
	}
	if more != "" {
		text += "…"
	}
	return "command " + text
}

// Tell sends an event to all targets that asked for it, and returns at once.
func (s *Sender) Tell(e Event) {
	e.prepare()
	for _, l := range s.lines {
		if e.Kind == config.NotifyEscalated && slices.Contains(e.To, l.target.Name) ||
			e.Kind != config.NotifyEscalated && Wants(l.target, e.Kind, e.Loop) {
			s.tell(l, e)
		}
	}
}

// TellOne hands an event to one target, by its place in what New got, whether or not it asked for it.
func (s *Sender) TellOne(i int, e Event) {
	e.prepare()
	s.tell(s.lines[i], e)
}

func (e *Event) prepare() {
	e.Error, e.Text = clip(e.Error), clip(e.Text)
	if e.Delivery == "" {
		e.Delivery = newID()
	}
}

func (s *Sender) tell(l *line, e Event) {
	if s.Links != nil && e.Question != "" && l.target.Name != "" {
		var err error
		if e.Links, err = s.Links(e, l.target.Name); err != nil {
			e.Text += " (there are no links that answer: " + clip(err.Error()) + ")"
		}
	}
	l.begun.Do(func() { s.busy.Go(func() { s.deliverAll(l) }) })
	select {
	case l.queue <- &e:
	default:
		s.note(Result{
			Place: l.place, Target: Label(l.target), Event: e,
			Err: fmt.Errorf("%d events wait for it already", queued),
		})
	}
}

// Close waits until everything is delivered, or until ctx ends: then it gives up what is under way, which takes a few
// seconds at most. It returns the result of each event, in the order in which that was known.
func (s *Sender) Close(ctx context.Context) []Result {
	for _, l := range s.lines {
		close(l.queue)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.busy.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.give(errGivenUp)
		<-done
	}
	s.give(nil)
	return s.results
}

func (s *Sender) note(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, r)
}

// deliverAll delivers what waits for a target, in its order.
func (s *Sender) deliverAll(l *line) {
	for e := range l.queue {
		began := time.Now()
		r := Result{Place: l.place, Target: Label(l.target), Event: *e}
		if s.ctx.Err() != nil {
			r.Err = errGivenUp
		} else {
			r.Attempts, r.Err = s.deliver(l.target, *e)
		}
		r.Took = time.Since(began)
		s.note(r)
	}
}

// attemptLimit is how long one attempt may take where the target does not say.
const attemptLimit = 10 * time.Second

func (s *Sender) deliver(t config.Notify, e Event) (attempts int, err error) {
	limit := cmp.Or(t.Timeout, attemptLimit)
	switch {
	case t.URL != "":
		return s.post(t, message{e.Kind, e.Delivery, "application/json", e.body()}, limit)
	case t.Desktop:
		return 1, s.show(e, limit)
	}
	return 1, s.call(t.Command, e.env(), append(e.body(), '\n'), limit)
}

// body is the event as JSON.
func (e Event) body() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // texts, numbers and times always can be
	}
	return b
}

// newID makes a name for one event that no other has.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// clip shortens a text, and makes it one that every receiver can read.
func clip(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) <= mostText {
		return s
	}
	end := mostText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/expr"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/persistence"
)

const (
	pollWebhook = 5 * time.Second
	keeping     = 30 * 24 * time.Hour // how long a delivery is known at least
	list        = "webhook/"          // of the ledger, with the name of the webhook
	by          = "webhook "
)

// ErrUnknownWebhook means that there is no webhook of this name.
var ErrUnknownWebhook = errors.New("there is no webhook of this name")

// A RefusedError means that the sender did not prove to know the secret.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// A PayloadError means that what was sent is not what the webhook expects.
type PayloadError struct{ Why string }

func (e *PayloadError) Error() string { return e.Why }

// A Sender sends signals and answers to runs, which are on record when it returns. to is the id of a run or the name of
// a loop.
type Sender interface {
	Signal(ctx context.Context, to string, s fsm.Signal) error
	// Answer answers the question at an address; "" = the one that the run has asked in all.
	Answer(ctx context.Context, to, question, choice, from string) error
}

// A Receipt is the result of a message.
type Receipt struct {
	Run     persistence.ID // that begins; "" = none
	Copy    bool           // it was taken before
	Ignored string         // why nothing is done; "" = something is
}

// A Desk takes the webhooks of one project. Its methods may be called by several goroutines at once.
type Desk struct {
	Open  func() (*project.Project, error) // opens the project again
	Begin Begin
	Say   func(string) // gets the runs that begin, and what is wrong, once; nil = not called

	mu      sync.Mutex // for what follows
	clock   *Clock
	records *project.Records
	poke    chan struct{}
	said    string
}

// A ListedWebhook is a webhook of the settings, for a list of them.
type ListedWebhook struct {
	Name string
	Does string // in a few words
	Why  string // why its messages are refused; "" = they are not
}

// List returns the webhooks of the project, in the order of its settings; none where these cannot be read.
func (d *Desk) List() []ListedWebhook {
	p, err := d.Open()
	if err != nil {
		return nil
	}
	conf, err := p.Config()
	if err != nil {
		return nil
	}
	all := make([]ListedWebhook, len(conf.Webhooks))
	for i, w := range conf.Webhooks {
		l := ListedWebhook{Name: w.Name, Does: "answers a question"}
		switch {
		case w.Run != "":
			l.Does = "runs " + w.Run
		case w.Signal != "":
			l.Does = "sends the event " + w.Signal
		}
		if _, err := w.Secret.Read(func(name string) (string, bool) { return project.LookEnv(p.Env, name) }); err !=
			nil {
			l.Why = err.Error()
		}
		all[i] = l
	}
	return all
}

// Has reports whether the settings of the project have a webhook of this name.
func (d *Desk) Has(name string) bool {
	_, h, err := d.find(name)
	return h != nil || err != nil && !errors.Is(err, ErrUnknownWebhook)
}

func (d *Desk) find(name string) (*project.Project, *hook, error) {
	p, err := d.Open()
	if err != nil {
		return nil, nil, err
	}
	conf, err := p.Config()
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(conf.Webhooks, func(w config.Webhook) bool { return w.Name == name })
	if i < 0 {
		return nil, nil, ErrUnknownWebhook
	}
	h, err := compile(conf.Webhooks[i])
	return p, h, err
}

// Receive takes a message for a webhook. What it asks for is on record when Receive returns. An error is
// ErrUnknown, a RefusedError, a PayloadError, or what keeps the server from taking it now: then the sender is
// to try again.
func (d *Desk) Receive(ctx context.Context, name string, m Message, sender Sender) (r Receipt, err error) {
	p, h, err := d.find(name)
	if errors.Is(err, ErrUnknownWebhook) {
		return r, err
	}
	if err != nil { // what settings say does not concern the sender
		d.complain(err)
		return r, errors.New("the settings of this server have mistakes; what it prints says which")
	}
	secret, err := h.Secret.Read(func(name string) (string, bool) { return project.LookEnv(p.Env, name) })
	if err != nil {
		err = fmt.Errorf("webhook %s has no secret: %w", name, err)
		d.complain(err)
		return r, errors.New("the secret of this webhook is missing on the server; what it prints says why")
	}
	signed, err := h.verify(m, secret, time.Now())
	if err != nil {
		return r, &RefusedError{err.Error()}
	}
	event, delivery := h.event(m)
	body, event, delivery, err := opened(m, event, delivery)
	if err != nil {
		return r, err
	}
	if !h.counts(event) {
		return Receipt{Ignored: "it is not about the event " + humanize.Quote(event)}, nil
	}
	payload, err := expr.ReadJSON(string(body))
	if err != nil {
		return r, &PayloadError{fmt.Sprintf("the body is no JSON: %v", err)}
	}
	sum := sha256.Sum256(signed)
	key := hex.EncodeToString(sum[:16])
	if len(delivery) > 100 || delivery == "" {
		delivery = key
	}
	visible := strconv.Quote(delivery) // two ids that differ still do
	f := Firing{Source: by + name + " " + visible[1:len(visible)-1]}
	if h.Run != "" {
		return d.start(ctx, p, h, key, f, payload)
	}
	return d.tell(ctx, h, key, f, payload, sender)
}

// start puts on record that a run is to begin.
func (d *Desk) start(ctx context.Context, p *project.Project, h *hook, key string, f Firing, payload any) (r Receipt,
	err error,
) {
	file, err := p.Resolve(h.Run)
	if err != nil {
		return r, fmt.Errorf("webhook %s: %w", h.Name, err)
	}
	if err := p.CheckTrust(ctx, file); err != nil {
		d.complain(fmt.Errorf("webhook %s starts nothing: %w", h.Name, err))
		return r, errors.New("the user of this server has not said yet that this loop may run; what it prints says why")
	}
	if f.Loop = h.Run; h.Input != "" {
		text, err := h.text("input", payload)
		if err != nil {
			return r, err
		}
		f.Input = &text
	}
	if f.Values, err = h.context(payload); err != nil {
		return r, err
	}
	if b, err := json.Marshal(f); err != nil || len(b) > persistence.MostBody-1000 {
		return r, &PayloadError{
			fmt.Sprintf("what webhooks.%s makes of it for the run, context and input, has %d bytes; 2 MiB "+
				"are kept at most", h.Name, len(b)),
		}
	}
	on, taken, err := d.take(ctx, h.Name, key, f)
	if err == nil {
		select {
		case d.poked() <- struct{}{}:
		default:
		}
	}
	return Receipt{Run: on.Run, Copy: !taken}, err
}

// take puts a firing on record, unless one of the same source or key is.
func (d *Desk) take(ctx context.Context, name, key string, f Firing) (on Firing, taken bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(ctx); err != nil {
		return f, false, err
	}
	known, err := Taken(ctx, d.clock.Ledger, list+name)
	if err != nil {
		return f, false, err
	}
	if i := slices.IndexFunc(known, func(k Firing) bool { return k.Source == f.Source }); i >= 0 {
		return known[i], false, nil
	}
	return d.clock.Take(ctx, list+name, key, f)
}

// tell sends an event or an answer to a run. It is on record for the run before it is said to be done; see
// [Clock.Once].
func (d *Desk) tell(ctx context.Context, h *hook, key string, f Firing, payload any, sender Sender) (r Receipt,
	err error,
) {
	to, data, choice, question := h.To, payload, "", ""
	if h.programs["to"] != nil {
		if to, err = h.text("to", payload); err != nil {
			return r, err
		}
	}
	if h.Data != "" {
		if data, err = h.value("data", payload); err != nil {
			return r, err
		}
	}
	if h.Answer != "" {
		if choice, err = h.text("answer", payload); err != nil {
			return r, err
		}
	}
	if h.Question != "" {
		if question, err = h.text("question", payload); err != nil {
			return r, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(ctx); err != nil {
		return r, err
	}
	known, err := Taken(ctx, d.clock.Ledger, list+h.Name)
	if err != nil {
		return r, err
	}
	for _, k := range known {
		if k.Source == f.Source && k.State == Started {
			return Receipt{Copy: true}, nil
		}
		if k.Source == f.Source { // its signature may be another: it is the same message
			key = k.Key()
		}
	}
	done, err := d.clock.Once(ctx, list+h.Name, key, f, func() error {
		if h.Signal != "" {
			return sender.Signal(ctx, to, fsm.Signal{Name: h.Signal, Data: data, From: f.Source})
		}
		return sender.Answer(ctx, to, question, choice, f.Source)
	})
	return Receipt{Copy: !done}, err
}

// ready opens the records of the project. The lock is held.
func (d *Desk) ready(ctx context.Context) error {
	if d.clock != nil {
		return nil
	}
	p, err := d.Open()
	if err != nil {
		return err
	}
	if d.records, err = p.Records(ctx, true); err != nil {
		return err
	}
	d.clock = NewClock(d.records, d.Begin)
	d.clock.Keep = keeping
	d.clock.Tell = func(f Firing) {
		if f.State == Failed {
			d.say(fmt.Sprintf("run %s of loop %s could not be started (%s): %s", f.Run, humanize.Quote(f.Loop),
				f.Source, humanize.Reason(f.Why)))
			return
		}
		d.say(fmt.Sprintf("run %s began (%s)", f.Run, f.Source))
	}
	return nil
}

func (d *Desk) poked() chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.poke == nil {
		d.poke = make(chan struct{}, 1)
	}
	return d.poke
}

// Run starts the runs that were taken until ctx ends: also those that a server took which is gone.
func (d *Desk) Run(ctx context.Context) {
	poke := d.poked()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.records != nil {
			_ = d.records.Close()
			d.records, d.clock = nil, nil
		}
	}()
	for {
		if err := d.pursue(ctx); err != nil && ctx.Err() == nil {
			d.complain(err)
		}
		select {
		case <-poke:
		case <-time.After(pollWebhook):
		case <-ctx.Done():
			return
		}
	}
}

func (d *Desk) pursue(ctx context.Context) error {
	p, err := d.Open()
	if err != nil {
		return err
	}
	conf, err := p.Config()
	if err != nil || len(conf.Webhooks) == 0 {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(ctx); err != nil {
		return err
	}
	var errs []error
	for _, w := range conf.Webhooks {
		_, err := compile(w)
		errs = append(errs, err)
		_, err = d.clock.Pursue(ctx, list+w.Name, func(loop string) string { return loop })
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// complain says what is wrong, unless that was said last.
func (d *Desk) complain(err error) {
	d.mu.Lock()
	text := err.Error()
	said := d.said == text
	d.said = text
	d.mu.Unlock()
	if !said {
		d.say(text)
	}
}

func (d *Desk) say(text string) {
	if d.Say != nil {
		d.Say(text)
	}
}

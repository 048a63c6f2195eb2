package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/inspect"
	"loops/persistence"
)

const (
	lookEvery = 700 * time.Millisecond
	beatEvery = 15 * time.Second // a comment, so that both sides notice that the other is gone
	writeTime = 20 * time.Second // of one message; a reader that takes longer is cut off and comes back
	// events that a reader gets at once; behind more than that it gets a message that it missed some
	burst      = 500
	watchedNow = 100 // newest runs whose changes are sent
	// that events are read for before some are sent, so that a reader of a run that is quicker than its reader
	// has news all the same
	passTime = 2 * time.Second
)

// A hub looks at the runs of all projects while a user listens, and notifies listeners when something is different.
// Each listener has the newest state or nothing: what it was too slow for is replaced, and it is notified of that. It
// may be used by several goroutines at once.
type hub struct {
	look func() map[string]string

	mu        sync.Mutex
	listeners map[chan tidings]bool // guarded by mu
	now       tidings               // guarded by mu
}

// tidings are the status of all runs.
type tidings struct {
	number int               // one more than the former
	runs   map[string]string // by project and id; what differs when anything that is shown does
}

// listen returns a channel with the newest state, and what ends it.
func (h *hub) listen() (<-chan tidings, func()) {
	ch := make(chan tidings, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = map[chan tidings]bool{}
	}
	h.listeners[ch] = true
	if len(h.listeners) == 1 {
		go h.run()
	} else {
		ch <- h.now
	}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, ch)
	}
}

// run looks until nothing listens.
func (h *hub) run() {
	for {
		runs := h.look()
		h.mu.Lock()
		if len(h.listeners) == 0 {
			h.mu.Unlock()
			return
		}
		if differ(h.now.runs, runs) {
			h.now = tidings{h.now.number + 1, runs}
			for ch := range h.listeners {
				select {
				case <-ch: // it was too slow for that one
				default:
				}
				ch <- h.now
			}
		}
		h.mu.Unlock()
		time.Sleep(lookEvery)
	}
}

func differ(a, b map[string]string) bool {
	if len(a) != len(b) || a == nil {
		return true
	}
	for k, v := range b {
		if a[k] != v {
			return true
		}
	}
	return false
}

// digest returns the status of the newest runs and of those that are running.
func (s *Server) digest(ctx context.Context) map[string]string {
	all := map[string]string{}
	err := s.openAll(ctx, func(p Project, f project.Finder) error {
		runs, err := f.Store.Runs(ctx, persistence.Query{Limit: watchedNow, LiveToo: true})
		for _, r := range project.Current(runs) {
			all[p.Name+"/"+string(r.ID)] = fmt.Sprintf("%s\n%s %d %d", inspect.StatusWord(r), r.State, r.Step,
				r.UpdatedAt.UnixMilli())
		}
		return err
	})
	if err != nil {
		all["error"] = err.Error()
	}
	return all
}

// statusIn returns the status in an entry of a digest.
func statusIn(how string) string {
	status, _, _ := strings.Cut(how, "\n")
	return status
}

// An outlet writes messages of a stream.
type outlet struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send writes one message, and reports whether the reader took it.
func (o outlet) send(id, kind string, data any) bool {
	_ = o.control.SetWriteDeadline(time.Now().Add(writeTime)) // a recorder of a test has none
	text := ""
	if id != "" {
		text = "id: " + id + "\n"
	}
	_, err := fmt.Fprintf(o.w, "%sevent: %s\ndata: %s\n\n", text, kind, value.AppendJSON(nil, data))
	return err == nil && o.control.Flush() == nil
}

func (o outlet) beat() bool {
	_ = o.control.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := o.w.Write([]byte(": here\n\n"))
	return err == nil && o.control.Flush() == nil
}

// outlet begins a stream, if there is a place for it. The caller calls leave.
func (s *Server) outlet(w http.ResponseWriter, r *http.Request) (o outlet, leave func(), ok bool) {
	select {
	case s.streams <- struct{}{}:
	default:
		s.refuse(w, r, http.StatusServiceUnavailable, "too many streams are open; close a page, or ask again later")
		return o, nil, false
	}
	o = outlet{w, http.NewResponseController(w)}
	_ = o.control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return o, func() { <-s.streams }, true
}

// stream sends which runs are different.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	o, leave, ok := s.outlet(w, r)
	if !ok {
		return
	}
	defer leave()
	news, end := s.hub.listen()
	defer end()
	last, before := 0, map[string]string{}
	if !o.send("", "hello", api.Hello{Projects: len(s.Projects)}) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		case t := <-news:
			changed, turned := []string{}, []string{}
			for run, how := range t.runs {
				if before[run] == how {
					continue
				}
				changed = append(changed, run)
				if statusIn(before[run]) != statusIn(how) {
					turned = append(turned, run)
				}
			}
			missed := max(0, t.number-last-1)
			if last == 0 {
				missed = 0
			}
			if !o.send(strconv.Itoa(t.number), "runs", api.Changes{Changed: changed, Turned: turned, Skipped: missed}) {
				return
			}
			last, before = t.number, t.runs
		case <-time.After(beatEvery):
			if !o.beat() {
				return
			}
		}
	}
}

// streamRun sends the events of a run from one on, as they are recorded.
func (s *Server) streamRun(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(_ Project, session *Session) error {
		f, err := session.Finder(r.Context())
		if err != nil {
			return err
		}
		run, err := app.OneRun(r.Context(), f, r.PathValue("run"))
		if err != nil {
			return err
		}
		after := number(r, "after", 0)
		if id, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 63); err == nil {
			after = id
		}
		o, leave, ok := s.outlet(w, r)
		if !ok {
			return nil
		}
		defer leave()
		s.follow(r.Context(), o, f, run, after)
		return nil
	})
}

// follow sends events as they come, until the run has ended or the reader is gone.
func (s *Server) follow(ctx context.Context, o outlet, f project.Finder, run persistence.Run, after uint64) {
	beat := time.Now()
	if !o.beat() {
		return
	}
	for {
		now, err := f.Exactly(ctx, string(run.ID)) // before its events: what was recorded before it ended is read
		events, missed := newest(f.Store.EventsOf(ctx, run, after), time.Now().Add(passTime))
		if missed > 0 && !o.send("", "skipped", api.Skipped{Events: missed}) {
			return
		}
		for _, e := range events {
			if !o.send(strconv.FormatUint(e.Seq, 10), "event", api.EventOf(e)) {
				return
			}
			after = e.Seq
		}
		switch {
		case err != nil:
			o.send("", "gone", api.Refused{Error: err.Error()})
			return
		case !project.Alive(now) && len(events) == 0:
			o.send("", "end", api.Over{Status: inspect.StatusWord(now), Outcome: inspect.Outcome(now)})
			return
		case time.Since(beat) > beatEvery:
			if beat = time.Now(); !o.beat() {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-s.done:
			return
		case <-time.After(lookEvery):
		}
	}
}

// newest returns the last events of those that can be read until a time, and how many before those were left
// out: memory does not grow with a reader that is slow.
func newest(all func(func(fsm.Event, error) bool), until time.Time) (last []fsm.Event, missed int) {
	for e, err := range all {
		if project.IsDamage(err) {
			continue
		}
		if err != nil {
			break
		}
		if last = append(last, e); len(last) == 2*burst {
			if last, missed = append(last[:0], last[burst:]...), missed+burst; time.Now().After(until) {
				break
			}
		}
	}
	if over := len(last) - burst; over > 0 && missed > 0 {
		last, missed = last[over:], missed+over
	}
	return last, missed
}

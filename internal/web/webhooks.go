package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"loops/engine"
	"loops/engine/trigger"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/auth"
)

// hooks are the addresses to which others send what webhooks of the settings name. Their senders prove with a
// signature who they are, and have no session.
func (s *Server) hooks() []route {
	return []route{
		allow(auth.Anyone, "POST /hooks/{name}", s.hook),
		allow(auth.Anyone, "POST /hooks/{project}/{name}", s.hook),
	}
}

// hook takes a message for a webhook of the project that is named, or of the only one that has it.
func (s *Server) hook(w http.ResponseWriter, r *http.Request) {
	name, of := r.PathValue("name"), r.PathValue("project")
	var at []Project
	for _, p := range s.Projects {
		if p.Hooks != nil && (of == "" || p.Name == of) && p.Hooks.Has(name) {
			at = append(at, p)
		}
	}
	if len(at) != 1 {
		why := "there is no webhook of this name"
		if len(at) > 1 {
			why = "several projects have a webhook of this name; say which: /hooks/PROJECT/NAME"
		}
		s.answerHook(w, r, name, http.StatusNotFound, api.Refused{Error: why})
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" &&
		!strings.HasSuffix(kind, "+json") {
		s.answerHook(w, r, name, http.StatusUnsupportedMediaType,
			api.Refused{Error: "expected JSON: choose the content type application/json where the webhook is set up"})
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.answerHook(w, r, name, statusOf(err), api.Refused{Error: err.Error()})
		return
	}
	header := func(name string) string {
		if all := r.Header.Values(name); len(all) == 1 {
			return all[0]
		}
		return "" // one that is there twice says nothing
	}
	var untold *notToldError
	receipt, err := at[0].Hooks.Receive(r.Context(), name, trigger.Message{Header: header, Body: body}, sender{at[0]})
	switch {
	case errors.Is(err, trigger.ErrUnknownWebhook):
		s.answerHook(w, r, name, http.StatusNotFound, api.Refused{Error: err.Error()})
	case is[*trigger.RefusedError](err):
		s.answerHook(w, r, name, http.StatusUnauthorized, api.Refused{Error: err.Error()})
	case is[*trigger.PayloadError](err):
		s.answerHook(w, r, name, http.StatusUnprocessableEntity, api.Refused{Error: err.Error()})
	case errors.As(err, &untold):
		s.answerHook(w, r, name, untold.status, api.Refused{Error: untold.text})
	case err != nil:
		s.answerHook(w, r, name, http.StatusServiceUnavailable, api.Refused{Error: err.Error()})
	case receipt.Ignored != "":
		s.answerHook(w, r, name, http.StatusOK, api.HookIgnored{Ignored: receipt.Ignored})
	default:
		status := http.StatusAccepted
		if receipt.Copy {
			status = http.StatusOK
		}
		s.answerHook(w, r, name, status, api.HookTaken{Copy: receipt.Copy, Run: string(receipt.Run)})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// answerHook answers the sender, and leaves a line for the audit. The event in it is what the sender says; of a
// signature that is wrong too.
func (s *Server) answerHook(w http.ResponseWriter, r *http.Request, name string, status int, answer any) {
	s.tell(r, "webhook", "name", name, "event", cmp.Or(r.Header.Get("X-Loops-Event"), r.Header.Get("X-GitHub-Event")),
		"result", http.StatusText(status))
	writeJSON(w, status, answer)
}

// A sender sends what a webhook says to runs of a project.
type sender struct{ Project }

func (t sender) with(do func(*Session) error) error {
	session, err := t.Open()
	if err != nil {
		return err
	}
	defer session.Close()
	if err := do(session); err != nil {
		return &notToldError{statusOf(err), session.InWords(err).Error()}
	}
	return nil
}

// A notToldError is why a run did not get it, with the text of the command that does the same.
type notToldError struct {
	status int
	text   string
}

func (e *notToldError) Error() string { return e.text }

// Signal implements [trigger.Sender].
func (t sender) Signal(ctx context.Context, to string, e fsm.Signal) error {
	return t.once(ctx, to, e.From, func(s *Session) error {
		_, err := s.Signal(ctx, to, e)
		return err
	})
}

// once does what a delivery asks for, unless a run that to means has it on record: its server died before it noted
// the delivery, or recording it ended with an error that leaves open whether it is recorded. from names the delivery.
func (t sender) once(ctx context.Context, to, from string, do func(*Session) error) error {
	return t.with(func(s *Session) error {
		if done, err := s.Delivered(ctx, to, from); done || err != nil {
			return err
		}
		return do(s)
	})
}

// Answer implements [trigger.Sender].
func (t sender) Answer(ctx context.Context, to, question, choice, from string) error {
	return t.once(ctx, to, from, func(s *Session) error {
		words := strings.Fields(from) // all deliveries of one webhook are one person
		_, err := s.Answer(ctx, to, engine.Answer{
			Address: question, Choice: choice, Confirmed: true, From: from,
			Person: strings.Join(words[:min(len(words), 2)], " "), Fields: map[string]string{},
		})
		return err
	})
}

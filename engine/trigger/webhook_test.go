package trigger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
)

// events is a Sender that records what it gets. The server dies while it records the first event, if that is to be so.
type events struct {
	got  int
	dies func()
}

func (s *events) Signal(context.Context, string, fsm.Signal) error {
	s.got++
	if s.dies != nil {
		s.dies()
	}
	return nil
}

func (s *events) Answer(context.Context, string, string, string, string) error { return nil }

// signed is a message of a delivery, signed at a time.
func signed(delivery string, at time.Time) Message {
	body := []byte(`{}`)
	mac := hmac.New(sha256.New, []byte("sesame"))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	header := map[string]string{
		"X-Loops-Delivery":  delivery,
		"X-Loops-Signature": fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil))),
	}
	return Message{Header: func(name string) string { return header[name] }, Body: body}
}

// The server died between the event and the mark of its delivery, and the sender signed its next try anew: the
// event was recorded again at once.
func TestRetrySignedAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	conf := "webhooks:\n  deploy:\n    secret_env: SECRET\n    form: loops\n    signal: deployed\n    to: ship\n"
	if err := os.WriteFile(filepath.Join(dir, ".loops", "config.yaml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	desk := func() *Desk {
		return &Desk{Open: func() (*project.Project, error) {
			return project.Open(dir, project.Options{Env: append(os.Environ(), "SECRET=sesame")})
		}}
	}
	type died struct{}
	now := time.Now()
	first := &events{dies: func() { panic(died{}) }}
	func() {
		defer func() {
			if _, is := recover().(died); !is {
				t.Fatal("the server did not die")
			}
		}()
		_, err := desk().Receive(t.Context(), "deploy", signed("one", now), first)
		t.Fatalf("it was received: %v", err)
	}()
	next, other := desk(), &events{}
	_, err := next.Receive(t.Context(), "deploy", signed("one", now.Add(time.Second)), other)
	if !errors.Is(err, ErrBusy) || other.got != 0 {
		t.Errorf("signed anew: %d events, %v", other.got, err)
	}
	if r, err := next.Receive(t.Context(), "deploy", signed("two", now.Add(2*time.Second)), other); err != nil ||
		r.Copy || other.got != 1 {
		t.Errorf("another delivery: %+v, %d events, %v", r, other.got, err)
	}
	next.clock.Now = func() time.Time { return now.Add(time.Minute) } // it is not known whether it was done
	for n := range 2 {
		r, err := next.Receive(t.Context(), "deploy", signed("one", now.Add(time.Duration(3+n)*time.Second)), other)
		if err != nil || r.Copy != (n == 1) || other.got != 2 {
			t.Errorf("try %d after that: %+v, %d events, %v", n, r, other.got, err)
		}
	}
	all, err := Taken(t.Context(), next.clock.Ledger, list+"deploy")
	if err != nil || len(all) != 2 {
		t.Errorf("on record are %+v, %v", all, err)
	}
}

// A structured CloudEvent brings the payload, the event and the delivery in its body.
func TestCloudEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, body, payload, event, delivery, wrong string }{
		{
			"application/cloudevents+json; charset=utf-8",
			`{"specversion": "1.0", "id": "7", "source": "ci", "type": "build.done", "data": {"ok": true}}`,
			`{"ok": true}`, "build.done", "ci 7", "",
		},
		{
			"application/cloudevents+json",
			`{"specversion": "1.0", "id": "7", "source": "ci", "type": "x", "data_base64": "eyJhIjoxfQ=="}`,
			`{"a":1}`, "x", "ci 7", "",
		},
		{
			"application/cloudevents+json", `{"specversion": "1.0", "id": "7", "source": "ci", "type": "x"}`, `null`,
			"x", "ci 7", "",
		},
		{
			"application/cloudevents+json", `{"specversion": "0.3", "id": "7", "source": "ci", "type": "x"}`, "", "",
			"",
			"no CloudEvent 1.0",
		},
		{"application/cloudevents+json", `[]`, "", "", "", "no CloudEvent 1.0"},
		{"application/cloudevents-batch+json", `[]`, "", "", "", "each event by itself"},
		{"application/json", `{"data": 1}`, `{"data": 1}`, "header", "id", ""},
	} {
		m := Message{Header: func(string) string { return c.kind }, Body: []byte(c.body)}
		body, event, delivery, err := opened(m, "header", "id")
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s %s: %v", c.kind, c.body, err)
			}
			continue
		}
		if err != nil || string(body) != c.payload || event != c.event || delivery != c.delivery {
			t.Errorf("%s %s: %s %s %s %v", c.kind, c.body, body, event, delivery, err)
		}
	}
}

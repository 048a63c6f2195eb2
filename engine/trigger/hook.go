package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/humanize"
)

// skew is how old a signature with a time may be, or how far in the future.
const skew = 5 * time.Minute

// A hook is a webhook of the settings whose programs were read.
type hook struct {
	config.Webhook
	programs map[string]*expr.Jq // of input, data, answer, question, to, and of the keys of context behind "context."
}

// compile reads the programs of a webhook.
func compile(w config.Webhook) (*hook, error) {
	h := &hook{Webhook: w, programs: map[string]*expr.Jq{}}
	texts := [][2]string{{"input", w.Input}, {"data", w.Data}, {"answer", w.Answer}, {"question", w.Question}}
	if strings.HasPrefix(w.To, ".") {
		texts = append(texts, [2]string{"to", w.To})
	}
	for _, c := range w.Context {
		texts = append(texts, [2]string{"context." + c[0], c[1]})
	}
	for _, t := range texts {
		if t[1] == "" {
			continue
		}
		p, err := expr.CompileJq(t[1])
		if err != nil {
			return nil, fmt.Errorf("webhooks.%s.%s: %s is no program of jq: %w", w.Name, t[0], humanize.Quote(t[1]),
				err)
		}
		h.programs[t[0]] = p
	}
	return h, nil
}

// value returns what a program of the webhook makes of what came.
func (h *hook) value(name string, payload any) (any, error) {
	all, err := h.programs[name].Eval(payload)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("it yields %s, and has to yield one", humanize.Count(len(all), "value"))
	}
	if err != nil {
		return nil, &PayloadError{fmt.Sprintf("webhooks.%s.%s: %v", h.Name, name, err)}
	}
	return all[0], nil
}

// text is value as a text.
func (h *hook) text(name string, payload any) (string, error) {
	v, err := h.value(name, payload)
	return expr.JqText(v), err
}

// context is the context of the run that is to begin. A program that yields null leaves what the loop says.
func (h *hook) context(payload any) (*value.Map, error) {
	values := value.NewMap()
	for _, c := range h.Context {
		v, err := h.value("context."+c[0], payload)
		if err != nil {
			return nil, err
		}
		if v != nil {
			values.Set(c[0], v)
		}
	}
	return values, nil
}

// A Message is what was sent: the values of its headers, "" for one that is not there, and its body.
type Message struct {
	Header func(name string) string
	Body   []byte
}

// event is the event that a message names, and delivery its id.
func (h *hook) event(m Message) (event, delivery string) {
	if h.Form == config.WebhookLoops {
		return m.Header("X-Loops-Event"), m.Header("X-Loops-Delivery")
	}
	return m.Header("X-GitHub-Event"), m.Header("X-GitHub-Delivery")
}

// A cloudEvent is a structured CloudEvent in JSON.
type cloudEvent struct {
	Version string          `json:"specversion"`
	ID      string          `json:"id"`
	Source  string          `json:"source"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
	Base64  []byte          `json:"data_base64"`
}

// opened returns a message whose body is the data of the CloudEvent that it is, with its type as event and its source
// and id as delivery. Another message is returned as it is.
func opened(m Message, event, delivery string) (body []byte, _, _ string, err error) {
	switch kind, _, _ := mime.ParseMediaType(m.Header("Content-Type")); kind {
	case "application/cloudevents+json":
	case "application/cloudevents-batch+json":
		return nil, "", "",
			&PayloadError{"a batch of CloudEvents is not taken: send each event by itself, as " +
				"application/cloudevents+json"}
	default:
		return m.Body, event, delivery, nil
	}
	var e cloudEvent
	if err := json.Unmarshal(m.Body, &e); err != nil || e.Version != "1.0" || e.ID == "" || e.Source == "" ||
		e.Type == "" {
		return nil, "", "",
			&PayloadError{"the body is no CloudEvent 1.0: it has specversion, id, source and type, all texts"}
	}
	if body = e.Data; len(body) == 0 {
		body = e.Base64
	}
	if len(body) == 0 {
		body = []byte("null")
	}
	return body, e.Type, e.Source + " " + e.ID, nil
}

// counts reports whether something is done about an event. GitHub sends a ping when a webhook is made.
func (h *hook) counts(event string) bool {
	if len(h.Events) == 0 {
		return h.Form != config.WebhookGitHub || event != "ping"
	}
	return slices.Contains(h.Events, event)
}

// verify refuses a message whose signature is not made with the secret, and returns what is signed. Headers are
// not: not the id, nor the event.
func (h *hook) verify(m Message, secret string, now time.Time) (signed []byte, err error) {
	signed = m.Body
	given, has := strings.CutPrefix(m.Header("X-Hub-Signature-256"), "sha256=")
	if h.Form == config.WebhookLoops {
		at, hex, ok := strings.Cut(m.Header("X-Loops-Signature"), ",v1=")
		seconds, isTime := strings.CutPrefix(at, "t=")
		t, err := strconv.ParseInt(seconds, 10, 64)
		if has = ok && isTime && err == nil; has {
			if age := now.Sub(time.Unix(t, 0)); age > skew || age < -skew {
				return nil, errors.New("the signature was made more than five minutes before or after now")
			}
		}
		given, signed = hex, append([]byte(seconds+"."), m.Body...)
	}
	sum, err := hex.DecodeString(given)
	if !has || err != nil {
		return nil, errors.New("there is no signature of the form " + h.Form)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(signed)
	if !hmac.Equal(sum, mac.Sum(nil)) {
		return nil, errors.New("the signature is not made with the secret of this webhook")
	}
	return signed, nil
}

package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A stored checkpoint is a line with what ListInterrupted returns, then the rest, then a line with a checksum of all
// before it. All stores of this package use this form, so that all of them refuse the same things.

const format = 1

type header struct {
	Format int `json:"checkpoint"`
	Meta
	Iteration int       `json:"iteration"`
	Phases    []string  `json:"phases,omitempty"`
	Seq       uint64    `json:"seq,omitempty"`
	SavedAt   time.Time `json:"saved_at"`
}

// known are the keys of a header.
var known = sync.OnceValue(func() map[string]bool {
	keys := map[string]bool{}
	for _, t := range []reflect.Type{reflect.TypeFor[header](), reflect.TypeFor[Meta]()} {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			keys[name] = true
		}
	}
	return keys
})

// keepUnknown moves what the line of a header says beyond its fields to More, unless a field has that name.
func (h *header) keepUnknown(line []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return err
	}
	for key, raw := range all {
		if _, taken := h.More[key]; known()[key] || taken {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		if h.More == nil {
			h.More = map[string]any{}
		}
		h.More[key] = v
	}
	return nil
}

type body struct {
	Messages []json.RawMessage `json:"messages"`
	Data     json.RawMessage   `json:"data"`
}

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

const (
	checkOpen  = `{"crc32c": "`
	checkClose = "\"}\n"
	checkLen   = len(checkOpen) + 8 + len(checkClose)
)

// Encode returns the form in which the stores of this package keep a checkpoint that is saved at that time: for stores
// of one's own. Its errors are those of Store.Save: ErrRunID and ErrNotJSON.
func Encode(c *Checkpoint, at time.Time) ([]byte, error) {
	if err := CheckRun(c.Run); err != nil {
		return nil, err
	}
	b, err := json.Marshal(header{format, c.Meta, c.Iteration, c.Phases, c.Seq, at.UTC()})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Run, err)
	}
	n := len(b) + len(c.Data) + 100
	for _, m := range c.Messages {
		n += len(m) + 2
	}
	b = append(slices.Grow(b, n-len(b)), '\n')
	// Written by hand, because json.Marshal would change messages that are JSON already.
	b = append(b, `{"messages":[`...)
	for i, m := range c.Messages {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		var ok bool
		if b, ok = appendRaw(b, m); !ok {
			return nil, fmt.Errorf("run %s, message %d: %w", c.Run, i, ErrNotJSON)
		}
	}
	b = append(b, `],"data":`...)
	var ok bool
	if b, ok = appendRaw(b, c.Data); !ok {
		return nil, fmt.Errorf("run %s, data: %w", c.Run, ErrNotJSON)
	}
	return appendSum(append(b, "}\n"...)), nil
}

// appendRaw appends JSON as it is; nil is null. ok is false if it is not JSON.
func appendRaw(b []byte, raw json.RawMessage) (_ []byte, ok bool) {
	if raw == nil {
		return append(b, "null"...), true
	}
	return append(b, raw...), json.Valid(raw)
}

func appendSum(b []byte) []byte {
	sum := crc32.Checksum(b, castagnoli())
	return fmt.Appendf(b, "%s%08x%s", checkOpen, sum, checkClose)
}

// Decode reads what Encode returned for a checkpoint of this run. The error is a *DamageError where these are not the
// bytes, and ErrNewer where a newer version wrote them.
func Decode(b []byte, run string) (*Checkpoint, error) {
	c, err := decode(b, run, true)
	return c, damaged("", err)
}

// DecodeInterrupted is Decode for ListInterrupted: it leaves out messages and data, but the checksum of all must hold.
func DecodeInterrupted(b []byte, run string) (Interrupted, error) {
	c, err := decode(b, run, false)
	if err != nil {
		return Interrupted{}, damaged("", err)
	}
	return c.interrupted(), nil
}

// damaged turns an error of decode into one of Decode.
func damaged(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNewer) && path == "":
		return err
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("%s: %w", path, err)
	}
	return &DamageError{File: path, What: err.Error()}
}

// errSum is what is wrong with bytes that do not end with the checksum of what is before it.
var errSum = errors.New("its checksum does not hold")

// decode reads the stored form of run's checkpoint; whole = false leaves messages and data out. An error means that
// the bytes are damaged, unless it is ErrNewer.
func decode(b []byte, run string, whole bool) (*Checkpoint, error) {
	n := len(b) - checkLen
	if n < 0 || fmt.Sprintf("%s%08x%s", checkOpen, crc32.Checksum(b[:n], castagnoli()), checkClose) != string(b[n:]) {
		return nil, errSum
	}
	first, second, _ := bytes.Cut(b[:n], []byte{'\n'})
	var h header
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, err
	}
	if h.Format != format {
		return nil, fmt.Errorf("%w (format %d, not %d)", ErrNewer, h.Format, format)
	}
	if h.Run != run {
		return nil, errors.New("it is of run " + strconv.Quote(h.Run))
	}
	if err := h.keepUnknown(first); err != nil {
		return nil, err
	}
	c := &Checkpoint{Meta: h.Meta, Iteration: h.Iteration, Phases: h.Phases, Seq: h.Seq, SavedAt: h.SavedAt}
	if whole {
		var rest body
		if err := json.Unmarshal(second, &rest); err != nil {
			return nil, err
		}
		c.Messages = rest.Messages
		if string(rest.Data) != "null" {
			c.Data = rest.Data
		}
	}
	return c, nil
}

// A stored event is one line whose last key is a checksum of the bytes before it.

const lineClose = "\"}\n"

var lineCheck = []byte(`, "crc32c": "`)

// appendEvent appends the stored form of an event to b.
func appendEvent(b []byte, e Event) ([]byte, error) {
	if e.Data != nil && !json.Valid(e.Data) {
		return nil, fmt.Errorf("data of event %q: %w", e.Kind, ErrNotJSON)
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("event %q: %w", e.Kind, err)
	}
	text := line.Bytes()[:line.Len()-len("}\n")]
	b = append(b, text...)
	b = append(b, lineCheck...)
	return fmt.Appendf(b, "%08x%s", crc32.Checksum(text, castagnoli()), lineClose), nil
}

// Numbered returns an event with the number that it gets in its log. The error is ErrSeq if it has another one.
func Numbered(e Event, next uint64) (Event, error) {
	if e.Seq != 0 && e.Seq != next {
		return e, fmt.Errorf("event %d (%q) would be event %d: %w", e.Seq, e.Kind, next, ErrSeq)
	}
	e.Seq = next
	return e, nil
}

// EncodeEvent returns the form in which the logs of this package keep an event, one line with its end: for logs
// of one's own, which number it before, as Numbered does. A zero time becomes now. The error is ErrNotJSON
// where the event's data is not.
func EncodeEvent(e Event, now time.Time) ([]byte, error) {
	stamp(&e, now)
	return appendEvent(nil, e)
}

// DecodeEvent reads what EncodeEvent returned. The error is a *DamageError where these are not the bytes.
func DecodeEvent(line []byte) (Event, error) {
	e, err := parseEvent(line)
	if err != nil {
		return Event{}, damaged("", err)
	}
	return e, nil
}

// parseEvent reads one line, with its end.
func parseEvent(line []byte) (Event, error) {
	var e Event
	n := len(line) - len(lineCheck) - 8 - len(lineClose)
	if n < 0 || !bytes.HasPrefix(line[n:], lineCheck) || !bytes.HasSuffix(line, []byte(lineClose)) {
		return e, errors.New("this is no whole event")
	}
	if fmt.Sprintf("%08x", crc32.Checksum(line[:n], castagnoli())) !=
		string(line[n+len(lineCheck):n+len(lineCheck)+8]) {
		return e, errSum
	}
	if err := json.Unmarshal(append(line[:n:n], '}'), &e); err != nil {
		return e, err
	}
	return e, nil
}

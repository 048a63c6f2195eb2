package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ErrNoJSON says that a text holds no answer.
var ErrNoJSON = errors.New("no JSON was found in the answer")

// Where objects are looked for in the middle of a text: in its last part, and not more often than is sensible.
const (
	searched = 256 << 10
	tries    = 256
)

// FindJSON returns the JSON object or array that text is or holds. It is looked for in this order: the whole
// text, a fenced block, an object anywhere, and tags such as <verdict>, which become an object. The first that
// fits is returned, and if none does, the first. A nil fits takes all. The error is [ErrNone].
func FindJSON(text string, fits func(json.RawMessage) bool) (json.RawMessage, error) {
	var first json.RawMessage
	text = strings.TrimPrefix(strings.TrimSpace(text), "\uFEFF")
	for _, look := range []func(string, func(json.RawMessage) bool){whole, fenced, objects, tagged} {
		var found json.RawMessage
		look(text, func(c json.RawMessage) bool {
			if first == nil {
				first = c
			}
			if fits == nil || fits(c) {
				found = c
			}
			return found == nil
		})
		if found != nil {
			return found, nil
		}
	}
	if first == nil {
		return nil, ErrNoJSON
	}
	return first, nil
}

// whole yields the text, if it is an object or array.
func whole(text string, yield func(json.RawMessage) bool) {
	if b := []byte(strings.TrimSpace(text)); len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b) {
		yield(b)
	}
}

// fence is what begins or ends a block, on a line of its own but for the name of a language.
var fence = lazy("(?m)^[ \t]*```+[ \t]*[A-Za-z0-9_-]*[ \t]*\r?$")

// lazy compiles an expression at its first use: every start of a program would wait for it.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// fenced yields the fenced blocks that are JSON.
func fenced(text string, yield func(json.RawMessage) bool) {
	marks := fence().FindAllStringIndex(text, tries)
	for i := 1; i < len(marks); i++ {
		more := true
		whole(text[marks[i-1][1]:marks[i][0]], func(c json.RawMessage) bool { more = yield(c); return more })
		if !more {
			return
		}
	}
}

// objects yields the objects in a text, wherever they are, outermost first.
func objects(text string, yield func(json.RawMessage) bool) {
	text = text[max(0, len(text)-searched):]
	for range tries {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			return
		}
		text = text[i:]
		var c json.RawMessage
		dec := json.NewDecoder(strings.NewReader(text))
		if dec.Decode(&c) != nil {
			text = text[1:]
			continue
		}
		if !yield(bytes.Clone(c)) {
			return
		}
		text = text[dec.InputOffset():]
	}
}

var tags = map[string]func() *regexp.Regexp{
	"verdict":    lazy(`(?is)<verdict>(.*?)</verdict>`),
	"confidence": lazy(`(?is)<confidence>(.*?)</confidence>`),
	"reason":     lazy(`(?is)<reason>(.*?)</reason>`),
	"evidence":   lazy(`(?is)<evidence>(.*?)</evidence>`),
}

// tagged yields an object of what is in tags, if there is a verdict, which is lower-cased.
func tagged(text string, yield func(json.RawMessage) bool) {
	found := map[string]any{}
	for name, tag := range tags {
		m := tag().FindStringSubmatch(text)
		if m == nil {
			continue
		}
		value := strings.TrimSpace(m[1])
		switch name {
		case "verdict":
			found[name] = strings.ToLower(value)
		case "confidence":
			if f, err := strconv.ParseFloat(value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
				found[name] = f
			}
		default:
			found[name] = value
		}
	}
	if found["verdict"] == nil || found["verdict"] == "" {
		return
	}
	if b, err := json.Marshal(found); err == nil {
		yield(b)
	}
}

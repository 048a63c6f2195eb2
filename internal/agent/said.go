package agent

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"loops/fsm/pyregexp"
)

// maxSaid is how much is kept of a text that only goes into a message.
const maxSaid = 4 << 10

// apiError finds the status and the message in an error that a host hands on as its API gave it: a JSON object with an
// "error" in it, perhaps with words around. What is no such object is the message itself.
func apiError(said string) (status int, message string) {
	begin, end := strings.IndexByte(said, '{'), strings.LastIndexByte(said, '}')
	if begin < 0 || end < begin {
		return 0, said
	}
	var o struct {
		Error struct {
			Code    json.RawMessage // a number, or a word
			Message string
			Status  string
			Type    string
		}
	}
	if json.Unmarshal([]byte(said[begin:end+1]), &o) != nil || o.Error.Message == "" {
		return 0, said
	}
	if code, err := strconv.Atoi(string(o.Error.Code)); err == nil && code >= 400 && code < 600 {
		status = code
	}
	// Some APIs put another such object into the message.
	inner, message := apiError(o.Error.Message)
	if inner != 0 {
		status = inner
	}
	for _, word := range []string{strings.Trim(string(o.Error.Code), `"`), o.Error.Status, o.Error.Type} {
		// The words by which failures are distinguished may only be here.
		if strings.Contains(word, "_") && !strings.Contains(message, word) {
			message += " (" + word + ")"
			break
		}
	}
	return status, message
}

var (
	afterPattern = pyregexp.Lazy(
		`(?i)(?:try again in|retry(?:ing)? (?:after|in)|resets? in) ((?:(?:about|and|,|\d+(?:\.\d+)?) ?(?:milliseconds?|seconds?|minutes?|hours?|days?|weeks?|mins?|secs?|hrs?|ms|[smhdw])?[ ,]*)+)`)
	unitPattern = pyregexp.Lazy(`(?i)(\d+(?:\.\d+)?) ?(ms|milli|[smhdw])`)
)

// afterIn finds for how long a text says to wait, as in "try again in 1 day 3 hours" or "retry after 30s".
func afterIn(text string) time.Duration {
	m := afterPattern().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	units := map[string]time.Duration{
		"ms": time.Millisecond, "milli": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
		"d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
	}
	sum := 0.0
	for _, part := range unitPattern().FindAllStringSubmatch(m[1], -1) {
		n, _ := strconv.ParseFloat(part[1], 64)
		sum += n * float64(units[strings.ToLower(part[2])])
	}
	if sum < 0 || sum > float64(366*24*time.Hour) {
		return 0
	}
	return time.Duration(sum)
}

// without leaves out the lines that contain one of those texts.
func without(text string, these ...string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !has(line, these...) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

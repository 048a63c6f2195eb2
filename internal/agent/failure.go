package agent

import (
	"strconv"
	"strings"
	"time"

	"loops/fsm/pyregexp"
)

// failed makes the Failure of a status of HTTP and of what a host said about it; either may be missing.
func failed(status int, text string) *Failure {
	if status == 0 {
		status = statusIn(text)
	}
	f := &Failure{Class: classify(status, text), Reason: oneLine(text), Status: status}
	if f.Class == RateLimited {
		f.ResetAt, f.After = resetIn(text), afterIn(text)
	}
	if f.Reason == "" && status != 0 {
		f.Reason = "the API answered " + strconv.Itoa(status)
	}
	return f
}

// classify knows what the APIs after the hosts say. It is only for text that is known to be an error: an agent may
// write any of these words.
func classify(status int, text string) Class {
	text = strings.ToLower(text)
	// These come first, because APIs send them with a status that says something else.
	switch {
	case has(text, "prompt is too long", "prompt too long", "context length", "context_length_exceeded",
		"context window",
		"maximum context", "input is too long", "request_too_large", "exceeds the maximum number of tokens",
		"input token count"):
		return Context
	case has(text, "credit balance", "insufficient_quota", "insufficient quota", "insufficient balance", "billing",
		"payment required", "spending limit", "spend limit", "arrearage", "exceeded your current quota"):
		return Billing
	case exhausted(text): // gateways send it with any status
		return RateLimited
	case unknownModel(text) && (status == 0 || status >= 400 && status < 500 && status != 429):
		return NoModel
	}
	switch {
	case status == 403 && refusedForRate(text): // as some gateways have it
		return RateLimited
	case status == 401, status == 403:
		return Auth
	case status == 402:
		return Billing
	case status == 429:
		return RateLimited
	case status == 413:
		return Context
	case status == 408, status == 409, status == 425, status >= 500 && status < 600:
		return Transient
	case status >= 400 && status < 500:
		return Other
	case refusedForRate(text):
		return RateLimited
	case has(text, "invalid api key", "invalid_api_key", "incorrect api key", "missing api key", "api key not",
		"no api key",
		"not logged in", "please run /login", "to log in", "unauthorized", "authentication", "no auth type",
		"auth method",
		"oauth token", "expired token", "token has expired", "invalid bearer token", "forbidden", "permission_error"):
		return Auth
	case has(text, "overloaded", "internal server error", "server_error", "server had an error",
		"service unavailable", "bad gateway",
		"gateway timeout", "gateway time-out", "unable to connect", "connection error", "connection refused",
		"connectionrefused", "connection reset",
		"econnrefused", "econnreset", "enotfound", "etimedout", "eai_again", "epipe", "fetch failed",
		"socket hang up", "network error",
		"stream ended", "stream disconnected", "stream closed", "other side closed", "api error: terminated",
		"timed out", "timeout", "malformed response", "is not valid json",
		"temporarily unavailable", "try again later"):
		return Transient
	}
	return Other
}

// Remedy returns what a person does before a prompt to the host can succeed that failed so; "" = that is not known. It
// continues a sentence.
func (h *CLI) Remedy(c Class) string {
	switch {
	case c == Auth && h.Login != "":
		return "run `" + h.Login + "`"
	case c == Auth:
		return "log in to " + h.Name + ", or set its key"
	case c == Billing:
		return "pay for the account of " + h.Name + ", or raise its limit"
	case c == NoModel:
		return "choose a model that " + h.Name + " has for this account"
	case c == Permission:
		return "give the permission in the settings of " + h.Name + ", or in the loop"
	}
	return ""
}

func refusedForRate(text string) bool {
	return exhausted(text) || has(text, "rate limit", "rate_limit", "ratelimit", "usage limit", "hit your limit",
		"limit reached",
		"quota limitations", "out of extra usage")
}

var exhaustedPattern = pyregexp.Lazy(`\bresources?(?:[ _-]?| (?:has|have) been )exhausted|\btoo[ _-]?many[ _-]?requests|\bquota[ _-]?exceeded`)

// exhausted reports whether a text says in any spelling that too much was asked in too short a time.
func exhausted(text string) bool { return exhaustedPattern().MatchString(text) }

var modelPattern = pyregexp.Lazy(`\b(?:model_not_found|(?:unknown|invalid|unsupported|unrecognized) model\b|no such model|issue with the selected model` +
	`|model(?:[^.;\n]|\.[^\s;]){0,120}(?:not found|not_found|does not exist|doesn't exist|may not exist|is not supported|is not available|not have access))`)

// unknownModel reports whether a text says that there is no such model, or not for this account.
func unknownModel(text string) bool {
	return modelPattern().MatchString(text) || has(text, "not_found_error") && strings.Contains(text, "model:")
}

func has(text string, any ...string) bool {
	for _, s := range any {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

var statusPattern = pyregexp.Lazy(`(?i)(?:\bapi error:?|\bstatus(?: code)?:?|\bhttp(?:/[\d.]+)?|\brejected) \(?([45]\d\d)\b`)

func statusIn(text string) int {
	m := statusPattern().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// resetPattern finds the seconds since 1970 after a bar, as in "usage limit reached|1767225600".
var resetPattern = pyregexp.Lazy(`\|(\d{10})\b`)

func resetIn(text string) time.Time {
	m := resetPattern().FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return time.Unix(n, 0).UTC()
}

// unexplained is the Failure of a host that exited without the event that says how it went. It had started if it had
// printed an event before.
func unexplained(name string, e Exit, started bool) *Failure {
	said := e.said()
	f := failed(0, said)
	switch {
	case f.Class != Other:
	case started || said == "" || e.Code < 0:
		f.Class = Truncated
	}
	ending := endOf(e.Code)
	switch {
	case !started && said == "":
		f.Reason = name + " " + ending + " without a line of its own"
	case said == "":
		f.Reason = name + " " + ending + " before it said how it went"
	default:
		f.Reason = name + " " + ending + ": " + f.Reason
	}
	return f
}

// downgraded is the Failure of a host that exited badly after it had reported that all went well; nil if it exited
// well.
func downgraded(name string, e Exit) *Failure {
	if e.Stopped || e.Code == 0 {
		return nil
	}
	said := e.said()
	f := failed(0, said)
	f.Exit = true
	// A user ended it while it was cleaning up.
	if f.Class == Other && (e.Code < 0 || e.Code == 128+9 || e.Code == 128+15) {
		f.Class = Transient
	}
	f.Reason = name + " " + endOf(e.Code) + " although it had said that all went well"
	if said != "" {
		f.Reason += ": " + oneLine(said)
	}
	return f
}

func endOf(code int) string {
	if code < 0 {
		return "was ended by signal " + strconv.Itoa(-code)
	}
	return "exited with code " + strconv.Itoa(code)
}

// errorObject finds the message in a standard error that ends with a JSON object about an error.
func errorObject(stderr string) string {
	at := max(strings.LastIndex("\n"+stderr, "\n{"), 0)
	var o struct{ Error struct{ Message string } }
	if !object([]byte(stderr[at:]), &o) {
		return ""
	}
	return o.Error.Message
}

var escapes = pyregexp.Lazy("\x1b\\[[0-9;?]*[A-Za-z]")

// lastLines are the last lines of a standard error that hold anything, without colours.
func lastLines(s string) string {
	const most = 8
	if len(s) > 64<<10 {
		s = s[len(s)-64<<10:]
	}
	var lines []string
	for line := range strings.Lines(escapes().ReplaceAllString(s, "")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// oneLine is a text of a host as one line of a message, without what a terminal would obey.
func oneLine(s string) string {
	const most = 500
	if len(s) > 4*most {
		s = s[:4*most]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(escapes().ReplaceAllString(s, ""), func(r rune) bool {
		return r <= ' ' || r >= 0x7f && r < 0xa0
	}), " ")
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

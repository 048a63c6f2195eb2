package fsm

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// A Call is a request over HTTP that a state makes as its action. Its texts may have templates in them, apart
// from the method and the names of headers. [State.Action] is the method and the address, which is what views
// show.
type Call struct {
	Method  string // upper case
	URL     string
	Headers *value.Map // of texts; nil = none
	Body    string
	HasBody bool
	JSON    any // the body, as a value of which JSON is made
	HasJSON bool
}

// String is what views show of a call.
func (c *Call) String() string { return c.Method + " " + c.URL }

// A Request is a [Call] with every template in it expanded.
type Request struct {
	Method, URL string
	Headers     []Var
	Body        string
	HasBody     bool
	// what was inserted of the environment, by name: it is shown as ${env.NAME} wherever the response or an
	// error has it
	Secrets []Var
}

// A Response is the result of a [Request] besides the body, which is the output.
type Response struct {
	Status     int           // 0 = there was none
	Headers    *value.Map    // texts, by names in lower case, without the cookies it sets
	RetryAfter time.Duration // how long the server asks to wait; 0 = it does not say
}

// Exit codes of a request, by the result of it. One that took too long has that of other actions.
const (
	CallRefused = 1 // status 400 to 499
	CallOther   = 2 // any other status that is not 200 to 299
	CallFailed  = 3 // no response, or one that is too large
)

// Passing reports whether a request that was refused so may be accepted later. RFC 9110 and 6585 say so of these.
func (r *Response) Passing() bool {
	return r != nil && slices.Contains([]int{408, 425, 429}, r.Status)
}

// EnvReference is how a value of the environment is shown that is not to be recorded.
func EnvReference(name string) string { return "${env." + name + "}" }

// Shown is a look-up of ${env.*} that yields what is shown instead of the values that getenv finds.
func Shown(getenv func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if getenv == nil {
			return "", false
		}
		_, ok := getenv(name)
		return EnvReference(name), ok
	}
}

// expandAction returns the text of an action, and its request if it is one.
func expandAction(st *State, scope *expr.Scope) (string, *Request, error) {
	if st.Call != nil {
		return st.Call.request(scope)
	}
	text, err := expr.Expand(st.Action, scope)
	return text, nil, err
}

// request expands a call. The text is what is recorded of it: in that, references to the environment stay as they are.
func (c *Call) request(scope *expr.Scope) (text string, r *Request, err error) {
	shown := *scope
	shown.Getenv = Shown(scope.Getenv)
	if text, err = expr.Expand(c.URL, &shown); err != nil {
		return "", nil, err
	}
	r = &Request{Method: c.Method, HasBody: c.HasBody || c.HasJSON}
	real := *scope
	real.Getenv = r.remember(scope.Getenv)
	if r.URL, err = expr.Expand(c.URL, &real); err != nil {
		return "", nil, err
	}
	typed := false
	for _, name := range c.Headers.Keys() {
		v, err := expr.Expand(value.Text(c.Headers.Value(name)), &real)
		if err != nil {
			return "", nil, err
		}
		typed = typed || strings.EqualFold(name, contentType)
		r.Headers = append(r.Headers, Var{name, v})
	}
	if c.HasJSON {
		body, err := expr.ExpandValue(c.JSON, asData(&real))
		if err != nil {
			return "", nil, err
		}
		r.Body = string(value.AppendJSON(nil, body))
		if !typed {
			r.Headers = append(r.Headers, Var{contentType, "application/json"})
		}
	} else if r.Body, err = expr.Expand(c.Body, asData(&real)); err != nil {
		return "", nil, err
	}
	return c.Method + " " + text, r, nil
}

const contentType = "Content-Type"

// remember is a look-up of ${env.*} that notes what it found.
func (r *Request) remember(getenv func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if getenv == nil {
			return "", false
		}
		v, ok := getenv(name)
		if ok && v != "" && !slices.Contains(r.Secrets, Var{name, v}) {
			r.Secrets = append(r.Secrets, Var{name, v})
		}
		return v, ok
	}
}

// longestAsked is the longest wait that a server is granted before the next try.
const longestAsked = time.Hour

// waitAsked is the wait before the next try, which may be longer than planned where the server asks for that.
func (r *Response) waitAsked(planned time.Duration) time.Duration {
	if r == nil {
		return planned
	}
	return max(planned, min(r.RetryAfter, longestAsked))
}

// EachText calls found with every text of a call that may have templates in it, and where it is in the mapping.
func (c *Call) EachText(found func(text string, path ...string)) {
	found(c.URL, "url")
	for _, name := range c.Headers.Keys() {
		found(value.Text(c.Headers.Value(name)), "headers", name)
	}
	if c.HasBody {
		found(c.Body, "body")
	}
	if c.HasJSON {
		EachText(c.JSON, []string{"json"}, found)
	}
}

// EachText calls found with every string in a value of any depth, and where it is: below path.
func EachText(v any, path []string, found func(text string, path ...string)) {
	switch v := v.(type) {
	case string:
		found(v, path...)
	case []any:
		for i, e := range v {
			EachText(e, append(slices.Clone(path), strconv.Itoa(i)), found)
		}
	case *value.Map:
		for _, k := range v.Keys() {
			EachText(v.Value(k), append(slices.Clone(path), k), found)
		}
	}
}

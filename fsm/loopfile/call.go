package loopfile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/pyregexp"
	"loops/fsm/value"
)

// httpType is the action_type of a state that makes a request, which its key call alone says as well.
const httpType = "http"

// callMethods are the methods of requests.
var callMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// headerName is what a header is called: a token of RFC 9110.
var headerName = pyregexp.Lazy("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ownHeaders are headers that the program sets itself.
var ownHeaders = []string{"content-length", "transfer-encoding", "connection", "trailer", "upgrade"}

// call reads the call key of a state; nil means that it is not there, or is not a request.
func (d *decoder) call(s *stateDecl) *fsm.Call {
	of := s.b
	if !of.has("call") {
		if s.ActionType == httpType && !s.open {
			d.errorf(of.keyPos("action_type"), join(of.path, "action_type"), "missing-key",
				"action_type: http makes the request that call describes, and this state has no call; write call: "+
					"{url: \"https://…\"}")
		}
		return nil
	}
	if n := of.fields["call"].node; n.Kind != yaml.MappingNode {
		if !isNull(n) { // that is reported
			hint := ""
			if n.Kind == yaml.ScalarNode && n.Value != "" {
				hint = "; write {url: " + quote(n.Value) + "}"
			}
			d.errorf(d.pos(n), join(of.path, "call"), "wrong-type",
				"call must be a mapping such as {url: \"https://example.com/health\"}, found %s%s", describe(n), hint)
		}
		return nil
	}
	b := of.sub("call")
	c := &fsm.Call{
		Method: b.text("method"), URL: b.text("url"), Body: b.text("body"), HasBody: b.given("body"),
		Headers: d.callHeaders(b),
	}
	if b.has("json") {
		c.HasJSON = true
		if f := b.fields["json"]; !isNull(f.node) {
			c.JSON = b.get("json")
		}
	}
	if !b.has("method") || c.Method == "" {
		if c.Method = "GET"; c.HasBody || c.HasJSON {
			c.Method = "POST"
		}
	}
	d.checkCallURL(b, c)
	d.checkCallBody(b, c)
	return c
}

func (d *decoder) checkCallURL(b *block, c *fsm.Call) {
	f, path := b.fields["url"], join(b.path, "url")
	switch fixed := !strings.Contains(c.URL, "${"); {
	case !b.has("url"):
		d.errorf(b.d.pos(b.at), path, "missing-key", "call lacks url: the address of the request")
	case f.val == nil: // that is reported
	case strings.TrimSpace(c.URL) == "":
		d.errorf(d.pos(f.node), path, "range", "url is empty")
	case fixed && !webAddress(c.URL):
		d.errorf(d.pos(f.node), path, "bad-value",
			"url is %s; expected an address that begins with http:// or https://", quote(c.URL))
	case strings.ContainsAny(c.URL, "\r\n"):
		d.errorf(d.pos(f.node), path, "bad-value", "url has several lines; an address is one line")
	}
}

func webAddress(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

func (d *decoder) checkCallBody(b *block, c *fsm.Call) {
	report := func(key, rule, format string, args ...any) {
		d.errorf(b.keyPos(key), join(b.path, key), rule, format, args...)
	}
	for _, key := range []string{"json", "body"} {
		if !b.has(key) {
			continue
		}
		if key == "json" && b.has("body") {
			report("json", "conflict", "a request has one body; this call has body and json: keep one of them")
			return
		}
		if c.Method == "GET" || c.Method == "HEAD" {
			report(key, "conflict", "a %s request has no body; use method: POST, or put the values into the url",
				c.Method)
		}
	}
}

// callHeaders reads the headers of a request.
func (d *decoder) callHeaders(b *block) *value.Map {
	f, ok := b.fields["headers"]
	if !ok || isNull(f.node) {
		return nil
	}
	path := join(b.path, "headers")
	if f.node.Kind != yaml.MappingNode {
		d.errorf(d.pos(f.node), path, "wrong-type", "headers must be a mapping of names to texts, such as {Accept: "+
			"application/json}, found %s", describe(f.node))
		return nil
	}
	headers := value.NewMap()
	seen := map[string]bool{}
	for _, e := range d.entries(f.node, path) {
		at := join(path, e.name)
		text, ok := d.text(e.val, at, clip(e.name))
		lower := strings.ToLower(e.name)
		switch {
		case !headerName().MatchString(e.name):
			d.errorf(d.pos(e.key), at, "bad-key",
				"%s is not the name of a header; expected one such as Authorization", quote(e.name))
		case slices.Contains(ownHeaders, lower):
			d.errorf(d.pos(e.key), at, "bad-key", "the header %s is made from the request itself; take it away", e.name)
		case seen[lower]:
			d.errorf(d.pos(e.key), at, "duplicate-key", "the header %s is repeated", quote(e.name))
		case ok && isNull(e.val):
			d.errorf(d.pos(e.val), at, "null", "the header %s has no value", quote(e.name))
		case ok && strings.ContainsAny(strings.TrimRight(text, "\n"), "\r\n"):
			d.errorf(d.pos(e.val), at, "bad-value", "the header %s has several lines; a header is one line",
				quote(e.name))
		case ok:
			headers.Set(e.name, strings.TrimSpace(text))
		}
		seen[lower] = true
	}
	return headers
}

// notInCalls are keys that have no effect in a state that makes a request, and why.
var notInCalls = []struct{ key, why string }{
	{"action", "the request is the action"},
	{"params", "they belong to a tool; a request has a body or json"},
	{"loop", "a state makes a request or runs a loop: give each a state of its own"},
	{"wait", "a state makes a request or waits: give each a state of its own; wait: {url: …} asks until an " +
		"address answers"},
	{"ask", "a state makes a request or asks a person: give each a state of its own"},
	{"agent", "no agent is asked"},
	{"tools", "no agent is asked"},
}

// checkCall reports keys that a state that makes a request cannot have.
func (d *decoder) checkCall(s *stateDecl) {
	b := s.b
	if !b.has("call") || s.open || isNull(b.fields["call"].node) {
		return
	}
	report := func(key, rule, format string, args ...any) {
		d.errorf(b.keyPos(key), join(b.path, key), rule, format, args...)
	}
	if b.has("action_type") && s.ActionType != httpType {
		report("action_type", "conflict", "call makes a request, which is action_type: http, and this state says "+
			"%s; leave action_type out", quote(s.ActionType))
	}
	if s.mayEnd() {
		report("call", "conflict", "the run ends in a terminal state, so it makes no request there")
	}
	for _, not := range notInCalls {
		if b.has(not.key) {
			report(not.key, "conflict", "%s has no place beside call: %s", not.key, not.why)
		}
	}
	if s.Call == nil {
		return
	}
	for _, r := range expr.References(s.Call.Method) {
		report("call", "bad-value", "the method of a request is fixed, and this one has %s", clip(r.Text))
	}
}

package web

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"loops/internal/auth"
)

// TestAuditLinesUnquoted_35_2_9: a name with a space or a line break made fields and lines of an audit, which
// had neither event nor choice.
func TestAuditLinesUnquoted_35_2_9(t *testing.T) {
	t.Parallel()
	s, audit := newServer(t, &Access{})
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = "127.0.0.1:1234"
	r = r.WithContext(context.WithValue(r.Context(), userKey{}, auth.User{Name: "ada\" result=\"done\"\n2026"}))
	s.audit(r, Project{Name: "a shop"}, "signal", "run-1", fields{"event": "go\u202e\nnow", "data": "{}"}, nil)
	s.audit(r, Project{Name: "shop"}, "answer", "run-1", fields{"choice": "yes run=x", "question": "/1:1"},
		errors.New("late"))
	s.tell(r, "sign in", "as", "bob signed in as eve", "result", "refused")
	lines := strings.Split(strings.TrimSuffix(audit.String(), "\n"), "\n")
	const user = ` from=127.0.0.1:1234 user="ada\" result=\"done\"\n2026" `
	for i, want := range []string{
		`action="signal" project="a shop" run="run-1" event="go\u202e\nnow" result="done"`,
		`action="answer" project="shop" run="run-1" question="/1:1" choice="yes run=x" result="refused"`,
		`action="sign in" as="bob signed in as eve" result="refused"`,
	} {
		if len(lines) != 3 {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		if _, after, _ := strings.Cut(lines[i], "Z"); after != user+want {
			t.Errorf("line %d: %s, want %s", i, after, user+want)
		}
	}
}

package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"loops/internal/auth"
)

const (
	password = "correct horse"
)

// usersFile writes a file with a user of each role, who is called as the role is.
func usersFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users")
	for i, role := range auth.Roles {
		if err := auth.SetUser(path, role, password, auth.Viewer+auth.Role(i)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func newServer(t *testing.T, a *Access) (*Server, *strings.Builder) {
	t.Helper()
	var audit strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return New(ctx, Options{Edit: true, Access: a, Hosts: []string{"127.0.0.1:80"}, Audit: func(line string) {
		audit.WriteString(line + "\n")
	}}), &audit
}

func send(s *Server, method, path string, with func(*http.Request)) *httptest.ResponseRecorder {
	body := ""
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:80", "127.0.0.1:1234"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if with != nil {
		with(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func as(name string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

// TestEachRouteHasItsRole asks for each address as each role: who may gets an answer, and others get none.
func TestEachRouteHasItsRole(t *testing.T) {
	t.Parallel()
	users, err := auth.OpenUsers(usersFile(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, audit := newServer(t, &Access{Users: users})
	wild := regexp.MustCompile(`\{[^}]*\}`)
	s.done = closed() // a stream ends at once
	count := map[auth.Role]int{}
	for _, one := range s.routes() {
		method, path, ok := strings.Cut(one.pattern, " ")
		if !ok {
			method, path = "GET", one.pattern
		}
		path = wild.ReplaceAllStringFunc(path, func(name string) string {
			if name == "{$}" {
				return ""
			}
			return "x"
		})
		if count[one.least]++; one.least == auth.NoRole {
			t.Errorf("%s is for no user", one.pattern)
		}
		// which signatures guard
		if method != "GET" && one.least < auth.Operator && one.pattern != "POST /signin" &&
			one.pattern != "POST /signout" && !strings.HasPrefix(one.pattern, "POST /hooks/") &&
			!strings.HasPrefix(one.pattern, "POST /answer/") {
			t.Errorf("%s writes, and is for each %s", one.pattern, one.least)
		}
		for role := auth.Anyone; role <= auth.Author; role++ {
			var with func(*http.Request)
			if role > auth.Anyone {
				with = as(role.String())
			}
			w := send(s, method, path, with)
			shut := w.Code == http.StatusForbidden || w.Code == http.StatusUnauthorized ||
				w.Code == http.StatusSeeOther && strings.HasPrefix(w.Header().Get("Location"), "/signin?to=")
			if may := role >= one.least; shut == may && !(one.pattern == "POST /signin") {
				t.Errorf("%s as %s: %d %s", one.pattern, role, w.Code, w.Body)
			}
		}
	}
	if count[auth.Viewer] == 0 || count[auth.Operator] == 0 {
		t.Errorf("routes by role: %v", count)
	}
	if !strings.Contains(audit.String(), `user="viewer" action="request" address="POST `) {
		t.Errorf("no line tells that a viewer was refused:\n%s", audit)
	}
	if w := send(s, "DELETE", "/api/v1/runs", as("author")); w.Code != http.StatusMethodNotAllowed &&
		w.Code != http.StatusNotFound {
		t.Errorf("DELETE: %d", w.Code)
	}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestRouteWithoutRole: an address whose role was forgotten answers no user.
func TestRouteWithoutRole(t *testing.T) {
	t.Parallel()
	for role := auth.NoRole; role <= auth.Author; role++ {
		if role.May(auth.NoRole) {
			t.Errorf("%s may", role)
		}
	}
}

// cookies of an answer go with the next request.
func keep(w *httptest.ResponseRecorder) func(*http.Request) {
	return func(r *http.Request) {
		for _, c := range w.Result().Cookies() { //nolint:bodyclose // of a recorder
			r.AddCookie(c)
		}
	}
}

func form(text string) func(*http.Request) {
	return func(r *http.Request) {
		f := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
		r.Body, r.ContentLength = f.Body, f.ContentLength
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

// TestSignIn signs in and out, and has the file of users changed meanwhile.
func TestSignIn(t *testing.T) {
	t.Parallel()
	path := usersFile(t)
	users, err := auth.OpenUsers(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, audit := newServer(t, &Access{Users: users})
	if w := send(s, "GET", "/loops?x=1", nil); w.Code != http.StatusSeeOther ||
		w.Header().Get("Location") != "/signin?to=%2Floops%3Fx%3D1" {
		t.Errorf("a page before signing in: %d to %s", w.Code, w.Header().Get("Location"))
	}
	for _, bad := range []string{"name=viewer&password=wrong", "name=nobody&password=" + password, "name=viewer", ""} {
		if w := send(s, "POST", "/signin", form(bad)); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 { //nolint:bodyclose // of a recorder
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	in := send(s, "POST", "/signin", form("name=viewer&password="+password+"&to=/loops"))
	c := in.Header().Get("Set-Cookie")
	if in.Code != http.StatusSeeOther || in.Header().Get("Location") != "/loops" ||
		!strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") {
		t.Fatalf("signing in: %d to %s, %s", in.Code, in.Header().Get("Location"), c)
	}
	if w := send(s, "GET", "/api/v1/projects", keep(in)); w.Code != http.StatusOK {
		t.Errorf("signed in: %d %s", w.Code, w.Body)
	}
	if w := send(s, "POST", "/signout", keep(in)); w.Code != http.StatusSeeOther {
		t.Errorf("signing out: %d", w.Code)
	}
	if w := send(s, "GET", "/api/v1/projects", keep(in)); w.Code != http.StatusUnauthorized {
		t.Errorf("signed out: %d", w.Code)
	}
	in = send(s, "POST", "/signin", form("name=viewer&password="+password))
	if err := auth.SetUser(path, "viewer", "", auth.Operator); err != nil {
		t.Fatal(err)
	}
	if w := send(s, "GET", "/api/v1/projects", keep(in)); w.Code != http.StatusUnauthorized {
		t.Errorf("with another role the session holds: %d", w.Code)
	}
	if err := auth.RemoveUser(path, "operator"); err != nil {
		t.Fatal(err)
	}
	if w := send(s, "GET", "/api/v1/projects", as("operator")); w.Code != http.StatusUnauthorized {
		t.Errorf("a user who was removed: %d", w.Code)
	}
	for _, line := range []string{
		`action="sign in" as="viewer" result="refused"`,
		`action="sign in" as="nobody" result="refused"`, `action="sign in" as="viewer" result="done"`,
		`user="viewer" action="sign out"`,
	} {
		if !strings.Contains(audit.String(), line) {
			t.Errorf("no line has %s:\n%s", line, audit)
		}
	}
	for to, want := range map[string]string{
		"//evil.example": "/", `/\evil.example`: "/",
		"https://evil.example/": "/", "javascript:alert(1)": "/", "/p/x?y=1": "/p/x?y=1", "": "/", "/\tx": "/",
		"p": "/",
	} {
		if got := local(to); got != want {
			t.Errorf("after signing in, %q leads to %q, want %q", to, got, want)
		}
	}
}

// TestGuessing: after some wrong passwords none of that name is looked at for a while, not even the right one;
// others are let in.
func TestGuessing(t *testing.T) {
	t.Parallel()
	users, err := auth.OpenUsers(usersFile(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newServer(t, &Access{Users: users})
	s.Access.guesses.Burst, s.Access.guesses.Every = 2, time.Hour
	s.Access.attempts.Burst, s.Access.attempts.Every = 4, time.Hour
	guess := func(name, word, from string) int {
		return send(s, "POST", "/signin", func(r *http.Request) {
			form("name=" + name + "&password=" + word)(r)
			r.RemoteAddr = from
		}).Code
	}
	for i, want := range []int{401, 401, 429} {
		if got := guess("viewer", "wrong", "192.0.2.1:1"); got != want {
			t.Errorf("guess %d: %d, want %d", i, got, want)
		}
	}
	if got := guess("viewer", password, "192.0.2.2:1"); got != 429 {
		t.Errorf("the right password after too many wrong ones: %d", got)
	}
	if got := guess("author", password, "192.0.2.1:1"); got != 303 {
		t.Errorf("another user: %d", got)
	}
	for i, want := range []int{401, 401, 429} { // names that are not there, of one client: two are used
		if got := guess(fmt.Sprint("none", i), "wrong", "192.0.2.1:1"); got != want {
			t.Errorf("name %d: %d, want %d", i, got, want)
		}
	}
	if w := send(s, "GET", "/api/v1/projects", func(r *http.Request) { r.SetBasicAuth("viewer", "wrong") }); w.Code !=
		http.StatusUnauthorized {
		t.Errorf("a program that guesses: %d", w.Code)
	}
}

// TestTooManyRequests: one client that asks too often has to wait, another is answered.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, &Access{Token: token(t), Owner: auth.User{Name: "me", Role: auth.Author}})
	s.Access.requests.Burst, s.Access.requests.Every = 3, time.Hour
	for i, want := range []int{401, 401, 401, 429} {
		if w := send(s, "GET", "/", nil); w.Code != want || want == 429 && w.Header().Get("Retry-After") == "" {
			t.Errorf("request %d: %d, want %d", i, w.Code, want)
		}
	}
	if w := send(s, "GET", "/", func(r *http.Request) { r.RemoteAddr = "[2001:db8::1]:1" }); w.Code != 401 {
		t.Errorf("another client: %d", w.Code)
	}
	if a, b := auth.ClientOf("[2001:db8::1]:1"), auth.ClientOf("[2001:db8::ffff]:2"); a != b {
		t.Errorf("addresses of one network are %s and %s", a, b)
	}
}

func token(t *testing.T) *auth.Token {
	t.Helper()
	k, err := auth.KeepToken(t.TempDir(), "http://127.0.0.1:80/", strings.Repeat("t", 40))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// TestProxy: a header names the user if it comes from the proxy, once.
func TestProxy(t *testing.T) {
	t.Parallel()
	users, err := auth.OpenUsers(usersFile(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	from := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for _, c := range []struct {
		name   string
		remote string
		names  []string
		users  *auth.Users
		path   string
		want   int
	}{
		{"the proxy", "192.0.2.7:1", []string{"ada"}, nil, "/api/v1/projects", 200},
		{"over IPv6", "[::ffff:192.0.2.7]:1", []string{"ada"}, nil, "/api/v1/projects", 200},
		{"another client", "192.0.3.7:1", []string{"ada"}, nil, "/api/v1/projects", 401},
		{"no header", "192.0.2.7:1", nil, nil, "/api/v1/projects", 401},
		{"an empty one", "192.0.2.7:1", []string{""}, nil, "/api/v1/projects", 401},
		{"two of them", "192.0.2.7:1", []string{"ada", "eve"}, nil, "/api/v1/projects", 401},
		{"a name with a line", "192.0.2.7:1", []string{"a\x00b"}, nil, "/api/v1/projects", 401},
		{"a viewer who starts", "192.0.2.7:1", []string{"ada"}, nil, "/p/x/start", 403},
		{"a user of the file", "192.0.2.7:1", []string{"operator"}, users, "/p/x/start", 404},
		{"none of the file", "192.0.2.7:1", []string{"ada"}, users, "/api/v1/projects", 401},
	} {
		s, _ := newServer(t,
			&Access{Proxy: &auth.Proxy{Header: "X-User", From: from, Role: auth.Viewer, Users: c.users}})
		w := send(s, "GET", c.path, func(r *http.Request) {
			r.RemoteAddr = c.remote
			r.Header["X-User"] = c.names
		})
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d %s", c.name, w.Code, c.want, w.Body)
		}
	}
}

// TestRotate: when the token is replaced, who had the one before is out, with their cookie, too.
func TestRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k, err := auth.KeepToken(dir, "http://127.0.0.1:80/", strings.Repeat("t", 40))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	s, _ := newServer(t, &Access{Token: k, Owner: auth.User{Name: "me", Role: auth.Author}})
	in := send(s, "GET", "/?token="+k.Word(), nil)
	if in.Code != http.StatusSeeOther || strings.Contains(in.Header().Get("Location"), "token") {
		t.Fatalf("the address that is printed: %d", in.Code)
	}
	if w := send(s, "GET", "/api/v1/projects", keep(in)); w.Code != http.StatusOK {
		t.Errorf("with the cookie: %d", w.Code)
	}
	old := k.Word()
	told, err := auth.Tokens(dir, "127.0.0.1:80", true)
	if err != nil || len(told) != 1 || told[0].Token == old {
		t.Fatalf("rotate: %v %v", told, err)
	}
	for name, with := range map[string]func(*http.Request){
		"the cookie": keep(in),
		"the bearer": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+old) },
	} {
		if w := send(s, "GET", "/api/v1/projects", with); w.Code != http.StatusUnauthorized {
			t.Errorf("%s of before: %d", name, w.Code)
		}
	}
	if w := send(s, "GET", "/api/v1/projects", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+told[0].Token)
	}); w.Code != http.StatusOK {
		t.Errorf("the new one: %d", w.Code)
	}
	if w := send(s, "GET", "/api/v1/projects", func(r *http.Request) {
		r.Header["Authorization"] = []string{"Bearer x", "Bearer " + told[0].Token}
	}); w.Code != http.StatusUnauthorized {
		t.Errorf("two of them: %d", w.Code)
	}
	info, err := os.Stat(filepath.Join(dir, "127.0.0.1%3A80.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the token: %v %v", info, err)
	}
}

package web

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"loops/internal/auth"
)

// entrance has the addresses that are answered before a user is known, and where they come and go.
func (s *Server) entrance() []route {
	return []route{
		allow(auth.Anyone, "GET /assets/{name}", serveAsset), // which hold nothing of a project
		allow(auth.Anyone, "GET /metrics", s.metrics),        // which has a token of its own
		allow(auth.Anyone, "GET /signin", s.signinPage),
		allow(auth.Anyone, "POST /signin", s.signin),
		allow(auth.Anyone, "GET "+openidPath, s.openidBegin),
		allow(auth.Anyone, "GET "+openidPath+"/callback", s.openidFinish),
		allow(auth.Anyone, "POST /signout", s.signout),
	}
}

// exchange turns a token in an address into a cookie, and sends the browser to the address without it.
func (s *Server) exchange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		t := s.Access.Token
		if t == nil || r.Method != http.MethodGet || len(query["token"]) != 1 ||
			!auth.Same(query.Get("token"), t.Word()) {
			next.ServeHTTP(w, r)
			return
		}
		s.setCookie(w, r, auth.CookieOf(t.Word()))
		query.Del("token")
		to := url.URL{Path: s.BasePath + "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()}
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
	})
}

// A signinForm asks for name and password.
type signinForm struct {
	Password bool   // users sign in with one
	Provider string // users sign in there
	To, Said string
	Next     string // the user has signed in, and this is where they wanted to be
}

func (s *Server) signinPage(w http.ResponseWriter, r *http.Request) {
	f := signinForm{Password: s.Access.Users != nil, To: r.FormValue("to")}
	if s.Access.OpenID != nil {
		f.Provider = s.Access.OpenID.Host()
	}
	s.render(w, r, "signin", "Sign in", f)
}

func (s *Server) signin(w http.ResponseWriter, r *http.Request) {
	if s.Access.Users == nil {
		s.refuse(w, r, http.StatusNotFound, "users of this server do not sign in with a password")
		return
	}
	f, err := readFields(r)
	if err != nil {
		s.refuse(w, r, statusOf(err), err.Error())
		return
	}
	user, err := s.checkPassword(r, f["name"], f["password"])
	var late *tooOftenError
	switch {
	case errors.As(err, &late):
		tooMany(w, late.wait)
	case err != nil:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		s.render(w, r, "signin", "Sign in", signinForm{Password: true, To: f["to"], Said: err.Error()})
	default:
		_, version, _ := s.Access.Users.Find(user.Name)
		s.setCookie(w, r, s.Access.sessions.Begin(user, version))
		http.Redirect(w, r, s.BasePath+local(f["to"]), http.StatusSeeOther)
	}
}

// local returns an address of this server without its base path: a form may name another one.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(u.Path, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).RequestURI()
}

func (s *Server) signout(w http.ResponseWriter, r *http.Request) {
	for _, c := range r.CookiesNamed(s.cookie()) {
		s.Access.sessions.End(c.Value)
	}
	s.tell(r, "sign out")
	s.setCookie(w, r, "")
	http.Redirect(w, r, s.BasePath+"/signin", http.StatusSeeOther)
}

type tooOftenError struct{ wait time.Duration }

func (e *tooOftenError) Error() string {
	return "there were too many attempts to sign in; wait " + (e.wait.Truncate(time.Second) + time.Second).String()
}

var errNotSignedIn = errors.New("name or password is wrong")

// checkPassword returns the user with a name and a password. Failed attempts of one client, and those for one
// name, are limited.
func (s *Server) checkPassword(r *http.Request, name, password string) (auth.User, error) {
	a := s.Access
	if user, ok := a.proven.find(a.Users, name, password); ok {
		return user, nil
	}
	client := s.client(r)
	wait, ok := a.attempts.Take(client)
	if ok {
		if wait, ok = a.guesses.Take(name); !ok {
			a.attempts.Return(client)
		}
	}
	if !ok {
		return auth.User{}, &tooOftenError{wait}
	}
	user, version, ok := a.Users.Check(name, password)
	if !ok {
		s.tell(r, "sign in", "as", name, "result", "refused")
		return auth.User{}, errNotSignedIn
	}
	a.attempts.Return(client)
	a.guesses.Return(name)
	a.proven.keep(user.Name, password, version)
	s.tell(r, "sign in", "as", name, "result", "done")
	return user, nil
}

// proven are passwords that were right, so that a program that sends one with each request is not checked again each
// time: a hash is slow to make.
type proven struct {
	mu   sync.Mutex
	all  map[[sha256.Size]byte]time.Time // guarded by mu: until when
	salt string                          // guarded by mu
}

const provenTime = 5 * time.Minute

func (p *proven) key(name, password, version string) [sha256.Size]byte {
	if p.salt == "" {
		p.salt = auth.NewWord()
	}
	return sha256.Sum256([]byte(p.salt + "\x00" + name + "\x00" + version + "\x00" + password))
}

func (p *proven) find(users *auth.Users, name, password string) (auth.User, bool) {
	user, version, ok := users.Find(name)
	if !ok {
		return user, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.all[p.key(name, password, version)]
	return user, ok && time.Now().Before(until)
}

func (p *proven) keep(name, password, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) > 1000 {
		p.all = map[[sha256.Size]byte]time.Time{}
	}
	p.all[p.key(name, password, version)] = time.Now().Add(provenTime)
}

package web

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/internal/auth"
)

// policy is what a page may load: what this server has, and no code or style in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// An Access is how users are known. One way is set at least.
type Access struct {
	Token *auth.Token // the user who has it is Owner
	Owner auth.User
	Users *auth.Users // sign in with a password
	Proxy *auth.Proxy // names them
	File  string      // of users, which one of these asks; "" = none

	OpenID  *auth.Provider // has them sign in there
	Address string         // of this server, to which that sends them back; "" = the one they came by

	sessions auth.Sessions
	attempts auth.Allowance // of a client to sign in
	guesses  auth.Allowance // of the password of one user
	requests auth.Allowance // of a client
	proven   proven
}

// prepare sets the limits.
func (a *Access) prepare() {
	a.attempts.Burst, a.attempts.Every = 20, 6*time.Second
	a.guesses.Burst, a.guesses.Every = 5, 30*time.Second
	a.requests.Burst, a.requests.Every = 1000, 5*time.Millisecond
}

// guard answers only requests for this server, from its own pages, and not too many of one client. Who may ask
// for what: see routes.
func (s *Server) guard(next http.Handler) http.Handler {
	inner := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.answers(r.Host) {
			http.Error(w, "this server does not answer for that host; use the address that loops serve printed, or "+
				"name the host with --allow-host", http.StatusMisdirectedRequest)
			return
		}
		if r.TLS != nil && s.strict(r.Host) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if wait, ok := s.Access.requests.Take(s.client(r)); !ok {
			tooMany(w, wait)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // a recorder of a test has none
		inner.ServeHTTP(w, r)
	})
}

func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	http.Error(w, "too many requests; ask again later", http.StatusTooManyRequests)
}

// answers reports whether a value of the header Host is one of this server. A name that others made to point here is
// not.
func (s *Server) answers(host string) bool {
	if slices.Contains(s.Hosts, host) {
		return true
	}
	ip, port, err := net.SplitHostPort(host)
	return s.AnyIP != "" && err == nil && port == s.AnyIP && net.ParseIP(ip) != nil
}

// client returns what requests are counted by: after a proxy each user, else each address.
func (s *Server) client(r *http.Request) string {
	if p := s.Access.Proxy; p != nil {
		if user, ok := p.User(r); ok {
			return "user " + user.Name
		}
	}
	return auth.ClientOf(r.RemoteAddr)
}

func (s *Server) cookie() string {
	_, port, _ := net.SplitHostPort(s.Hosts[0])
	return "loops-" + port // cookies are shared by all ports of a host
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, word string) {
	c := &http.Cookie{
		Name: s.cookie(), Value: word, Path: s.BasePath + "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
	if word == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// identify returns who sent a request. An error says what is wrong with what was sent to prove it.
func (s *Server) identify(r *http.Request) (auth.User, error) {
	anyone := auth.User{Role: auth.Anyone}
	a := s.Access
	if a.Proxy != nil {
		user, ok := a.Proxy.User(r)
		if !ok {
			return anyone, nil
		}
		return user, nil
	}
	switch given := r.Header["Authorization"]; len(given) {
	case 0:
	case 1:
		return s.proves(r, given[0])
	default:
		return anyone, errors.New("the header Authorization is repeated")
	}
	for _, c := range r.CookiesNamed(s.cookie()) {
		if a.Token != nil && auth.Same(c.Value, auth.CookieOf(a.Token.Word())) {
			return a.Owner, nil
		}
		if user, version, ok := a.sessions.Find(c.Value); ok && a.holds(&user, version) {
			return user, nil
		}
	}
	return anyone, nil
}

// proves returns the user that a header Authorization names: of a program, which keeps no cookie.
func (s *Server) proves(r *http.Request, given string) (auth.User, error) {
	a, anyone := s.Access, auth.User{Role: auth.Anyone}
	if bearer, is := strings.CutPrefix(given, "Bearer "); is && a.Token != nil {
		if auth.Same(bearer, a.Token.Word()) {
			return a.Owner, nil
		}
		return anyone, errors.New("the token is not the one of this server; loops serve token prints it")
	}
	if name, password, is := r.BasicAuth(); is && a.Users != nil {
		user, err := s.checkPassword(r, name, password)
		if err != nil {
			return anyone, err
		}
		return user, nil
	}
	return anyone, errors.New("the header Authorization names no user of this server")
}

// unknown answers a request of a user who has not signed in: a browser is sent to where that is done.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	mode := r.Header.Get("Sec-Fetch-Mode")
	switch {
	case s.Access.Proxy != nil:
		s.refuse(w, r, http.StatusUnauthorized, "this server knows users by a proxy; open the address of that")
	case s.Access.Users == nil && s.Access.OpenID == nil:
		s.refuse(w, r, http.StatusUnauthorized, "open the address that loops serve printed: it has the token that "+
			"this server asks for (loops serve token prints it again)")
	case r.Method == http.MethodGet && !ofAPI(r) && (mode == "" || mode == "navigate"):
		to := url.URL{Path: s.BasePath + "/signin", RawQuery: url.Values{"to": {r.URL.RequestURI()}}.Encode()}
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
	default:
		s.refuse(w, r, http.StatusUnauthorized, "sign in first")
	}
}

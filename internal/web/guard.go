package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// policy is what a page may load: what this server has, and no code or style in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// NewToken returns a word that nobody can guess.
func NewToken() string { return rand.Text() + rand.Text() }

// guard answers only requests for this server, from its own pages, by users who have the token.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	inner := origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.exchange(w, r):
		case !s.known(r) && !strings.HasPrefix(r.URL.Path, "/assets/"): // which hold nothing of a project
			s.refuse(w, r, http.StatusUnauthorized, "open the address that loops serve printed: it has the token that this server asks for")
		default:
			next.ServeHTTP(w, r)
		}
	}))
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
			http.Error(w, "this server does not answer for that host; use the address that loops serve printed, or name the host with --allow-host", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // a recorder of a test has none
		inner.ServeHTTP(w, r)
	})
}

// answers reports whether a value of the header Host is one of this server. A name that was made to point here by others is none.
func (s *Server) answers(host string) bool {
	if slices.Contains(s.Hosts, host) {
		return true
	}
	ip, port, err := net.SplitHostPort(host)
	return s.AnyIP != "" && err == nil && port == s.AnyIP && net.ParseIP(ip) != nil
}

func (s *Server) cookie() string {
	_, port, _ := net.SplitHostPort(s.Hosts[0])
	return "loops-" + port // cookies are shared by all ports of a host
}

// exchange turns a token in the address into a cookie, and sends the browser to the address without it.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if r.Method != http.MethodGet || !same(query.Get("token"), s.Token) {
		return false
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.session, Path: s.BasePath + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	query.Del("token")
	to := url.URL{Path: s.BasePath + "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

// known reports whether a request comes from a user who had the token.
func (s *Server) known(r *http.Request) bool {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(bearer, s.Token)
	}
	for _, c := range r.CookiesNamed(s.cookie()) {
		if same(c.Value, s.session) {
			return true
		}
	}
	return false
}

func same(given, wanted string) bool {
	return given != "" && subtle.ConstantTimeCompare([]byte(given), []byte(wanted)) == 1
}

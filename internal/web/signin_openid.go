package web

import (
	"net/http"
	"strings"

	"loops/internal/auth"
)

// openidVersion is the version of a session of a user that the provider of OpenID Connect named.
const openidVersion = "openid"

const openidPath = "/signin/openid"

// openidCookie is kept while a user is at the provider. The way back is from another site, so it is Lax.
func (s *Server) openidCookie(w http.ResponseWriter, r *http.Request, word string) {
	c := &http.Cookie{
		Name: s.cookie() + "-openid", Value: word, Path: s.BasePath + openidPath, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil, MaxAge: 600,
	}
	if word == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// openidBegin sends a browser to the provider.
func (s *Server) openidBegin(w http.ResponseWriter, r *http.Request) {
	p := s.Access.OpenID
	if p == nil {
		s.refuse(w, r, http.StatusNotFound, "users of this server do not sign in at a provider")
		return
	}
	if wait, ok := s.Access.attempts.Take(s.client(r)); !ok {
		tooMany(w, wait)
		return
	}
	back := s.Access.Address
	if back == "" {
		back = "http://" + r.Host + s.BasePath
		if r.TLS != nil {
			back = "https://" + r.Host + s.BasePath
		}
	}
	to, browser, err := p.Begin(r.Context(), strings.TrimRight(back, "/")+openidPath+"/callback",
		local(r.FormValue("to")))
	if err != nil {
		s.tell(r, "sign in at the provider", "error", err.Error(), "result", "refused")
		s.refuse(w, r, http.StatusBadGateway, err.Error())
		return
	}
	s.openidCookie(w, r, browser)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// openidFinish takes the answer of the provider, with which it sent the browser back.
func (s *Server) openidFinish(w http.ResponseWriter, r *http.Request) {
	p := s.Access.OpenID
	if p == nil {
		s.refuse(w, r, http.StatusNotFound, "users of this server do not sign in at a provider")
		return
	}
	browser := ""
	if c, err := r.Cookie(s.cookie() + "-openid"); err == nil {
		browser = c.Value
	}
	user, to, err := p.Finish(r.Context(), browser, r.URL.Query())
	s.openidCookie(w, r, "")
	if err != nil {
		s.tell(r, "sign in at the provider", "as", user.Name, "error", err.Error(), "result", "refused")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnauthorized)
		s.render(w, r, "signin", "Sign in", signinForm{Provider: p.Host(), Said: err.Error()})
		return
	}
	s.Access.attempts.Return(s.client(r))
	s.tell(r, "sign in at the provider", "as", user.Name, "result", "done")
	s.setCookie(w, r, s.Access.sessions.Begin(user, openidVersion))
	// The cookie of the session is Strict: it is not sent with a redirect that another site began. This page begins it.
	next := s.BasePath + local(to)
	w.Header().Set("Refresh", "0; url="+next)
	s.render(w, r, "signin", "Signed in", signinForm{Next: next})
}

// holds reports whether a session holds still: its user may sign in now, with the password and the role that
// they began it with.
func (a *Access) holds(user *auth.User, version string) bool {
	var ok bool
	var is string
	switch {
	case a.OpenID != nil && version == openidVersion:
		*user, ok = a.OpenID.Find(user.Name)
		return ok
	case a.Users == nil:
		return true
	}
	*user, is, ok = a.Users.Find(user.Name)
	return ok && is == version
}

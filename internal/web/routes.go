package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"loops/internal/auth"
)

// A route is an address that is answered, for those who may. Routes are made by [allow] only, so that none is
// without a role; one that has the zero role is for no user.
type route struct {
	pattern string // as [http.ServeMux] has it, without the base path
	least   auth.Role
	answer  http.HandlerFunc
	tells   *operation // what the document of the API says of it; nil = it is no part of that
}

// allow returns a route for users who have a role, or one that may more.
func allow(least auth.Role, pattern string, answer http.HandlerFunc) route {
	return route{pattern: pattern, least: least, answer: answer}
}

// told returns a route of the API, with what its document says of it.
func (r route) documented(o operation) route {
	r.tells = &o
	return r
}

// routes are all addresses that are answered.
func (s *Server) routes() []route {
	return slices.Concat(s.entrance(), s.hooks(), s.answering(), s.api(), s.boards(), s.editing(), s.pages())
}

// mux answers at all routes, each for users who may. This is the one place that lets a request in.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	for _, one := range s.routes() {
		mux.HandleFunc(one.pattern, func(w http.ResponseWriter, r *http.Request) {
			user, err := s.identify(r)
			r = r.WithContext(context.WithValue(r.Context(), userKey{}, user))
			switch {
			case err != nil && one.least != auth.Anyone:
				s.refuse(w, r, http.StatusUnauthorized, err.Error())
			case user.Role.May(one.least):
				if one.tells != nil {
					r = r.WithContext(context.WithValue(r.Context(), operationKey{}, one.tells))
					if err := one.tells.wrongQuery(r.URL.Query(), s.projectNames()); err != nil {
						s.refuse(w, r, http.StatusBadRequest, err.Error())
						return
					}
				}
				one.answer(w, r)
			case user.Role == auth.Anyone:
				s.unknown(w, r)
			default:
				s.tell(r, "request", "address", one.pattern, "result", "refused")
				s.refuse(w, r, http.StatusForbidden, "this is for users with the role "+one.least.String()+
					"; yours is "+user.Role.String())
			}
		})
	}
	return mux
}

func (s *Server) projectNames() []string {
	names := make([]string, len(s.Projects))
	for i, p := range s.Projects {
		names[i] = p.Name
	}
	return names
}

type (
	userKey      struct{}
	operationKey struct{}
)

// userOf returns who sent a request.
func userOf(r *http.Request) auth.User {
	user, ok := r.Context().Value(userKey{}).(auth.User)
	if !ok {
		return auth.User{Role: auth.Anyone}
	}
	return user
}

// may reports whether the user of a request has a role, for pages that show what can be done.
func may(r *http.Request, least auth.Role) bool { return userOf(r).Role.May(least) }

// ofAPI reports whether a program asks.
func ofAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// audited are the fields of a write that its line for the audit has, where they are given.
var audited = []string{"loop", "event", "question", "choice", "worker", "pattern"}

// audit writes the line about a write: what was asked for with which fields, of which run, and whether it was done.
func (s *Server) audit(r *http.Request, p Project, action, run string, f fields, err error) {
	if run == "" {
		run = r.PathValue("run")
	}
	result := "done"
	if err != nil {
		result = "refused"
	}
	pairs := []string{"project", p.Name, "run", run}
	for _, name := range audited {
		pairs = append(pairs, name, f[name])
	}
	s.tell(r, action, append(pairs, "result", result)...)
}

// tell writes a line for the audit: time, where the request came from, user, action, and pairs of a name and a
// value, of which those with an empty value are left out. Every value but the time and the address is quoted as
// in Go, so none of them can end its line or add a pair.
func (s *Server) tell(r *http.Request, action string, pairs ...string) {
	var line strings.Builder
	line.WriteString(time.Now().UTC().Format(time.RFC3339) + " from=" + r.RemoteAddr)
	pairs = append([]string{"user", userOf(r).Name, "action", action}, pairs...)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			line.WriteString(" " + pairs[i] + "=" + strconv.Quote(pairs[i+1]))
		}
	}
	s.Audit(line.String())
}

package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// secretHeaders are the headers by which a server knows who asks.
var secretHeaders = []string{
	"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token",
	"private-token", "x-goog-api-key", "x-vault-token",
}

// plainSecret warns of a secret of a request that does not come from the environment: it is in the file, and in
// the records.
func (c *checker) plainSecret(s *fsm.State) {
	if s.Call == nil {
		return
	}
	for _, name := range s.Call.Headers.Keys() {
		text := value.Text(s.Call.Headers.Value(name))
		if !slices.Contains(secretHeaders, strings.ToLower(name)) || text == "" || strings.Contains(text, "${env.") ||
			strings.Contains(text, "${param.") {
			continue
		}
		where := "in the loop file, for everybody who can read it"
		if strings.Contains(text, "${") {
			where = "in the records of each run"
		}
		c.warnf("plain-secret", valueAt("states", s.Name, "call", "headers", name),
			"the header %s is a secret, and is %s; write ${env.NAME}, which is recorded nowhere",
			humanize.Quote(name), where)
	}
}

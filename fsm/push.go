package fsm

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// gitPushes matches a script whose last command is git push.
var gitPushes = regexp.MustCompile(`(?:^|[\n;&|]|\bexec)[ \t]*(?:\w+=\S*[ \t]+)*git(?:[ \t]+-[cC][ \t]+\S+)*[ \t]+push\b[^\n;&|]*$`)

// refusedPush are texts of git, ssh and servers about a push that no one let in. Each needs a person. Where git speaks
// another language some are not found, and the push is a failure as any other.
var refusedPush = []string{
	"authentication failed", "could not read username", "could not read password", "permission denied (publickey", "host key verification failed",
	"invalid username or password", "access denied", "the requested url returned error: 401", "the requested url returned error: 403",
	"password authentication was removed", "password authentication is not supported",
}

// pushHost matches the server in what git or ssh says of a refused push.
var pushHost = regexp.MustCompile(`(?:https?|ssh)://(?:[^@/\s']*@)?([A-Za-z0-9.-]+)|(?m:^(?:[\w.-]+@)?([\w.-]+): Permission denied)`)

// pushPrefix begins the name of a server of git that suspends runs.
const pushPrefix = "git:"

// pushRefused returns what suspends a run whose action ended with a push that needs a login; "" = nothing does.
func pushRefused(st *State, res *Result) string {
	if !gitPushes.MatchString(strings.TrimSpace(st.Action)) {
		return ""
	}
	said := strings.ToLower(res.Stderr)
	if !slices.ContainsFunc(refusedPush, func(text string) bool { return strings.Contains(said, text) }) {
		return ""
	}
	if m := pushHost.FindStringSubmatch(res.Stderr); m != nil && utf8.ValidString(m[1]+m[2]) {
		return pushPrefix + m[1] + m[2]
	}
	return pushPrefix + "origin"
}

package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"

	"loops/internal/humanize"
)

// A Role is what a user may do, or what an address asks for. Each role may do what those before it may. The
// zero value allows nothing: an address with it is for no user.
type Role int

// The roles, least first.
const (
	NoRole   Role = iota
	Anyone        // who has not signed in
	Viewer        // reads
	Operator      // starts, stops and answers runs, too
	Author        // changes loops, too
)

// Roles are the names of those that a user can have, least first.
var Roles = []string{"viewer", "operator", "author"}

// ParseRole reads the name of a role that a user can have.
func ParseRole(name string) (Role, error) {
	for i, known := range Roles {
		if name == known {
			return Viewer + Role(i), nil
		}
	}
	return NoRole, fmt.Errorf("%s is no role; expected %s%s", humanize.Quote(name), strings.Join(Roles, ", "),
		humanize.DidYouMean(name, Roles))
}

func (r Role) String() string {
	switch {
	case r >= Viewer && r <= Author:
		return Roles[r-Viewer]
	case r == Anyone:
		return "anyone"
	}
	return "no role"
}

// May reports whether a user with this role may do what asks for another.
func (r Role) May(asked Role) bool { return asked > NoRole && r >= asked }

// A User is one that a server knows, or with [Anyone] one that it does not.
type User struct {
	Name string
	Role Role
}

// NewWord returns a random word of 260 bits, which cannot be guessed.
func NewWord() string { return rand.Text() + rand.Text() }

// Same reports in constant time whether a secret is the one that is wanted. An empty one never is.
func Same(given, wanted string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(wanted))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && wanted != ""
}

// CookieOf returns what a browser keeps instead of a token: it changes with the token, which cannot be
// found from it.
func CookieOf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("loops serve: session"))
	return hex.EncodeToString(m.Sum(nil))
}

package action

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"

	"loops/internal/mask"
)

// leastSecret is the least length of a text that is hidden: a shorter one is in many texts that have nothing to do with
// it.
const leastSecret = 4

// leastPath is how long the path of an address is at least that is hidden together with the address: a shorter
// one is no secret.
const leastPath = 8

// A hider replaces secrets by what is shown instead of them.
type hider struct{ pairs [][2][]byte }

// newHider returns that of a call to address. Where its server is, is no secret.
func newHider(secrets []HTTPSecret, address string) *hider {
	h := &hider{}
	server := serverOf(address)
	for _, s := range secrets {
		for _, text := range hidden(s.Text, server) {
			h.hide(text, s.Shown)
		}
	}
	if u, err := url.Parse(address); err == nil && u.User != nil {
		// it goes out in a header, so
		if pair := u.User.Username() + ":" + password(u); string(h.bytes([]byte(pair))) != pair {
			h.hide(base64.StdEncoding.EncodeToString([]byte(pair)), "[credentials of the url]")
		}
	}
	// the longest first: others may be parts of it
	slices.SortStableFunc(h.pairs, func(a, b [2][]byte) int { return len(b[0]) - len(a[0]) })
	return h
}

func password(u *url.URL) string {
	p, _ := u.User.Password()
	return p
}

// serverOf is the beginning of an address, up to its path.
func serverOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// hidden returns what of a text is secret.
func hidden(text, server string) []string {
	if strings.Contains(server, text) {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return []string{text}
	}
	var list []string
	switch {
	case u.User != nil && password(u) != "":
		list = append(list, text, password(u))
	case u.User != nil:
		list = append(list, text, u.User.Username())
	}
	if rest := u.RequestURI(); len(rest) >= leastPath {
		list = append(list, text, rest)
	}
	return list
}

// hide has a text replaced in the forms in which it may come back.
func (h *hider) hide(text, shown string) {
	for _, form := range mask.Forms(text, leastSecret) {
		if !slices.ContainsFunc(h.pairs, func(p [2][]byte) bool { return string(p[0]) == form }) {
			h.pairs = append(h.pairs, [2][]byte{[]byte(form), []byte(shown)})
		}
	}
}

func (h *hider) bytes(b []byte) []byte {
	for _, p := range h.pairs {
		if bytes.Contains(b, p[0]) {
			b = bytes.ReplaceAll(b, p[0], p[1])
		}
	}
	return b
}

func (h *hider) text(s string) string { return string(h.bytes([]byte(s))) }

// err returns an error unchanged, with its type, if there is nothing to hide in its text.
func (h *hider) err(err error) error {
	if text := h.text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

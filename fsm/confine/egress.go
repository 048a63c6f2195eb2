package confine

import (
	"encoding/base64"
	"slices"
	"strings"
)

// An Egress is a secret that leaves for some hosts only. Commands have a stand-in of it, which is replaced in
// requests to these hosts.
type Egress struct {
	Name    string
	StandIn string
	Value   string
	Hosts   []string // HOST:PORT
}

// NewEgress returns the Egress of a secret. Hosts without a port are those of HTTPS.
func NewEgress(name, value string, hosts []string) Egress {
	e := Egress{Name: name, StandIn: "loops-stand-in-for-" + name, Value: value}
	for _, h := range hosts {
		e.Hosts = append(e.Hosts, withPort(h))
	}
	return e
}

// withPort returns HOST:PORT; the port of HTTPS where none is named.
func withPort(host string) string {
	if strings.Contains(host, ":") {
		return host
	}
	return host + ":443"
}

// IsHost reports whether a text is one of the hosts of an [Egress]: HOST, *.HOST, or one of them with :PORT.
func IsHost(text string) bool { return isTarget(withPort(text)) }

// Lists reports whether layers of policies let a command reach listed hosts, by a proxy.
func Lists(layers []*Policy) bool {
	return slices.ContainsFunc(layers, func(p *Policy) bool {
		return len(p.Network) > 0 && !slices.Contains([]string{NetNone, NetLoopback, NetAll}, p.Network[0])
	})
}

// egressHeaders are the headers in which a stand-in is replaced, in lower case.
var egressHeaders = []string{"authorization", "x-api-key", "x-goog-api-key"}

// Write returns the value of a header of a request to HOST:PORT over TLS, with secrets in place of their stand-ins.
// In a user name with a password, as git sends them, they are replaced as well.
func Write(list []Egress, target, header, text string) string {
	if !slices.Contains(egressHeaders, strings.ToLower(header)) {
		return text
	}
	for _, e := range list {
		if Reaches(e.Hosts, target) {
			text = strings.ReplaceAll(text, e.StandIn, e.Value)
			text = basic(text, e)
		}
	}
	return text
}

// basic replaces a stand-in in what is encoded of the scheme Basic.
func basic(text string, e Egress) string {
	const scheme = "basic "
	if len(text) <= len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return text
	}
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text[len(scheme):]))
	if err != nil || !strings.Contains(string(pair), e.StandIn) {
		return text
	}
	return text[:len(scheme)] +
		base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(pair), e.StandIn, e.Value)))
}

// Reaches reports whether HOST:PORT is in a list, where *.HOST stands for all below it.
func Reaches(hosts []string, target string) bool {
	target = strings.ToLower(target)
	return slices.ContainsFunc(hosts, func(h string) bool {
		h = strings.ToLower(h)
		below, any := strings.CutPrefix(h, "*")
		return h == target || any && strings.HasPrefix(below, ".") && strings.HasSuffix(target, below)
	})
}

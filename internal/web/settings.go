package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/engine/trigger"
	"loops/internal/auth"
	"loops/internal/humanize"
)

// shortestToken is how long a token that a user chose is at least.
const shortestToken = 32

// Settings are where a server listens and how users are known, as a command line says it.
type Settings struct {
	Listen   string // an address and a port, of which 0 is any
	BasePath string
	Hosts    []string // that are answered, too
	Edit     bool     // authors may change loops
	Insecure bool     // it may listen beyond this machine although nothing is encrypted
	Cert     string   // file; "" = nothing is encrypted
	Key      string
	Auth     string   // a file of users; "" = none
	Header   string   // of a proxy that names the user; "" = none
	From     []string // where the proxy is
	Role     string   // of the users that it names
	OpenID   auth.ProviderSettings
	OpenRole string // of all users of the provider, unless Auth says who; "" = Auth does
	Address  string // of this server, to which the provider sends browsers back; "" = the one they came by
	Token    string // "" = a new one
	StateDir string // where the token is kept; "" = nowhere
	Owner    string // the user that the token stands for
	HSTS     string // one of HSTSModes; "" = the first

	Say func(string) // gets what is wrong with a file that is read again
}

// A WrongSettingsError says what settings do not go together or cannot be read.
type WrongSettingsError struct{ Why string }

func (e *WrongSettingsError) Error() string { return e.Why }

func wrong(format string, args ...any) error {
	return &WrongSettingsError{fmt.Sprintf(format, args...)}
}

// A Post is a place where a server can work: it listens already. The caller closes it.
type Post struct {
	Listener net.Listener
	Options  Options
	Address  string // to open; with the token, where there is one
	Note     string // what does not work

	base string // without the token
}

// Webhooks returns a line for each webhook of the projects: its name, its address, what a message does, and why
// it is refused.
func (p *Post) Webhooks() (lines []string) {
	listed, count := make([][]trigger.ListedWebhook, len(p.Options.Projects)), map[string]int{}
	for i, served := range p.Options.Projects {
		if served.Hooks != nil {
			listed[i] = served.Hooks.List()
		}
		for _, l := range listed[i] {
			count[l.Name]++
		}
	}
	for i, served := range p.Options.Projects {
		for _, l := range listed[i] {
			path := "hooks/" + url.PathEscape(l.Name)
			if count[l.Name] > 1 {
				path = "hooks/" + url.PathEscape(served.Name) + "/" + url.PathEscape(l.Name)
			}
			line := "webhook " + l.Name + ": POST " + p.base + path + " " + l.Does
			if l.Why != "" {
				line += "; messages are refused: " + l.Why
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Close stops listening.
func (p *Post) Close() {
	_ = p.Listener.Close()
	if p.Options.Access.Token != nil {
		p.Options.Access.Token.Close()
	}
}

// check refuses what does not go together.
func (s *Settings) check() (host string, err error) {
	host, _, err = net.SplitHostPort(s.Listen)
	beyond := !IsLoopback(host)
	switch {
	case err != nil:
		return "", wrong("--listen: expected an address and a port, such as 127.0.0.1:8080: %v", err)
	case strings.ContainsAny(s.BasePath, " {}?#%\\\"<>") || strings.Contains(s.BasePath, ".."):
		return "", wrong("--base-path: expected a path such as /loops")
	case (s.Cert == "") != (s.Key == ""):
		return "", wrong("--tls-cert and --tls-key go together")
	case s.HSTS != "" && !slices.Contains(HSTSModes, s.HSTS):
		return "", wrong("--hsts: expected %s, not %s", strings.Join(HSTSModes, ", "), humanize.Quote(s.HSTS))
	case s.Token != "" && len(s.Token) < shortestToken:
		return "", wrong("LOOPS_SERVE_TOKEN has %s; expected %d or more that cannot be guessed",
			humanize.Count(len(s.Token), "character"), shortestToken)
	case s.Header == "" && len(s.From) > 0:
		return "", wrong("--trust-from says where the proxy is whose header --trust-header names; add that")
	case s.OpenID.Issuer == "" &&
		(s.OpenID.ClientID != "" || s.OpenID.SecretFile != "" || s.OpenID.Claim != "" || s.OpenRole != "" ||
			s.Address != ""):
		return "", wrong("the other flags --oidc-… are about the provider that --oidc-issuer names; add that")
	case s.OpenID.Issuer != "" && s.Header != "":
		return "", wrong("users are named by a proxy (--trust-header) or by a provider (--oidc-issuer); choose one")
	case beyond && s.Auth == "" && s.Header == "" && s.OpenID.Issuer == "":
		return "", wrong("--listen %s can be reached from other machines, where a token in an address is not "+
			"enough: say who may with --auth FILE (loops serve passwd writes it), with --oidc-issuer, or with "+
			"--trust-header behind a proxy", s.Listen)
	case beyond && s.Cert == "" && !s.Insecure:
		return "", wrong("--listen %s can be reached from other machines, and nothing that is sent would be "+
			"encrypted; add --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy with TLS, or "+
			"add --insecure", s.Listen)
	}
	return host, nil
}

// Open listens. An error is a [WrongSettingsError], or explains why that is not possible.
func (s *Settings) Open(ctx context.Context) (*Post, error) {
	host, err := s.check()
	if err != nil {
		return nil, err
	}
	o := Options{
		BasePath: CleanBase(s.BasePath),
		Access:   &Access{Owner: auth.User{Name: s.Owner, Role: auth.Author}, File: s.Auth}, HSTS: s.HSTS,
	}
	scheme := "http"
	if s.Cert != "" {
		scheme = "https"
		c := &certificate{cert: s.Cert, key: s.Key}
		if _, err := c.get(nil); err != nil {
			return nil, wrong("--tls-cert, --tls-key: %v", err)
		}
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	}
	if s.Auth != "" {
		if o.Access.Users, err = auth.OpenUsers(s.Auth, s.Say); err != nil {
			return nil, wrong("--auth: %v", err)
		}
	}
	if s.Header != "" {
		if o.Access.Proxy, err = auth.NewProxy(s.Header, s.From, s.Role, o.Access.Users); err != nil {
			return nil, &WrongSettingsError{err.Error()}
		}
		o.Access.Users = nil // it has the roles of those that the proxy names, and no passwords
	}
	if s.OpenID.Issuer != "" {
		if err := s.openID(o.Access); err != nil {
			return nil, err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	o.Hosts, o.AnyIP = HostsOf(l.Addr().String(), host, s.Hosts)
	p := &Post{Listener: l, Options: o, base: scheme + "://" + o.Hosts[0] + o.BasePath + "/"}
	p.Address = p.base
	if a := o.Access; a.Users == nil && a.Proxy == nil && a.OpenID == nil {
		p.keepToken(s)
	}
	return p, nil
}

// openID has users sign in at a provider.
func (s *Settings) openID(a *Access) (err error) {
	if s.OpenRole != "" {
		if s.OpenID.Role, err = auth.ParseRole(s.OpenRole); err != nil {
			return wrong("--oidc-role: %v", err)
		}
	}
	if u, err := url.Parse(s.Address); s.Address != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return wrong("--oidc-address: expected the address of this server as browsers open it, such as " +
			"https://ci.example.org/loops")
	}
	s.OpenID.Users = a.Users
	if a.OpenID, err = auth.NewProvider(s.OpenID); err != nil {
		return wrong("--oidc-issuer: %v", err)
	}
	a.Users, a.Address = nil, s.Address // it has the roles of those that the provider names, and no passwords
	return nil
}

func (p *Post) keepToken(s *Settings) {
	word := s.Token
	if word == "" {
		word = auth.NewWord()
	}
	t, err := auth.KeepToken(s.StateDir, p.Address, word)
	if err != nil {
		p.Note = fmt.Sprintf("the token is not kept in a file, so that loops serve token does not find "+
			"this server: %v", err)
	}
	p.Options.Access.Token = t
	p.Address = auth.Running{Address: p.Address, Token: word}.URL()
}

// A certificate is read again when its files have changed. It may be used by several goroutines at once.
type certificate struct {
	cert, key string

	mu     sync.Mutex
	now    *tls.Certificate // guarded by mu
	looked time.Time        // guarded by mu
	stamp  [2]time.Time     // guarded by mu
}

// certificateEvery is how often is looked whether the files have changed.
const certificateEvery = time.Second

// get returns the certificate. One that cannot be read does not take the place of one that could.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && time.Since(c.looked) < certificateEvery {
		return c.now, nil
	}
	c.looked = time.Now()
	var stamp [2]time.Time
	var errs [2]error
	for i, file := range []string{c.cert, c.key} {
		info, err := os.Stat(file)
		if errs[i] = err; err == nil {
			stamp[i] = info.ModTime()
		}
	}
	err := errors.Join(errs[:]...)
	if err == nil && (c.now == nil || stamp != c.stamp) {
		var fresh tls.Certificate
		if fresh, err = tls.LoadX509KeyPair(c.cert, c.key); err == nil {
			c.now, c.stamp = &fresh, stamp
		}
	}
	if c.now != nil {
		return c.now, nil
	}
	return nil, err
}

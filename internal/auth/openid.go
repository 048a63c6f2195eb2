package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"loops/internal/humanize"
)

const (
	attemptAge   = 10 * time.Minute // how long a user has to sign in
	mostAttempts = 10_000
	askTime      = 15 * time.Second // for a question to the provider
)

// ProviderSettings are what a provider knows a server by, and who is let in.
type ProviderSettings struct {
	Issuer     string // an address; https, but on this machine
	ClientID   string
	SecretFile string // a file with the client's secret; "" = it has none
	Claim      string // the claim that is the name of a user; "" = email, which then has to be verified
	Role       Role
	Users      *Users // who is let in, with which role; nil = each user of the provider, with Role
}

// A Provider signs users in. It may be used by several goroutines at once.
type Provider struct {
	ProviderSettings
	secret string

	mu       sync.Mutex
	found    *oidc.Provider      // guarded by mu; nil = it was not reached yet
	attempts map[string]*attempt // guarded by mu, by their states
}

// An attempt is a user who was sent to the provider.
type attempt struct {
	browser, nonce, verifier, redirect, to string
	begun                                  time.Time
}

// NewProvider returns a provider. It is asked for its keys and addresses when the first user signs in, so a
// server starts while it is away.
func NewProvider(s ProviderSettings) (*Provider, error) {
	u, err := url.Parse(s.Issuer)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("%s: expected the address of a provider of OpenID Connect, such as "+
			"https://id.example.org", humanize.Quote(s.Issuer))
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, fmt.Errorf("%s: expected https, which only a provider on this machine can do without",
			humanize.Quote(s.Issuer))
	case s.ClientID == "":
		return nil, errors.New("a client id is missing: the name by which the provider knows this server")
	case s.Users == nil && s.Role == NoRole:
		return nil, errors.New("nothing says who may sign in: a file of users, or a role for all users of the provider")
	}
	p := &Provider{ProviderSettings: s, attempts: map[string]*attempt{}}
	if s.SecretFile == "" {
		return p, nil
	}
	secret, err := os.ReadFile(s.SecretFile)
	if err != nil {
		return nil, err
	}
	if p.secret = strings.TrimSpace(string(secret)); p.secret == "" {
		return nil, fmt.Errorf("%s is empty: expected the secret of the client", humanize.Quote(s.SecretFile))
	}
	return p, nil
}

// Host names the provider for a user.
func (p *Provider) Host() string {
	u, _ := url.Parse(p.Issuer)
	return u.Host
}

// Begin returns the address to which a browser is sent, and a word for a cookie, without which Finish takes no
// answer. The provider sends the browser back to redirect; to is where the user wants to be then.
func (p *Provider) Begin(ctx context.Context, redirect, to string) (address, browser string, err error) {
	provider, err := p.provider(ctx)
	if err != nil {
		return "", "", err
	}
	a := &attempt{NewWord(), NewWord(), oauth2.GenerateVerifier(), redirect, to, time.Now()}
	state := NewWord()
	p.mu.Lock()
	defer p.mu.Unlock()
	for known, one := range p.attempts {
		if time.Since(one.begun) > attemptAge {
			delete(p.attempts, known)
		}
	}
	if len(p.attempts) >= mostAttempts {
		return "", "", errors.New("too many users are signing in; try again later")
	}
	p.attempts[state] = a
	return p.config(provider, redirect).AuthCodeURL(state, oidc.Nonce(a.nonce),
		oauth2.S256ChallengeOption(a.verifier)), a.browser, nil
}

// Finish takes what the provider had the browser say, with the word of Begin that the browser keeps, and
// returns the user, and where they wanted to be. An answer is taken once.
func (p *Provider) Finish(ctx context.Context, browser string, answer url.Values) (user User, to string, err error) {
	a := p.take(answer.Get("state"), browser)
	if a == nil {
		return user, "", errors.New("this sign-in was not begun in this browser, or took longer than ten minutes; " +
			"sign in again")
	}
	if why := answer.Get("error"); why != "" {
		return user, "", fmt.Errorf("%s refused: %s", p.Host(),
			humanize.Quote(strings.TrimSpace(why+" "+answer.Get("error_description"))))
	}
	provider, err := p.provider(ctx)
	if err != nil {
		return user, "", err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, client), askTime)
	defer cancel()
	token, err := p.config(provider, a.redirect).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(a.verifier))
	if err != nil {
		return user, "", fmt.Errorf("%s did not take the code of this sign-in: %w", p.Host(), err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: p.ClientID}).Verify(ctx, raw)
	if err != nil {
		return user, "", fmt.Errorf("the identity from %s cannot be verified: %w", p.Host(), err)
	}
	if !Same(id.Nonce, a.nonce) {
		return user, "", fmt.Errorf("the identity from %s is of another sign-in; sign in again", p.Host())
	}
	name, err := p.name(id)
	if err != nil {
		return user, "", err
	}
	user, ok := p.Find(name)
	if !ok {
		return User{Name: name}, "", fmt.Errorf("%s is no user of this server", humanize.Quote(name))
	}
	return user, a.to, nil
}

// Find returns a user that the provider named, as the file of users has them now.
func (p *Provider) Find(name string) (User, bool) {
	if p.Users == nil {
		return User{Name: name, Role: p.Role}, true
	}
	user, _, ok := p.Users.Find(name)
	return user, ok
}

func (p *Provider) take(state, browser string) *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.attempts[state]
	if a == nil || !Same(browser, a.browser) {
		return nil
	}
	delete(p.attempts, state)
	if time.Since(a.begun) > attemptAge {
		return nil
	}
	return a
}

// name returns the claim that names the user.
func (p *Provider) name(id *oidc.IDToken) (string, error) {
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return "", err
	}
	claim := p.Claim
	if claim == "" {
		claim = "email"
		if claims["email_verified"] != true {
			return "", fmt.Errorf("%s did not verify the email address of this user; name another claim", p.Host())
		}
	}
	name, _ := claims[claim].(string)
	if err := CheckName(name); err != nil {
		return "", fmt.Errorf("the claim %s from %s is no name of a user: %w", humanize.Quote(claim), p.Host(), err)
	}
	return name, nil
}

func (p *Provider) config(provider *oidc.Provider, redirect string) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, "email", "profile"}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.secret, Endpoint: provider.Endpoint(),
		RedirectURL: redirect, Scopes: scopes,
	}
}

// client follows no redirect to another host, and waits for no one for long.
var client = &http.Client{
	Timeout: askTime,
	CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host || len(via) > 3 {
			return errors.New("it redirects elsewhere")
		}
		return nil
	},
}

// provider returns the provider's addresses and keys. They are asked for once, but again after a failure.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found != nil {
		return found, nil
	}
	// The context is kept for the keys that are asked for later: it is not the request's.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be asked who a user is: %w", p.Host(), err)
	}
	p.mu.Lock()
	p.found = found
	p.mu.Unlock()
	return found, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

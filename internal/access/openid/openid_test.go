package openid_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/access"
	"loops/internal/access/openid"
	"loops/internal/access/openid/openidtest"
)

const redirect = "http://127.0.0.1:1/signin/openid/callback"

// back has a provider sign a user in, and returns what it sends the browser back with.
func back(t *testing.T, address string) url.Values {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	to, err := a.Location()
	if err != nil || !strings.HasPrefix(to.String(), redirect+"?") {
		t.Fatalf("%d: sent to %v (%v)", a.StatusCode, to, err)
	}
	return to.Query()
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret, users := filepath.Join(dir, "secret"), filepath.Join(dir, "users")
	if err := os.WriteFile(secret, []byte("a secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(users, []byte("ada@example.org:author:*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listed, err := access.OpenUsers(users, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		with   openid.Settings
		change func(*openidtest.Provider)
		answer func(url.Values)
		user   access.User
		err    string
	}{
		{name: "a role for all", with: openid.Settings{Role: access.Viewer}, user: access.User{Name: "ada@example.org", Role: access.Viewer}},
		{name: "a file of users", with: openid.Settings{Users: listed}, user: access.User{Name: "ada@example.org", Role: access.Author}},
		{name: "another claim", with: openid.Settings{Role: access.Operator, Claim: "preferred_username"}, change: func(p *openidtest.Provider) {
			p.Claims = map[string]any{"preferred_username": "ada"}
		}, user: access.User{Name: "ada", Role: access.Operator}},
		{name: "not in the file", with: openid.Settings{Users: listed}, change: func(p *openidtest.Provider) {
			p.Claims["email"] = "eve@example.org"
		}, err: `"eve@example.org" is no user of this server`},
		{name: "an address that is not verified", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) {
			p.Claims["email_verified"] = false
		}, err: "did not verify the email address"},
		{name: "a name that is none", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) { p.Claims["email"] = "a b" }, err: "is no name of a user"},
		{name: "denied", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) { p.Deny = "access_denied" }, err: `refused: "access_denied"`},
		{name: "for another client", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) { p.Claims["aud"] = "another" }, err: "cannot be verified"},
		{name: "of another provider", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) { p.Claims["iss"] = "https://elsewhere" }, err: "cannot be verified"},
		{name: "expired", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) { p.Claims["exp"] = 1 }, err: "cannot be verified"},
		{name: "of another sign-in", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) { p.Claims["nonce"] = "x" }, err: "is of another sign-in"},
		{name: "another state", with: openid.Settings{Role: access.Viewer}, answer: func(v url.Values) { v.Set("state", "x") }, err: "was not begun in this browser"},
		{name: "another code", with: openid.Settings{Role: access.Viewer}, answer: func(v url.Values) { v.Set("code", "x") }, err: "did not take the code"},
		{name: "another secret", with: openid.Settings{Role: access.Viewer}, change: func(p *openidtest.Provider) { p.Secret = "another" }, err: "did not take the code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stub := openidtest.Start(t)
			stub.Claims = map[string]any{"email": "ada@example.org", "email_verified": true}
			if c.change != nil {
				c.change(stub)
			}
			c.with.Issuer, c.with.ClientID, c.with.SecretFile = stub.URL, "loops", secret
			p, err := openid.New(c.with)
			if err != nil {
				t.Fatal(err)
			}
			address, browser, err := p.Begin(t.Context(), redirect, "/there")
			if err != nil {
				t.Fatal(err)
			}
			answer := back(t, address)
			if c.answer != nil {
				c.answer(answer)
			}
			if c.err == "" {
				if _, _, err := p.Finish(t.Context(), "the cookie of another browser", answer); err == nil {
					t.Error("another browser signed in")
				}
			}
			user, to, err := p.Finish(t.Context(), browser, answer)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil || user != c.user || to != "/there" {
				t.Errorf("%+v, %s, %v", user, to, err)
			}
			if _, _, err := p.Finish(t.Context(), browser, answer); err == nil {
				t.Error("an answer was taken twice")
			}
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		with openid.Settings
		err  string
	}{
		{openid.Settings{Issuer: "id.example.org", ClientID: "x", Role: access.Viewer}, "expected the address of a provider"},
		{openid.Settings{Issuer: "http://id.example.org", ClientID: "x", Role: access.Viewer}, "expected https"},
		{openid.Settings{Issuer: "https://id.example.org", Role: access.Viewer}, "a client id is missing"},
		{openid.Settings{Issuer: "https://id.example.org", ClientID: "x"}, "nothing says who may sign in"},
		{openid.Settings{Issuer: "https://id.example.org", ClientID: "x", Role: access.Viewer, SecretFile: "/dev/null"}, "is empty"},
		{openid.Settings{Issuer: "https://id.example.org", ClientID: "x", Role: access.Viewer}, ""},
	} {
		if _, err := openid.New(c.with); (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v, want %s", c.with, err, c.err)
		}
	}
}

// TestProviderIsAway holds that a server that began while its provider was away signs users in when that is back.
func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	p, err := openid.New(openid.Settings{Issuer: "http://127.0.0.1:1", ClientID: "loops", Role: access.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Begin(t.Context(), redirect, "/"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1 cannot be asked who a user is") {
		t.Error(err)
	}
	p.Issuer = openidtest.Start(t).URL
	if _, _, err := p.Begin(t.Context(), redirect, "/"); err != nil {
		t.Error(err)
	}
}

package auth_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/auth"
	"loops/internal/testenv"
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
	listed, err := auth.OpenUsers(users, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		with   auth.ProviderSettings
		change func(*testenv.Provider)
		answer func(url.Values)
		user   auth.User
		err    string
	}{
		{
			name: "a role for all", with: auth.ProviderSettings{Role: auth.Viewer},
			user: auth.User{Name: "ada@example.org", Role: auth.Viewer},
		},
		{
			name: "a file of users", with: auth.ProviderSettings{Users: listed},
			user: auth.User{Name: "ada@example.org", Role: auth.Author},
		},
		{
			name: "another claim", with: auth.ProviderSettings{Role: auth.Operator, Claim: "preferred_username"},
			change: func(p *testenv.Provider) {
				p.Claims = map[string]any{"preferred_username": "ada"}
			}, user: auth.User{Name: "ada", Role: auth.Operator},
		},
		{name: "not in the file", with: auth.ProviderSettings{Users: listed}, change: func(p *testenv.Provider) {
			p.Claims["email"] = "eve@example.org"
		}, err: `"eve@example.org" is no user of this server`},
		{
			name: "an address that is not verified", with: auth.ProviderSettings{Role: auth.Viewer},
			change: func(p *testenv.Provider) {
				p.Claims["email_verified"] = false
			}, err: "did not verify the email address",
		},
		{
			name: "a name that is none", with: auth.ProviderSettings{Role: auth.Viewer},
			change: func(p *testenv.Provider) { p.Claims["email"] = "a b" }, err: "is no name of a user",
		},
		{name: "denied", with: auth.ProviderSettings{Role: auth.Viewer}, change: func(p *testenv.Provider) {
			p.Deny = "access_denied"
		}, err: `refused: "access_denied"`},
		{
			name: "for another client", with: auth.ProviderSettings{Role: auth.Viewer},
			change: func(p *testenv.Provider) { p.Claims["aud"] = "another" }, err: "cannot be verified",
		},
		{
			name: "of another provider", with: auth.ProviderSettings{Role: auth.Viewer},
			change: func(p *testenv.Provider) { p.Claims["iss"] = "https://elsewhere" }, err: "cannot be verified",
		},
		{name: "expired", with: auth.ProviderSettings{Role: auth.Viewer}, change: func(p *testenv.Provider) {
			p.Claims["exp"] = 1
		}, err: "cannot be verified"},
		{
			name: "of another sign-in", with: auth.ProviderSettings{Role: auth.Viewer},
			change: func(p *testenv.Provider) { p.Claims["nonce"] = "x" }, err: "is of another sign-in",
		},
		{name: "another state", with: auth.ProviderSettings{Role: auth.Viewer}, answer: func(v url.Values) {
			v.Set("state", "x")
		}, err: "was not begun in this browser"},
		{name: "another code", with: auth.ProviderSettings{Role: auth.Viewer}, answer: func(v url.Values) {
			v.Set("code", "x")
		}, err: "did not take the code"},
		{name: "another secret", with: auth.ProviderSettings{Role: auth.Viewer}, change: func(p *testenv.Provider) {
			p.Secret = "another"
		}, err: "did not take the code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stub := testenv.Start(t)
			stub.Claims = map[string]any{"email": "ada@example.org", "email_verified": true}
			if c.change != nil {
				c.change(stub)
			}
			c.with.Issuer, c.with.ClientID, c.with.SecretFile = stub.URL, "loops", secret
			p, err := auth.NewProvider(c.with)
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
		with auth.ProviderSettings
		err  string
	}{
		{
			auth.ProviderSettings{Issuer: "id.example.org", ClientID: "x", Role: auth.Viewer},
			"expected the address of a provider",
		},
		{auth.ProviderSettings{Issuer: "http://id.example.org", ClientID: "x", Role: auth.Viewer}, "expected https"},
		{auth.ProviderSettings{Issuer: "https://id.example.org", Role: auth.Viewer}, "a client id is missing"},
		{auth.ProviderSettings{Issuer: "https://id.example.org", ClientID: "x"}, "nothing says who may sign in"},
		{auth.ProviderSettings{
			Issuer: "https://id.example.org", ClientID: "x", Role: auth.Viewer,
			SecretFile: "/dev/null",
		}, "is empty"},
		{auth.ProviderSettings{Issuer: "https://id.example.org", ClientID: "x", Role: auth.Viewer}, ""},
	} {
		if _, err := auth.NewProvider(c.with); (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v, want %s", c.with, err, c.err)
		}
	}
}

// TestProviderIsAway holds that a server that began while its provider was away signs users in when that is back.
func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	p, err := auth.NewProvider(auth.ProviderSettings{
		Issuer: "http://127.0.0.1:1", ClientID: "loops",
		Role: auth.Viewer,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Begin(t.Context(), redirect, "/"); err == nil ||
		!strings.Contains(err.Error(), "127.0.0.1:1 cannot be asked who a user is") {
		t.Error(err)
	}
	p.Issuer = testenv.Start(t).URL
	if _, _, err := p.Begin(t.Context(), redirect, "/"); err != nil {
		t.Error(err)
	}
}

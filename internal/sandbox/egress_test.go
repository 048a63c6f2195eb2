package sandbox

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm/confine"
	"loops/internal/testenv"
)

// What the list of docs/language/secrets.md says of each agent: in these requests the stand-in leaves, and never the
// secret. The last ones are what the proxy covers.
func TestEgressNotCovered(t *testing.T) {
	t.Parallel()
	var got string
	vendor := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = fmt.Sprint(r.URL, r.Header, string(b))
	}))
	t.Cleanup(vendor.Close)
	host := strings.TrimPrefix(vendor.URL, "https://")
	dir := t.TempDir()
	trust := filepath.Join(dir, "vendor.pem")
	testenv.WriteText(t, trust,
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: vendor.Certificate().Raw})))
	key := confine.NewEgress("KEY", "the-key-that-is-real", []string{host})
	proxy, err := newInterceptor([]confine.Egress{key}, dir, []string{"SSL_CERT_FILE=" + trust})
	testenv.Must(t, err)
	t.Cleanup(proxy.close)
	trusted, err := os.ReadFile(lookup(proxy.vars, "SSL_CERT_FILE"))
	testenv.Must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	ask := func(roots *x509.CertPool, path, header, value, body string) error {
		ours, theirs := net.Pipe()
		go proxy.serve(theirs, bufio.NewReader(theirs), host)
		client := &http.Client{
			Timeout: time.Minute,
			Transport: &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
				return tls.Client(ours,
					&tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}), nil
			}},
		}
		defer client.CloseIdleConnections()
		r, err := http.NewRequest(http.MethodPost, vendor.URL+path, strings.NewReader(body))
		testenv.Must(t, err)
		r.Header.Set(header, value)
		answer, err := client.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	const s = "loops-stand-in-for-KEY"
	for _, c := range []struct {
		agent, what, path, header, value, body string
		covered                                bool
	}{
		{"claude", "ANTHROPIC_CUSTOM_HEADERS", "/v1/messages", "X-Team-Key", s, "", false},
		{"claude", "a signature of AWS, for Bedrock", "/model/m/invoke", "X-Amz-Security-Token", s, "", false},
		{
			"claude", "a login that is renewed", "/v1/oauth/token", "X-App", "cli", `{"refresh_token": "` + s + `"}`,
			false,
		},
		{"codex", "env_http_headers of a provider", "/v1/responses", "Api-Key", s, "", false},
		{"codex", "query_params of a provider", "/v1/responses?key=" + s, "X-App", "cli", "", false},
		{"codex", "a login that is renewed", "/oauth/token", "X-App", "cli", "refresh_token=" + s, false},
		{"gemini", "a key in the address", "/v1beta/models/m:generateContent?key=" + s, "X-App", "cli", "", false},
		{"gemini", "a login that is renewed", "/token", "X-App", "cli", "refresh_token=" + s, false},
		{"qwen", "customHeaders", "/v1/chat/completions", "X-Team-Key", s, "", false},
		{"qwen", "a login that is renewed", "/api/v1/oauth2/token", "X-App", "cli", "refresh_token=" + s, false},
		{"opencode", "headers of a provider", "/v1/chat/completions", "X-Team-Key", s, "", false},
		{"kimi", "custom_headers of a provider", "/v1/chat/completions", "X-Team-Key", s, "", false},
		{"claude", "its key", "/v1/messages", "X-Api-Key", s, "", true},
		{"codex", "its key", "/v1/responses", "Authorization", "Bearer " + s, "", true},
		{"gemini", "its key", "/v1beta/models/m:generateContent", "X-Goog-Api-Key", s, "", true},
	} {
		got = ""
		if err := ask(pool, c.path, c.header, c.value, c.body); err != nil {
			t.Errorf("%s, %s: %v", c.agent, c.what, err)
		}
		if strings.Contains(got, key.Value) != c.covered || strings.Contains(got, s) == c.covered {
			t.Errorf("%s, %s: the vendor got %s", c.agent, c.what, got)
		}
	}
	// a program that accepts its vendor's certificate alone, whichever it is, sends nothing
	got = ""
	pinned := x509.NewCertPool()
	pinned.AddCert(vendor.Certificate())
	if err := ask(pinned, "/", "Authorization", "Bearer "+s, ""); err == nil || got != "" {
		t.Errorf("a pinned certificate: %v, the vendor got %q", err, got)
	}
}

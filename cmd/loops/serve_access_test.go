package main_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// command runs the program with a line of input, and returns what it printed.
func (s *webServer) command(input string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(binary(s.t), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, append(os.Environ(), "XDG_STATE_HOME="+s.state), strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("loops %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestServeTokenRotates replaces the token of a running server: the old one and its cookie let in no more. When
// the server ends, its file is gone.
func TestServeTokenRotates(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveDir(t), "--base-path", "/deep/loops")
	s.base += "/deep/loops"
	if told := strings.TrimSpace(s.command("", "serve", "token")); told != s.base+"/?token="+s.token {
		t.Errorf("serve token prints %s", told)
	}
	fresh := strings.TrimSpace(s.command("", "serve", "token", "--rotate"))
	if status, _ := s.ask("GET", "/api/v1/runs", "", ""); status != http.StatusUnauthorized {
		t.Errorf("the cookie of before: %d", status)
	}
	a, err := s.client.Get(fresh)
	must(t, err)
	must(t, a.Body.Close())
	if status, _ := s.ask("GET", "/api/v1/runs", "", ""); status != http.StatusOK {
		t.Errorf("with the new address: %d", status)
	}
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	must(t, s.cmd.Wait())
	if left, err := filepath.Glob(filepath.Join(s.state, "loops/serve/*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// certify writes a certificate for this machine, and returns it.
func certify(t *testing.T, dir string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "loops"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "key.pem"),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "cert.pem"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	c, err := x509.ParseCertificate(der)
	must(t, err)
	return c
}

// TestServeSignsInOverTLS serves beyond this machine, to users with passwords: an operator starts a run and is
// its sender, a viewer may not, who is not asked does not answer, and a certificate that changes is taken
// without a restart.
func TestServeSignsInOverTLS(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/asks.yaml"),
		strings.Replace(askLoop, "choices:", "who: [ada], choices:", 1))
	s := &webServer{t: t, dir: dir, state: t.TempDir(), said: &bytes.Buffer{}}
	s.command("correct horse\n", "serve", "passwd", "users", "ada", "--role", "operator")
	s.command("battery staple\n", "serve", "passwd", "users", "bob", "--role", "viewer")
	s.command("staple battery\n", "serve", "passwd", "users", "eve", "--role", "operator")
	if told := s.command("", "serve", "passwd", "users"); told != "ada operator\nbob viewer\neve operator\n" {
		t.Errorf("the users are listed as %q", told)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certify(t, dir, 1))
	s.cmd = exec.Command(binary(t), "serve", "--listen", "0.0.0.0:0", "--auth", "users", "--tls-cert", "cert.pem",
		"--tls-key", "key.pem")
	s.cmd.Dir, s.cmd.Stderr, s.cmd.Env = dir, s.said, append(os.Environ(), "XDG_STATE_HOME="+s.state)
	out, err := s.cmd.StdoutPipe()
	must(t, err)
	must(t, s.cmd.Start())
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	s.base = strings.TrimSuffix(strings.TrimSpace(line), "/")
	if !strings.HasPrefix(s.base, "https://127.0.0.1:") {
		t.Fatalf("the server prints %s", line)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	s.client = &http.Client{
		Transport: transport, Timeout: testenv.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	as := func(name, password, method, path, body string) (int, string) {
		r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		if name != "" {
			r.SetBasicAuth(name, password)
		}
		return s.do(s.client, r)
	}
	if status, _ := as("", "", "GET", "/", ""); status != http.StatusSeeOther {
		t.Errorf("a page before signing in: %d", status)
	}
	if status, text := as("bob", "battery staple", "POST", "/api/v1/projects/shop/runs",
		`{"loop": "asks"}`); status != http.StatusForbidden {
		t.Errorf("a viewer starts a run: %d %s", status, text)
	}
	if status, text := as("ada", "correct horse", "POST", "/api/v1/projects/shop/runs", `{"loop": "asks"}`); status !=
		http.StatusOK {
		t.Errorf("an operator starts a run: %d %s", status, text)
	}
	var run string
	testenv.Wait(t, "the question", func() bool {
		_, text := as("bob", "battery staple", "GET", "/api/v1/projects/shop/runs/asks", "")
		_, after, _ := strings.Cut(text, `"instance_id": "`)
		run, _, _ = strings.Cut(after, `"`)
		return strings.Contains(text, `"waiting"`)
	})
	if status, text := as("eve", "staple battery", "POST", "/api/v1/projects/shop/runs/"+run+"/answer",
		`{"choice": "good"}`); status != http.StatusBadRequest ||
		!strings.Contains(text, "is for ada, and you are eve") {
		t.Errorf("a signed-in user whom who does not name answers: %d %s", status, text)
	}
	if _, text := as("eve", "staple battery", "GET", "/p/shop/runs/"+run, ""); !strings.Contains(text,
		"Only ada can answer.") || !strings.Contains(text, `value="good" class="go" disabled`) {
		t.Errorf("a signed-in user whom who does not name sees buttons that answer:\n%s", text)
	}
	if _, text := as("ada", "correct horse", "GET", "/p/shop/runs/"+run, ""); strings.Contains(text, "can answer.") ||
		strings.Contains(text, " disabled") {
		t.Errorf("the user who is asked sees no buttons that answer:\n%s", text)
	}
	if status, text := as("ada", "correct horse", "POST", "/api/v1/projects/shop/runs/"+run+"/answer",
		`{"choice": "good"}`); status != http.StatusOK || !strings.Contains(text, `"by": "ada"`) {
		t.Errorf("the answer: %d %s", status, text)
	}
	audited := func() bool {
		return strings.Contains(s.said.String(), `user="ada" action="answer" project="shop" run="`+run+
			`" choice="good" result="done"`) &&
			strings.Contains(s.said.String(), `user="bob" action="request" address="POST `)
	}
	if !testenv.Within(testenv.Patience, audited) {
		t.Errorf("the lines about writes: %s", s.said)
	}
	second := certify(t, dir, 2)
	pool = x509.NewCertPool()
	pool.AddCert(second)
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	var last error
	if !testenv.Within(testenv.Patience, func() bool {
		var a *http.Response
		if a, last = s.client.Get(s.base + "/healthz"); last == nil {
			must(t, a.Body.Close())
		}
		return last == nil
	}) {
		t.Errorf("a new certificate is not taken: %v", last)
	}
}

// TestServeOpenID signs users in at a provider: a user in the users file is let in until the file lacks them.
func TestServeOpenID(t *testing.T) {
	t.Parallel()
	provider := testenv.Start(t)
	provider.Claims = map[string]any{"email": "ada@example.org", "email_verified": true}
	dir := serveDir(t)
	kept := t.TempDir()
	users, secret := filepath.Join(kept, "users"), filepath.Join(kept, "secret")
	must(t, os.WriteFile(users, []byte("ada@example.org:operator:*\n"), 0o600))
	must(t, os.WriteFile(secret, []byte(provider.Secret), 0o600))
	s := startServe(t, dir, "--auth", users, "--oidc-issuer", provider.URL, "--oidc-client-id", provider.ClientID,
		"--oidc-client-secret-file", secret)
	open := func(path string) (int, string) {
		a, err := s.client.Get(s.base + path)
		must(t, err)
		text, err := io.ReadAll(a.Body)
		must(t, errors.Join(err, a.Body.Close()))
		return a.StatusCode, string(text)
	}
	if status, text := open("/loops"); status != http.StatusOK ||
		!strings.Contains(text, `href="/signin/openid?to=%2floops"`) {
		t.Errorf("the page to sign in: %d %s", status, text)
	}
	if status, _ := open("/api/v1/runs"); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d", status)
	}
	provider.Claims["email"] = "eve@example.org"
	if status, text := open("/signin/openid?to=/loops"); status != http.StatusUnauthorized ||
		!strings.Contains(text, "is no user of this server") {
		t.Errorf("a user whom the file has not: %d %s", status, text)
	}
	provider.Claims["email"] = "ada@example.org"
	if status, text := open("/signin/openid?to=https://elsewhere/"); status != http.StatusOK ||
		!strings.Contains(text, `<a href="/">Continue</a>`) {
		t.Errorf("signed in, on the way elsewhere: %d %s", status, text)
	}
	if status, _ := open("/api/v1/runs"); status != http.StatusOK {
		t.Errorf("with a session: %d", status)
	}
	must(t, os.WriteFile(users, []byte("grace@example.org:operator:*\n"), 0o600))
	if status, _ := open("/api/v1/runs"); status != http.StatusUnauthorized {
		t.Errorf("a user whom the file has no more: %d", status)
	}
}

package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

// wire sends bytes as they are, and returns what comes back until the server closes the connection.
func (s *webServer) wire(text string) string {
	s.t.Helper()
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.base, "http://"), testenv.Patience)
	must(s.t, err)
	defer c.Close() //nolint:errcheck // it is read to its end
	must(s.t, c.SetDeadline(time.Now().Add(testenv.Patience)))
	_, _ = io.WriteString(c, text) // the server may have closed it
	b, _ := io.ReadAll(c)
	return string(b)
}

// TestServeOnTheWire sends what no browser sends: each request is refused, and none waits for long.
func TestServeOnTheWire(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/count.yaml"), countLoop)
	s := startServe(t, dir)
	host := strings.TrimPrefix(s.base, "http://")
	auth := "Authorization: Bearer " + s.token + "\r\nConnection: close\r\n"
	with := func(line, more string) string { return line + "\r\nHost: " + host + "\r\n" + auth + more + "\r\n" }
	for _, c := range []struct{ name, text, want string }{
		{"HTTP/1.0 without a host", "GET /api/v1/runs HTTP/1.0\r\n" + auth + "\r\n", "421"},
		{"HTTP/1.0 with the host", "GET /api/v1/runs HTTP/1.0\r\nHost: " + host + "\r\n" + auth + "\r\n", "200"},
		{"HTTP/1.1 without a host", "GET /api/v1/runs HTTP/1.1\r\n" + auth + "\r\n", "400"},
		{"two hosts", with("GET /api/v1/runs HTTP/1.1", "Host: evil.example\r\n"), "400"},
		{"another host in the line", with("GET http://evil.example/api/v1/runs HTTP/1.1", ""), "421"},
		{"a host with a user", "GET /api/v1/runs HTTP/1.1\r\nHost: x@" + host + "\r\n" + auth + "\r\n", "4"},
		{
			"a host with a dot behind",
			"GET /api/v1/runs HTTP/1.1\r\nHost: localhost." + host[strings.LastIndex(host, ":"):] + "\r\n" + auth +
				"\r\n", "421",
		},
		{"two tokens", with("GET /api/v1/runs HTTP/1.1", "Authorization: Bearer x\r\n"), "401"},
		{"two lengths", with("POST /api/v1/projects/shop/runs HTTP/1.1",
			"Content-Type: application/json\r\nContent-Length: 3\r\nContent-Length: 4\r\n"), "400"},
		{
			"a length and chunks",
			with("POST /api/v1/projects/shop/runs HTTP/1.1",
				"Content-Type: application/json\r\nContent-Length: 3\r\nTransfer-Encoding: gzip\r\n"), "501",
		},
		{"a method of its own", with("STOP /api/v1/projects/shop/runs/x HTTP/1.1", ""), "404"},
		{
			"another method in a header",
			with("GET /api/v1/projects/shop/runs HTTP/1.1", "X-HTTP-Method-Override: POST\r\n"), "404",
		},
		{"a tunnel", "CONNECT evil.example:80 HTTP/1.1\r\nHost: " + host + "\r\n" + auth + "\r\n", "4"},
		{"TRACE", with("TRACE / HTTP/1.1", ""), "404"},
		{"a folder above, plain", with("GET /assets/../../../../etc/passwd HTTP/1.1", ""), "3"},
		{"a folder above, encoded twice", with("GET /assets/%252e%252e%252fetc%252fpasswd HTTP/1.1", ""), "404"},
		{"a folder above, with the other slash", with(`GET /assets/..\..\etc\passwd HTTP/1.1`, ""), "404"},
		{"a loop with a zero", with("GET /api/v1/projects/shop/loops/%00 HTTP/1.1", ""), "4"},
		{"a run with a line end", with("GET /api/v1/projects/shop/runs/a%0d%0aX:1 HTTP/1.1", ""), "404"},
		{"many headers", with("GET / HTTP/1.1", strings.Repeat("X-A: b\r\n", 20_000)), "431"},
		{"no request", "\x16\x03\x01\x02\x00\x01\x00", ""},
	} {
		got := s.wire(c.text)
		status := strings.TrimPrefix(strings.TrimPrefix(got, "HTTP/1.1 "), "HTTP/1.0 ")
		if c.want != "" && !strings.HasPrefix(status, c.want) || strings.Contains(got, "root:") {
			t.Errorf("%s: want %s\n%.300s", c.name, c.want, got)
		}
	}
	begun := time.Now()
	s.wire("GET / HTTP/1.1\r\nHost: " + host + "\r\nX-Slow: ") // and no more
	if took := time.Since(begun); took > testenv.Patience/2 {
		t.Errorf("a header that does not end was waited for for %s", took)
	}
	if _, list := s.ask("GET", "/api/v1/runs", "", ""); strings.Contains(list, "instance_id") {
		t.Errorf("a run was started: %s", list)
	}
	idle := make([]net.Conn, 0, 200)
	for range 200 { // of one client: others are answered meanwhile, who come from another address of this machine
		if c, err := net.DialTimeout("tcp", host, testenv.Patience); err == nil {
			idle = append(idle, c)
		}
	}
	other := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: testenv.Patience}
	c, err := other.Dial("tcp", host)
	must(t, err)
	must(t, c.SetDeadline(time.Now().Add(testenv.Patience)))
	_, err = fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
	must(t, err)
	if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200") {
		t.Errorf("another client: %v %.200s", err, b)
	}
	for _, c := range append(idle, c) {
		_ = c.Close()
	}
}

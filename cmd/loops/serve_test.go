package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"loops/internal/testenv"

	"loops/internal/auth"
)

// A webServer is loops serve as its users have it.
type webServer struct {
	t      *testing.T
	dir    string
	state  string // $XDG_STATE_HOME
	base   string // http://127.0.0.1:PORT
	token  string
	client *http.Client // has the cookie
	said   *bytes.Buffer
	cmd    *exec.Cmd
}

const countLoop = `name: count
description: Counts up, and ends.
initial: check
parameters: {goal: {type: integer, default: 2}}
states:
  check:
    action: n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; echo "at $n"; sleep 0.2; [ "$n" -ge "$LOOPS_CONTEXT_GOAL" ]
    on_yes: done
    on_no: check
  done: {terminal: true}
`

const askLoop = `name: asks
initial: first
states:
  first: {action: "true", on_yes: ask, on_no: done}
  ask:
    ask: {question: 'Is it good?', choices: [good, bad]}
    route: {good: done, bad: ask}
  done: {terminal: true}
`

// startServe starts a server, which ends with the test.
func startServe(t *testing.T, dir string, args ...string) *webServer {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	s := &webServer{t: t, dir: dir, said: &bytes.Buffer{}}
	s.cmd = exec.Command(binary(t), append([]string{"-C", dir, "serve"}, args...)...)
	s.cmd.Dir, s.cmd.Stderr, s.state = dir, s.said, t.TempDir()
	s.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.state, "USER=ada", "DEPLOY_SECRET="+webhookSecret)
	out, err := s.cmd.StdoutPipe()
	must(t, err)
	must(t, s.cmd.Start())
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		defer cancel()
		// runs survive the server, and would survive the test
		_ = exec.CommandContext(ctx, binary(t), "-C", dir, "stop", "--all").Run()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server printed no address: %v, %s", err, s.said)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	must(t, err)
	s.base, s.token = "http://"+u.Host, u.Query().Get("token")
	jar, err := cookiejar.New(nil)
	must(t, err)
	s.client = &http.Client{Jar: jar, Timeout: testenv.Patience}
	r, err := s.client.Get(u.String())
	must(t, err)
	must(t, r.Body.Close())
	if r.StatusCode != http.StatusOK || r.Request.URL.Query().Has("token") {
		t.Fatalf("the address that was printed answers %s at %s", r.Status, r.Request.URL)
	}
	return s
}

// serveDir returns a folder for a project. A run whose end is on record may still be busy in it when the test ends.
func serveDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "serve")
	must(t, err)
	t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
	return filepath.Join(dir, "shop")
}

// ask sends a request with the cookie and returns the answer.
func (s *webServer) ask(method, path, kind, body string) (status int, text string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	must(s.t, err)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return s.do(s.client, r)
}

func (s *webServer) do(c *http.Client, r *http.Request) (status int, text string) {
	s.t.Helper()
	a, err := c.Do(r)
	must(s.t, err)
	defer a.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(a.Body)
	must(s.t, err)
	return a.StatusCode, string(b)
}

// post does something by the API, and returns the object of the answer. A run that has just ended may lock the
// project for a moment still.
func (s *webServer) post(path, body string) map[string]any {
	s.t.Helper()
	var status int
	var text string
	testenv.Within(testenv.Patience, func() bool {
		status, text = s.ask("POST", "/api/v1/projects/"+filepath.Base(s.dir)+path, "application/json", body)
		return status != http.StatusConflict || path != "/runs"
	})
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil || status != http.StatusOK {
		s.t.Fatalf("POST %s %s: %d %s", path, body, status, text)
	}
	return o
}

// until waits until the status of a run has a text.
func (s *webServer) until(run, text string) string {
	s.t.Helper()
	var last string
	if !testenv.Within(testenv.Patience, func() bool {
		_, last = s.ask("GET", "/api/v1/projects/"+filepath.Base(s.dir)+"/runs/"+run, "", "")
		return strings.Contains(last, text)
	}) {
		s.t.Fatalf("run %s does not come to %s: %s", run, text, last)
	}
	return last
}

// TestServeStartsAnswersAndSurvives starts runs by the form and by the API, answers a question, and ends the
// server: what it started is not ended with it.
func TestServeStartsAnswersAndSurvives(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/count.yaml"), countLoop)
	writeText(t, filepath.Join(dir, ".loops/asks.yaml"), askLoop)
	s := startServe(t, dir)

	if _, form := s.ask("GET", "/p/shop/start?loop=count", "", ""); !strings.Contains(form, `name="field.goal"`) {
		t.Fatalf("the form does not ask for the parameter:\n%s", form)
	}
	status, page := s.ask("POST", "/p/shop/start", "application/x-www-form-urlencoded", "loop=count&field.goal=1")
	if status != http.StatusOK || !strings.Contains(page, "count-") {
		t.Fatalf("the form answers %d\n%s", status, page)
	}
	_, list := s.ask("GET", "/api/v1/runs", "", "")
	var runs struct {
		Runs []struct {
			ID string `json:"instance_id"`
		} `json:"runs"`
	}
	must(t, json.Unmarshal([]byte(list), &runs))
	s.until(runs.Runs[0].ID, `"completed"`)

	asks := s.post("/runs", `{"loop": "asks"}`)["instance_id"].(string)
	s.until(asks, `"waiting"`)
	if _, page := s.ask("GET", "/p/shop/runs/"+asks, "", ""); !strings.Contains(page, `name="choice" value="good"`) {
		t.Fatalf("the page does not ask the question:\n%s", page)
	}
	if _, page := s.ask("GET", "/p/shop/runs/"+asks+"?tab=steps", "", ""); !strings.Contains(page,
		`<span class="v yes">yes</span>`) {
		t.Fatalf("the steps lack the verdict of the step before:\n%s", page)
	}
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	must(t, s.cmd.Wait())
	second := startServe(t, dir)
	second.until(asks, `"alive": true`)
	second.post("/runs/"+asks+"/answer", `{"choice": "good"}`)
	second.until(asks, `"completed"`)
	if !strings.Contains(second.said.String(), `action="answer" project="shop" run="`+asks+`"`) {
		t.Errorf("no line tells of the answer: %s", second.said)
	}
}

// TestServeTellsThatARunnerDied kills the process of a run: the stream of the page reports it.
func TestServeTellsThatARunnerDied(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/asks.yaml"), askLoop)
	s := startServe(t, dir)
	run := s.post("/runs", `{"loop": "asks"}`)["instance_id"].(string)
	s.until(run, `"waiting"`)
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.base+"/api/v1/stream", nil)
	must(t, err)
	stream, err := s.client.Do(r)
	must(t, err)
	defer stream.Body.Close() //nolint:errcheck // it is only read
	lines := bufio.NewScanner(stream.Body)
	told := func() bool {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "shop/"+run) {
				return true
			}
		}
		return false
	}
	if !told() {
		t.Fatal("the stream does not begin with the runs that there are")
	}
	var status struct {
		PID int `json:"pid"`
	}
	must(t, json.Unmarshal([]byte(s.until(run, `"alive": true`)), &status))
	must(t, syscall.Kill(status.PID, syscall.SIGKILL))
	if !told() {
		t.Fatal("the stream does not tell that the process of the run died")
	}
	if _, page := s.ask("GET", "/p/shop/runs/"+run, "", ""); !strings.Contains(page, ">killed</span>") {
		t.Errorf("the page does not show the run as killed:\n%s", page)
	}
	if _, home := s.ask("GET", "/", "", ""); !strings.Contains(home,
		fmt.Sprintf("its process (pid %d) is gone", status.PID)) {
		t.Errorf("the list of runs does not say why:\n%s", home)
	}
}

// TestServeRefuses sends what others may send: it is answered with nothing of the project, and nothing is done.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/count.yaml"), countLoop)
	s := startServe(t, dir)
	port := s.base[strings.LastIndex(s.base, ":"):]
	for _, c := range []struct {
		name, method, path, host, body string
		header                         map[string]string
		anonymous                      bool
		want                           int
	}{
		{name: "a page without the token", path: "/", anonymous: true, want: 401},
		{name: "the API without the token", path: "/api/v1/runs", anonymous: true, want: 401},
		{name: "a stream without the token", path: "/api/v1/stream", anonymous: true, want: 401},
		{name: "a wrong token", path: "/?token=x", anonymous: true, want: 401},
		{
			name: "a wrong bearer", path: "/api/v1/runs", anonymous: true,
			header: map[string]string{"Authorization": "Bearer x"}, want: 401,
		},
		{
			name: "the right bearer", path: "/api/v1/runs", anonymous: true,
			header: map[string]string{"Authorization": "Bearer " + s.token}, want: 200,
		},
		{name: "a name that points here", path: "/", host: "evil.example" + port, want: 421},
		{name: "a host that begins alike", path: "/", host: "127.0.0.1.evil.example" + port, want: 421},
		{name: "a host without its port", path: "/", host: "127.0.0.1", want: 421},
		{
			name: "a write from another origin", method: "POST", path: "/p/shop/start", body: "loop=count",
			header: map[string]string{"Origin": "http://evil.example"}, want: 403,
		},
		{
			name: "a write from another site", method: "POST", path: "/p/shop/start", body: "loop=count",
			header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403,
		},
		{
			name: "a write without the token", method: "POST", path: "/p/shop/start", body: "loop=count",
			anonymous: true, want: 401,
		},
		{
			name: "a write of plain text", method: "POST", path: "/api/v1/projects/shop/runs", body: `{"loop":"count"}`,
			header: map[string]string{"Content-Type": "text/plain"}, want: 400,
		},
		{name: "a write that is a read", path: "/p/shop/runs/x/stop", want: 404},
		{
			name: "a body that is too long", method: "POST", path: "/p/shop/start",
			body: "loop=" + strings.Repeat("x", 2<<20), want: 413,
		},
		{
			name: "a header that is too long", path: "/",
			header: map[string]string{"X-Long": strings.Repeat("x", 1<<17)}, want: 431,
		},
		{name: "a folder above", path: "/assets/..%2f..%2fetc%2fpasswd", want: 404},
		{name: "a project above", path: "/p/..%2f..%2fetc/runs/x", want: 404},
		{name: "a run above", path: "/p/shop/runs/..%2f..%2f..%2fetc%2fpasswd", want: 404},
		{name: "a loop above", path: "/p/shop/start?loop=../../../etc/passwd", want: 404},
		{name: "a start of a loop above", method: "POST", path: "/p/shop/start", body: "loop=../../x.yaml", want: 404},
		{
			name: "a start of a loop elsewhere", method: "POST", path: "/p/shop/start", body: "loop=/etc/passwd",
			want: 404,
		},
		{name: "no such verb", method: "POST", path: "/p/shop/runs/x/explode", want: 404},
		{
			name: "the token in the address of the API", path: "/api/v1/runs?token=" + s.token + "x", anonymous: true,
			want: 401,
		},
		{name: "the token twice", path: "/?token=" + s.token + "&token=x", anonymous: true, want: 401},
		{name: "health", path: "/healthz", anonymous: true, want: 200},
	} {
		method := c.method
		if method == "" {
			method = "GET"
		}
		r, err := http.NewRequest(method, s.base+c.path, strings.NewReader(c.body))
		must(t, err)
		if c.host != "" {
			r.Host = c.host
		}
		if c.body != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		client := s.client
		if c.anonymous {
			client = http.DefaultClient
		}
		a, err := client.Do(r)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, _ := io.ReadAll(a.Body) // the server closes what is too long before it has all of it
		_ = a.Body.Close()
		if a.StatusCode != c.want {
			t.Errorf("%s: %d, want %d\n%s", c.name, a.StatusCode, c.want, text)
		}
		if strings.Contains(string(text), "root:") {
			t.Errorf("%s shows a file", c.name)
		}
		if csp := a.Header.Get("Content-Security-Policy"); c.want != 431 && c.path != "/healthz" &&
			(csp == "" || strings.Contains(csp, "unsafe")) {
			t.Errorf("%s: the policy is %q", c.name, csp)
		}
	}
	if _, list := s.ask("GET", "/api/v1/runs", "", ""); strings.Contains(list, "instance_id") {
		t.Errorf("a run was started: %s", list)
	}
	many(t, s)
}

// many opens more connections than the server has places for, each of which says nothing. When they are gone it
// answers.
func many(t *testing.T, s *webServer) {
	t.Helper()
	var all []net.Conn
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			if c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.base, "http://"), testenv.Patience); err == nil {
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, c := range all {
		_ = c.Close()
	}
	if status, text := s.ask("GET", "/api/v1/runs", "", ""); status != http.StatusOK {
		t.Errorf("after 1000 connections: %d %s", status, text)
	}
}

// TestServeListensNowhereElseUnasked refuses addresses that other machines reach, unless users sign in and what
// is sent is encrypted.
func TestServeListensNowhereElseUnasked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	must(t, auth.SetUser(users, "ada", "correct horse", auth.Author))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, "--auth"},
		{[]string{"--listen", ":0", "--insecure"}, "--auth"},
		{[]string{"--listen", "[::]:0", "--auth", users}, "--insecure"},
		{[]string{"--listen", "10.0.0.1:0", "--trust-header", "X-User", "--trust-from", "10.0.0.2"}, "--insecure"},
		{[]string{"--trust-header", "X-User"}, "--trust-from"},
		{[]string{"--trust-from", "10.0.0.2"}, "--trust-header"},
		{[]string{"--trust-header", "X-User", "--trust-from", "all"}, "10.0.0.0/24"},
		{
			[]string{"--trust-header", "X-User", "--trust-from", "10.0.0.2", "--trust-role", "root"},
			"viewer, operator, author",
		},
		{[]string{"--tls-cert", users}, "go together"},
		{[]string{"--tls-cert", users, "--tls-key", users}, "--tls-cert, --tls-key"},
		{[]string{"--auth", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"--base-path", "/../x"}, "--base-path"},
	} {
		cmd := exec.Command(binary(t), append([]string{"-C", dir, "serve"}, c.args...)...)
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 ||
			!strings.Contains(string(out), c.want) {
			t.Errorf("serve %v: %v\n%s", c.args, err, out)
		}
	}
}

// TestServeShowsHostileText shows a run that tries to act on the page.
func TestServeShowsHostileText(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/bad.yaml"),
		"name: bad\ndescription: '<script>alert(1)</script>'\ninitial: '\"><img src=x onerror=alert(1)>'\nstates:\n"+
			"  '\"><img src=x onerror=alert(1)>':\n"+
			"    action: cat attack # <script>alert(2)</script>\n    next: done\n  done: {terminal: true}\n")
	writeText(t, filepath.Join(dir, "attack"),
		"<script>alert(1)</script>\n\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07 \x1b[2J \u202e tx\n"+
			strings.Repeat("x", 1<<20)+"\n")
	s := startServe(t, dir)
	run := s.post("/runs", `{"loop": "bad"}`)["instance_id"].(string)
	s.until(run, `"completed"`)
	for _, path := range []string{
		"/", "/loops", "/p/shop/start?loop=bad", "/p/shop/loop?loop=bad", "/p/shop/start?loop=bad&dry=1",
		"/p/shop/runs/" + run, "/p/shop/runs/" + run + "?step=1",
		"/p/shop/runs/" + run + "?tab=steps", "/p/shop/runs/" + run + "?tab=logs",
		"/p/shop/runs/" + run + "?tab=context", "/p/shop/runs/" + run + "?tab=definition",
		"/p/shop/runs/" + run + "?tab=events", "/p/shop/runs/" + run + "?tab=files",
		"/p/shop/runs/" + run + "?tab=related",
	} {
		status, page := s.ask("GET", path, "", "")
		if status != http.StatusOK {
			t.Errorf("%s: %d\n%.2000s", path, status, page)
		}
		for _, bad := range []string{"<script>", "<img", "\x1b", "\u202e", `href="javascript:`, "<style"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		if len(page) > 300<<10 {
			t.Errorf("%s has %d bytes", path, len(page))
		}
	}
}

//go:build !race

package action

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/value"
	"loops/internal/testenv"
)

// These tests drive the real CLIs of the pinned versions against what stands in for their vendors. They take minutes,
// and what they would show under the race detector, tests with programs of our own show as well.

const cliVerdict = `{
  "type": "object",
  "properties": {
    "verdict": {"type": "string", "enum": ["yes", "no"]},
    "confidence": {"type": "number"},
    "reason": {"type": "string"},
    "evidence": {"type": "string"}
  },
  "required": ["verdict", "confidence", "reason", "evidence"],
  "additionalProperties": false
}`

// patient is how long a CLI may take on a machine that is busy.
const patient = 10 * time.Minute

// realCLI returns a Runner with a CLI in its PATH alone, and a prompt for it. A CLI may leave processes of its own in
// the background, such as the shells that codex asks for their settings: they stay as long as the run, so they are
// ended before newRunner looks for what is alive.
func realCLI(t *testing.T, cli, text string) (*Runner, *testenv.VendorAPI, fsm.Action) {
	t.Helper()
	r := newRunner(t)
	r.Grace = 10 * time.Second
	t.Cleanup(func() { end(t, r.alive(t, 1)) })
	api := testenv.ServeVendor(t, cli)
	r.Env = testenv.CLIEnv(t, cli, api, t.TempDir())
	a := fsm.Action{
		Kind: fsm.KindPrompt, Text: text, State: "a", Step: 1, Attempt: 1, Permissions: fsm.PermissionsSkip,
		Timeout: patient,
	}
	if cli == "gemini" {
		a.Model = "gemini-2.5-flash" // else it asks another model first which one to take
	}
	return r, api, a
}

// succeeded holds what is true of every Result of a prompt that went well.
func succeeded(t *testing.T, res fsm.Result, cli, stdout string, requests int64) {
	t.Helper()
	g := res.Reply
	if g == nil {
		t.Fatalf("no reply: %+v", res)
	}
	if res.ExitCode != 0 || res.Stdout != stdout || g.Failure != "" {
		t.Fatalf("exit %d, stdout %.300q, failure %q: %s; want %q\n%s", res.ExitCode, res.Stdout, g.Failure, g.Reason,
			stdout, res.Stderr)
	}
	used := fsm.Usage{
		Input: requests * (testenv.In - testenv.Cached), CacheRead: requests * testenv.Cached,
		Output: requests * testenv.Out,
	}
	if g.Host != cli || !g.Complete || g.Session == "" || g.Coverage != fsm.CoverageComplete || g.Usage != used {
		t.Errorf("got %+v; want a session and complete usage %+v", *g, used)
	}
}

func TestCLILongPrompt(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "claude", func(t *testing.T, cli string) {
		text := strings.Repeat("ä long line of words\n", 300<<10/22) + "[[ok]]"
		r, api, a := realCLI(t, cli, text)
		succeeded(t, do(t, r, a), cli, testenv.Hello, 1)
		if all := api.Requests(); len(all) != 1 || len(all[0].Body) < len(text) {
			t.Errorf("%d requests; the prompt of %d bytes did not arrive whole", len(all), len(text))
		}
	})
}

// What was not allowed is not done, and the agent is not asked to wait for a user.
func TestCLIToolNotAllowed(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "claude", func(t *testing.T, cli string) {
		r, _, a := realCLI(t, cli, "make it [[tool]]")
		a.Permissions = "host"
		r.Env = append(r.Env, "GEMINI_CLI_TRUST_WORKSPACE=true") // else it does not even begin
		res := do(t, r, a)
		if res.TimeoutKind != "" {
			t.Errorf("it waited: %+v", res.Reply)
		}
		// codex refuses the folder; qwen gives the agent no such tool, and says nothing of it.
		if cli != "qwen" && (res.Reply == nil || res.Reply.Failure != fsm.FailPermission) {
			t.Errorf("%+v, want %s", res.Reply, fsm.FailPermission)
		}
		if _, err := os.Stat(filepath.Join(r.Dir, testenv.ToolMakes)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file was made: %v", err)
		}
	})
}

func TestCLIJudge(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "codex", func(t *testing.T, cli string) {
		r, _, a := realCLI(t, cli, "is it? [[no]]")
		a.Kind, a.Schema, a.Strict = fsm.KindJudge, cliVerdict, true
		res := do(t, r, a)
		if res.Reply == nil || res.Reply.Failure != "" {
			t.Fatalf("%+v %+v", res, res.Reply)
		}
		answer, ok := res.Reply.Answer.(*value.Map)
		if !ok {
			t.Fatalf("the answer is %T: %v", res.Reply.Answer, res.Reply.Answer)
		}
		if v, _ := answer.Get("verdict"); v != "no" {
			t.Errorf("verdict %v", v)
		}
	})
}

func TestCLIRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		does  string
		class fsm.Failure
		with  string // the CLI that stands for all
	}{
		{"401", fsm.FailAuth, "qwen"},
		{"429", fsm.FailRateLimited, "gemini"},
		{"500", fsm.FailTransient, "claude"},
		{"prose", fsm.FailSchema, "codex"},
	} {
		t.Run(c.does, func(t *testing.T) {
			t.Parallel()
			testenv.WithCLI(t, c.with, func(t *testing.T, cli string) {
				if cli == "qwen" && (c.does == "429" || c.does == "500") {
					return // it tries seven times, whatever the settings, for longer than the test has
				}
				r, _, a := realCLI(t, cli, "do it [["+c.does+"]]")
				if c.does == "prose" {
					a.Kind, a.Schema, a.Strict = fsm.KindJudge, cliVerdict, true
				}
				begin := time.Now()
				res := do(t, r, a)
				g := res.Reply
				if g == nil || g.Failure != c.class || res.ExitCode == 0 || g.Reason == "" {
					t.Fatalf("exit %d, %+v, want %s\n%s", res.ExitCode, g, c.class, res.Stderr)
				}
				// codex and claude do not hand on what the API said about when.
				if c.does == "429" && cli == "gemini" {
					if in := g.ResetAt.Sub(begin); in < testenv.RetryAfter-time.Second ||
						in > testenv.RetryAfter+patient {
						t.Errorf("to be asked again in %s, want %s", in, testenv.RetryAfter)
					}
				}
			})
		})
	}
}

// A prompt whose agent uses a tool, and one that continues its session.
func TestCLIToolAndSession(t *testing.T) {
	t.Parallel()
	testenv.EachCLI(t, func(t *testing.T, cli string) {
		r, api, a := realCLI(t, cli, "- the first thing [[tool]]")
		first := do(t, r, a)
		succeeded(t, first, cli, testenv.ToolFirst+"\n"+testenv.ToolDone, 2)
		if made, err := os.ReadFile(filepath.Join(r.Dir, testenv.ToolMakes)); string(made) != "made\n" {
			t.Errorf("the tool made %q: %v", made, err)
		}
		a.Text, a.Step, a.Session, a.Counted = "the second thing [[ok]]", 2, first.Reply.Session,
			first.Reply.SessionUsage
		second := do(t, r, a)
		succeeded(t, second, cli, testenv.Hello, 1)
		if second.Reply.Session != first.Reply.Session {
			t.Errorf("session %s, then %s", first.Reply.Session, second.Reply.Session)
		}
		all := api.Requests()
		if body := all[len(all)-1].Body; !strings.Contains(body, "the first thing") ||
			!strings.Contains(body, "the second thing") {
			t.Error("the session was not carried on")
		}
	})
}

// withoutItsKey returns a Runner with a CLI that does not have its key, in a sandbox that reaches its vendor alone, the
// first time in a home.
func withoutItsKey(t *testing.T, cli, text string) (r *Runner, api *testenv.VendorAPI, a fsm.Action,
	key confine.Egress, home string,
) {
	t.Helper()
	r, _, a = realCLI(t, cli, text)
	api = testenv.ServeVendorTLS(t, cli)
	home, err := os.MkdirTemp("/var/lib", "loops-cli-*") // which the sandbox does not let it change
	if err != nil {
		home = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	vendor, err := url.Parse(api.URL)
	testenv.Must(t, err)
	trust := filepath.Join(t.TempDir(), "vendor.pem")
	testenv.Must(t, os.WriteFile(trust, api.CA, 0o600))
	key = confine.NewEgress("KEY", "the-key-that-is-real", []string{vendor.Host})
	r.Egress, r.Env = []confine.Egress{key}, nil
	for _, e := range append(testenv.CLIEnv(t, cli, api, home), "SSL_CERT_FILE="+trust) {
		r.Env = append(r.Env, strings.ReplaceAll(e, "no-key", key.StandIn))
	}
	a.Sandbox = []*confine.Policy{{Preset: confine.Workspace, Network: []string{vendor.Host}}}
	return r, api, a, key, home
}

// An agent works in a sandbox with a key that it does not have: the proxy writes it into its requests to the vendor.
// Its tool works there too.
func TestCLIInASandboxWithoutItsKey(t *testing.T) {
	t.Parallel()
	testenv.EachCLI(t, func(t *testing.T, cli string) {
		r, api, a, key, _ := withoutItsKey(t, cli, "- the first thing [[tool]]")
		succeeded(t, do(t, r, a), cli, testenv.ToolFirst+"\n"+testenv.ToolDone, 2)
		if made, err := os.ReadFile(filepath.Join(r.Dir, testenv.ToolMakes)); string(made) != "made\n" {
			t.Errorf("the tool made %q: %v", made, err)
		}
		for _, asked := range api.Requests() {
			if !strings.Contains(sentKey(asked), key.Value) || strings.Contains(fmt.Sprint(asked.Header), key.StandIn) {
				t.Errorf("the vendor got %q", asked.Header)
			}
		}
	})
}

// sentKey returns the headers of a request that the proxy of a sandbox covers.
func sentKey(asked testenv.VendorRequest) string {
	return asked.Header.Get("Authorization") + asked.Header.Get("X-Api-Key") + asked.Header.Get("X-Goog-Api-Key")
}

// In headers of the user that an agent sends the stand-in leaves, and in that of its key the secret: what
// docs/language/secrets.md says of them. gemini sends no such headers.
func TestCLIHeadersNotCovered(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "claude", func(t *testing.T, cli string) {
		if cli == "gemini" {
			return
		}
		r, api, a, key, home := withoutItsKey(t, cli, "- the first thing [[ok]]")
		file, text := "", ""
		switch cli {
		case "claude":
			r.Env = append(r.Env, "ANTHROPIC_CUSTOM_HEADERS=X-Team-Key: "+key.StandIn)
		case "codex":
			r.Env = append(r.Env, "TEAM_KEY="+key.StandIn)
			file, text = ".codex/config.toml", `env_http_headers = {"X-Team-Key" = "TEAM_KEY"}`
		case "qwen":
			file = ".qwen/settings.json"
			text = fmt.Sprintf(`{"model": {"generationConfig": {"customHeaders": {"X-Team-Key": %q}}}}`, key.StandIn)
		}
		if file = filepath.Join(home, file); file != home {
			testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
			was, _ := os.ReadFile(file)
			testenv.Must(t, os.WriteFile(file, append(was, text...), 0o600))
		}
		succeeded(t, do(t, r, a), cli, testenv.Hello, 1)
		for _, asked := range api.Requests() {
			if asked.Header.Get("X-Team-Key") != key.StandIn || !strings.Contains(sentKey(asked), key.Value) {
				t.Errorf("the vendor got %q", asked.Header)
			}
		}
	})
}

// newRunner looks for processes that outlived these.
func TestCLITimeout(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "codex", func(t *testing.T, cli string) {
		r, _, a := realCLI(t, cli, "talk [[slow]]")
		a.Timeout = 12 * time.Second
		res := do(t, r, a)
		if res.ExitCode != 124 || res.TimeoutKind != "wall" || res.Reply == nil ||
			res.Reply.Failure != fsm.FailTimeout {
			t.Errorf("exit %d after %s, %q, %+v", res.ExitCode, res.Duration, res.TimeoutKind, res.Reply)
		}
	})
}

// A tool is in a session of its own, which no signal to the group of its CLI reaches.
func TestCLIStopped(t *testing.T) {
	t.Parallel()
	testenv.WithCLI(t, "gemini", func(t *testing.T, cli string) {
		r, _, a := realCLI(t, cli, "work [[slowtool]]")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			made := filepath.Join(r.Dir, testenv.ToolMakes)
			if testenv.Within(patient, func() bool { return exists(made) || ctx.Err() != nil }) {
				stop()
			}
		}()
		if _, err := r.Run(ctx, a, nil); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(r.Dir, testenv.ToolMakes)); err != nil {
			t.Errorf("the tool was never started: %v", err)
		}
	})
}

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loops/internal/testenv"
)

const outletsLoop = `name: outlets
description: a test
initial: tool
secrets: [NAMED]
states:
  tool: {action_type: mcp_tool, action: srv/tell, capture: told, route: {success: fails, _: bad}}
  fails: {action_type: mcp_tool, action: srv/fail, route: {tool_error: say, _: bad}}
  say: {action: 'cat "$LIST"; cat "$LIST" >&2; echo "$LOOPS_CONTROL" > "$OUT/control"', sandbox: offline, capture: said, next: ask}
  ask: {ask: {question: "${captured.said.output} ${captured.told.output}", choices: [go, wait]}, timeout: 600, route: {go: end, _: bad}}
  end: {action: 'head -n 200 "$LIST"; tail -n 1 "$LIST" >&2; exit 1', next: failed}
  failed: {terminal: true, failure: true, message: "${captured.said.output}"}
  bad: {terminal: true, failure: true, message: bad}
`

const outletsServer = `answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
cat "$LIST" >&2
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
  *'"method":"initialize"'*) answer '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"1"}}' ;;
  *'"method":"tools/list"'*) answer '{"tools":[{"name":"tell","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}' ;;
  *'"name":"tell"'*) answer "{\"content\":$(cat "$OUT/content")}" ;;
  *'"name":"fail"'*) answer "{\"content\":$(cat "$OUT/content"),\"isError\":true}" ;;
  esac
done
`

// A sink keeps what comes over connections.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *sink) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.b.Bytes())
}

// The secrets of TestSecretsOfEachShape that a tool of an MCP server and an action print leave neither by
// notifications, webhooks and sockets, nor by the streams of a server, the answers of the MCP server, and the
// control socket of the run.
func TestSecretsOfEachShapeLeaveByNoSocket(t *testing.T) {
	t.Parallel()
	secrets, named, list := secretsOfEachShape(t)
	dir, out := filepath.Join(t.TempDir(), "leaky"), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	var hooks, socket, streams sink
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(&hooks, r.URL, r.Header)
		_, _ = io.Copy(&hooks, r.Body)
	}))
	t.Cleanup(server.Close)
	short, err := os.MkdirTemp("", "s") // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	collector, err := net.Listen("unix", short+"/c")
	must(t, err)
	t.Cleanup(func() { _ = collector.Close() })
	go func() {
		for {
			c, err := collector.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(&socket, c)
			_ = c.Close()
		}
	}()
	content, err := json.Marshal([]map[string]string{{"type": "text", "text": list}})
	must(t, err)
	kinds := "[started, completed, failed, waiting, awaiting, interrupted]"
	for path, text := range map[string]string{
		out + "/list": list, out + "/content": string(content), dir + "/server.sh": outletsServer,
		dir + "/.loops/outlets.yaml": outletsLoop,
		dir + "/.mcp.json":           `{"mcpServers": {"srv": {"command": "bash", "args": ["server.sh"]}}}`,
		dir + "/.loops/config.yaml": `notify:
  - {command: 'cat >> "$OUT/told"; for v in ${!LOOPS_NOTIFY_@}; do printf "%s=%s\n" "$v" "${!v}"; done >> "$OUT/told"', on: ` + kinds + `}
  - {webhook: ` + server.URL + `/notify, on: ` + kinds + `}
events:
  - {webhook: ` + server.URL + `/events}
  - {command: 'cat >> "$OUT/events"'}
  - {socket: ` + short + `/c}
`,
	} {
		writeText(t, path, text)
	}
	env := append(cleanEnv(binary(t), dir), "LIST="+out+"/list", "OUT="+out, "NAMED="+named)
	seen := map[string]int{}
	holds := func(where string, b []byte) {
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds %s", where, s)
			}
		}
		seen[where] += bytes.Count(b, []byte("***("))
	}
	web := startServe(t, dir)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var readers sync.WaitGroup
	defer readers.Wait()
	defer end()
	follow := func(path string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.base+path, nil)
		must(t, err)
		answer, err := web.client.Do(r)
		must(t, err)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
		readers.Go(func() {
			_, _ = io.Copy(&streams, answer.Body)
			_ = answer.Body.Close()
		})
	}
	follow("/api/v1/stream")
	a := agentIn(t, dir, env)
	ask := func(tool string, arguments map[string]any) map[string]any {
		m := a.ask(tool, arguments)
		b, err := json.Marshal(m)
		must(t, err)
		holds("the MCP server", b)
		return m
	}
	id, _ := ask("run", map[string]any{"name": "outlets"})["instance_id"].(string)
	follow("/api/v1/projects/leaky/runs/" + id + "/stream")
	testenv.Wait(t, "the question", func() bool {
		return strings.Contains(fmt.Sprint(ask("status", map[string]any{"run": id})), "waiting")
	})
	control, err := os.ReadFile(out + "/control")
	must(t, err)
	for _, line := range []string{
		"", "x", `{"run": "other", "command": "x"}`,
		`{"run": "` + id + `", "command": "x"}`,
	} {
		c, err := net.DialTimeout("unix", strings.TrimSpace(string(control)), time.Minute)
		must(t, err)
		_, err = c.Write([]byte(line + "\n"))
		must(t, err)
		reply, err := io.ReadAll(c)
		if err != nil || !bytes.Contains(reply, []byte("error")) {
			t.Errorf("the control socket replies %q to %q: %v", reply, line, err)
		}
		holds("the control socket", reply)
		_ = c.Close()
	}
	text, errs, _ := answer(t, dir, env, "answer", id, "go")
	holds("loops answer", []byte(text+errs))
	testenv.Wait(t, "the end of the run", func() bool {
		return strings.Contains(fmt.Sprint(ask("status", map[string]any{"run": id})["status"]), "failed") &&
			bytes.Contains(socket.bytes(), []byte("loop_complete"))
	})
	ask("list", nil)
	ask("history", map[string]any{"name": "outlets"})
	ask("logs", map[string]any{"run": id})
	ask("explain", map[string]any{"run": id})
	for _, step := range []string{"1", "2", "3", "4"} {
		ask("explain", map[string]any{"run": id, "step": step})
	}
	for after := 0; after < 2000; after += 200 {
		ask("events", map[string]any{"run": id, "after": after, "limit": 200})
	}
	for _, uri := range []string{"", "/graph", "/receipt"} {
		if r, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "loops://runs/" + id + uri}); err == nil {
			b, err := json.Marshal(r)
			must(t, err)
			holds("the MCP server", b)
		}
	}
	testenv.Wait(t, "what is told of the end", func() bool {
		told, _ := os.ReadFile(out + "/told")
		events, _ := os.ReadFile(out + "/events")
		return bytes.Contains(told, []byte("LOOPS_NOTIFY_EVENT=failed")) &&
			bytes.Contains(events, []byte("loop_complete")) &&
			bytes.Contains(hooks.bytes(), []byte("X-Loops-Event:[failed]")) &&
			bytes.Contains(streams.bytes(), []byte("loop_complete"))
	})
	end()
	readers.Wait()
	holds("webhooks", hooks.bytes())
	holds("the socket of events", socket.bytes())
	holds("streams", streams.bytes())
	for _, name := range []string{"told", "events"} {
		b, err := os.ReadFile(filepath.Join(out, name))
		must(t, err)
		holds("commands: "+name, b)
	}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == ".sealed" {
			return err
		}
		b, err := os.ReadFile(path)
		holds("files", b)
		return err
	}))
	for _, where := range []string{
		"webhooks", "the socket of events", "streams", "the MCP server", "files",
		"commands: told", "commands: events",
	} {
		if seen[where] < 10 {
			t.Errorf("%s: %d placeholders are where secrets were", where, seen[where])
		}
	}
}

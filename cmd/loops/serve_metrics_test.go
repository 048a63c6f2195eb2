package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// metrics asks for /metrics with a token; "" = without one.
func (s *webServer) metrics(token string) (status int, text string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.base+"/metrics", http.NoBody)
	must(s.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return s.do(&http.Client{Timeout: testenv.Patience}, r)
}

// metered waits until the metrics have a line.
func (s *webServer) metered(token, line string) {
	s.t.Helper()
	var text string
	if !testenv.Within(testenv.Patience, func() bool {
		_, text = s.metrics(token)
		return strings.Contains(text, line+"\n")
	}) {
		s.t.Fatalf("the metrics do not come to %s:\n%s", line, text)
	}
}

// TestMetrics: a server counts what is recorded while it is running, for those who have the token of its
// settings. A run that is killed and resumed counts once as begun, and what is pruned stays counted.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"dir", "sqlite:.loops/runs.db"} {
		t.Run(store[:3], func(t *testing.T) {
			t.Parallel()
			dir := serveDir(t)
			must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
			writeText(t, filepath.Join(dir, ".loops/config.yaml"), "store: "+store+"\n")
			writeText(t, filepath.Join(dir, ".loops/dies.yaml"), `name: dies
description: its runner is killed once
initial: a
states:
  a: {action: "test -e once || { touch once; kill -9 $PPID; sleep 60; }", next: b}
  b: {action: "true", next: done}
  done: {terminal: true}
`)
			loops := func(args ...string) string {
				// it may be killed
				out, _ := exec.Command(binary(t), append([]string{"-C", dir}, args...)...).CombinedOutput()
				return string(out)
			}
			writeText(t, filepath.Join(dir, "once"), "")
			said := loops("run", "-q", "dies") // before the server: it does not count
			must(t, os.Remove(filepath.Join(dir, "once")))
			s := startServe(t, dir)
			if status, text := s.metrics(webhookSecret); status != http.StatusNotFound {
				t.Fatalf("metrics are not off: %d %s", status, text)
			}
			writeText(t, filepath.Join(dir, ".loops/config.yaml"),
				"store: "+store+"\nserve: {metrics: true, metrics_token: {env: DEPLOY_SECRET}}\n")
			for _, wrong := range []string{"", "x", s.token} {
				if status, text := s.metrics(wrong); status != http.StatusUnauthorized ||
					strings.Contains(text, "# TYPE") {
					t.Errorf("with the token %q: %d %s", wrong, status, text)
				}
			}
			s.metered(webhookSecret, `loops_queue_length{project="shop"} 0`)
			said += loops("run", "-q", "dies")
			s.metered(webhookSecret, `loops_runs_started_total{project="shop",loop="dies"} 1`)
			said += loops("resume", "-q", "dies")
			for _, line := range []string{
				`loops_runs_ended_total{project="shop",loop="dies",outcome="completed"} 1`,
				`loops_runs_resumed_total{project="shop",loop="dies"} 1`,
				`loops_leases_lost_total{project="shop",loop="dies"} 1`,
				`loops_steps_total{project="shop",loop="dies"} 2`,
			} {
				s.metered(webhookSecret, line)
			}
			all := loops("stats", "--prometheus")
			if !strings.Contains(all, `loops_runs_started_total{project="shop",loop="dies"} 2`) ||
				!strings.Contains(all, `loops_runs_ended_total{project="shop",loop="dies",outcome="completed"} 2`) {
				t.Errorf("stats --prometheus does not count all runs:\n%s\n%s", all, said)
			}
			for id := range strings.FieldsSeq(loops("runs")) {
				if strings.HasPrefix(id, "dies-") {
					said += loops("rm", id)
				}
			}
			if left := loops("runs"); strings.Contains(left, "dies-") {
				t.Fatalf("nothing was pruned: %s\n%s", left, said)
			}
			loops("run", "-q", "dies")
			s.metered(webhookSecret, `loops_runs_ended_total{project="shop",loop="dies",outcome="completed"} 2`)
			s.metered(webhookSecret, `loops_steps_total{project="shop",loop="dies"} 4`)
		})
	}
}

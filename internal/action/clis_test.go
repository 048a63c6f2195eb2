package action

import (
	"os"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/hosttest"
)

func TestExplore(t *testing.T) {
	for _, cli := range hosttest.CLIs {
		for _, does := range []string{"ok", "two", "tool", "yes", "prose", "400", "401", "403", "404", "429", "500", "529", "quota", "long", "refuse", "cut"} {
			t.Run(cli+"/"+does, func(t *testing.T) {
				t.Parallel()
				r := newRunner(t)
				api := hosttest.Serve(t, cli)
				r.Env = hosttest.Env(t, cli, api, t.TempDir())
				a := fsm.Action{Kind: fsm.KindPrompt, Text: "do it [[" + does + "]]", State: "a", Step: 1, Attempt: 1, Host: cli, Permissions: "skip", Timeout: 60 * time.Second}
				if cli == "gemini" {
					a.Model = "gemini-2.5-flash"
				}
				if does == "yes" || does == "prose" {
					a.Kind = fsm.KindJudge
					a.Schema = `{"type":"object","properties":{"verdict":{"type":"string","enum":["yes","no"]},"confidence":{"type":"number"},"reason":{"type":"string"},"evidence":{"type":"string"}},"required":["verdict","confidence","reason","evidence"],"additionalProperties":false}`
					a.Strict = true
				}
				begin := time.Now()
				res := do(t, r, a)
				rep := res.Reply
				_, err := os.Stat(r.Dir + "/made.txt")
				t.Logf("%s %v exit %d stdout %.100q made %t\n  %+v\n requests %d stderr %.600q", time.Since(begin), rep.Failure, res.ExitCode, res.Stdout, err == nil, *rep, len(api.Requests()), res.Stderr)
			})
		}
	}
}

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// top returns the first span of the trace of a loop's one run, by its name.
func (c *collector) top(name string) (found sentSpan) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name && s.ParentSpanID == "" &&
			(found.SpanID == "" || s.StartTimeUnixNano < found.StartTimeUnixNano) {
			found = s
		}
	}
	if found.SpanID == "" {
		c.t.Fatalf("there is no trace of %s", name)
	}
	return found
}

// TestTraceLinks: a run that was forked from another one, and one that an action of another one started, have a
// link to the first span of that.
func TestTraceLinks(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	dir := tracedDir(t, "")
	writeText(t, filepath.Join(dir, ".loops/outer.yaml"),
		"name: outer\nscope: [outer]\ndescription: runs another one\ninitial: a\nstates:\n  a: {action: 'exec "+
			binary(t)+" run -q small', next: done}\n  done: {terminal: true}\n")
	for _, args := range [][]string{{"run", "-q", "outer"}, {"fork", "-q", "outer"}} {
		if out, err := traced(t, c.url, dir, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
	}
	outer := c.top("outer")
	c.mu.Lock()
	defer c.mu.Unlock()
	forks, children := 0, 0
	for _, s := range c.spans {
		if s.ParentSpanID != "" || s.SpanID == outer.SpanID {
			continue
		}
		if s.Name == "outer" {
			forks++
		} else {
			children++
		}
		to, ok := sentSpan{}, len(s.Links) == 1
		if ok {
			to, ok = c.spans[s.Links[0].TraceID+"/"+s.Links[0].SpanID]
		}
		if !ok || to.Name != "outer" || to.ParentSpanID != "" || to.TraceID == s.TraceID || s.Name == "outer" &&
			to.SpanID != outer.SpanID {
			t.Errorf("%s has the links %v, to %+v", s.Name, s.Links, to)
		}
	}
	if forks != 1 || children != 2 {
		t.Errorf("there are %d forks and %d runs that an action started", forks, children)
	}
}

// TestTraceMasked: with the texts of prompts and answers, a trace has secrets masked as the record has them.
func TestTraceMasked(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	dir := tracedDir(t, "telemetry: {capture_content: true}\n")
	writeText(t, filepath.Join(dir, ".loops/ask.yaml"), `name: ask
description: tells an agent a secret
secrets: [API_KEY]
initial: a
states:
  a: {action_type: prompt, action: 'use ${secret.API_KEY} for it', host: claude, next: done}
  done: {terminal: true}
`)
	bin := t.TempDir()
	writeText(t, filepath.Join(bin, "claude"), `#!/bin/bash
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s-1","model":"m-1"}' \
  '{"type":"assistant","message":{"content":[{"type":"text","text":"the key is sesame-open-4711"}]}}' \
  '{"type":"result","subtype":"success","is_error":false,"result":"the key is sesame-open-4711","session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":11,"output_tokens":7}}'
`)
	must(t, os.Chmod(filepath.Join(bin, "claude"), 0o755))
	cmd := traced(t, c.url, dir, "run", "-q", "ask")
	cmd.Env = append(cmd.Env, "API_KEY=sesame-open-4711", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	of := c.top("ask").attr("loops.run.id")
	for series, want := range map[string]string{
		`loops_tokens_total{project="shop",loop="ask",model="m-1",type="input"}`: "11",
		`loops_cost_usd_total{project="shop",loop="ask",model="m-1"}`:            "0.25",
	} {
		if got := c.point(of + " " + series); got != want {
			t.Errorf("%s was sent as %q, not %s", series, got, want)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.StringValue, "sesame") {
				t.Errorf("%s of %s is %s", a.Key, s.Name, a.Value.StringValue)
			}
		}
		if s.Name != "prompt" {
			continue
		}
		for key, want := range map[string]string{
			"gen_ai.input.messages": "use ***(API_KEY) for it", "gen_ai.output.messages": "the key is ***(API_KEY)",
			"gen_ai.operation.name": "invoke_agent",
			"gen_ai.provider.name":  "anthropic", "gen_ai.agent.name": "claude", "gen_ai.conversation.id": "s-1",
			"gen_ai.usage.input_tokens": "11", "gen_ai.usage.output_tokens": "7",
		} {
			if got := s.attr(key); !strings.Contains(got, want) {
				t.Errorf("%s is %q, without %q", key, got, want)
			}
		}
		return
	}
	t.Error("there is no span of a prompt")
}

// TestTraceDisturbed: a run that is paused in a branch, extended, stopped in an item, and killed in the
// sub-loop of an item is one trace with each step once, and its metrics are those of its record, on each store.
func TestTraceDisturbed(t *testing.T) {
	t.Parallel()
	gate := func(name string) string {
		return `echo begun > at.` + name + `; until [ -e go.` + name + ` ]; do sleep 0.02; done; `
	}
	loop := strings.NewReplacer(
		"left: {action: '", "left: {action: '"+gate("left"),
		"parallel: 2\n    action: '", "parallel: 2\n    action: '"+gate("list"),
	).Replace(tracedLoop)
	inner := strings.Replace(innerLoop, "x: {action: '", "x: {action: 'if [ -e arm ]; then "+
		strings.ReplaceAll(gate("inner"), "'", "")+"fi; ", 1)
	postgres := startPostgres(t)
	for name, store := range map[string]string{
		"dir": "dir", "sqlite": "sqlite:.loops/runs.db",
		"postgres": postgres.URL("traces"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			dir := tracedDir(t, "store: "+store+"\n")
			writeText(t, filepath.Join(dir, ".loops/traced.yaml"), loop)
			writeText(t, filepath.Join(dir, ".loops/inner.yaml"), inner)
			at := func(name string) {
				t.Helper()
				file := filepath.Join(dir, "at."+name)
				testenv.Wait(t, file, func() bool { _, err := os.Stat(file); return err == nil })
			}
			open := func(name string) { writeText(t, filepath.Join(dir, name), "") }
			do := func(args ...string) {
				t.Helper()
				if out, err := traced(t, c.url, dir, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %v %s", args, err, out)
				}
			}
			begin := func(args ...string) *exec.Cmd {
				t.Helper()
				cmd := traced(t, c.url, dir, args...)
				must(t, cmd.Start())
				t.Cleanup(func() { _ = cmd.Process.Kill() })
				return cmd
			}
			run := begin("run", "-q", "traced")
			at("left")
			do("pause", "traced")
			open("go.left")
			testenv.Wait(t, "the pause", func() bool {
				out, _ := traced(t, c.url, dir, "status", "traced").CombinedOutput()
				return strings.Contains(string(out), "paused")
			})
			do("extend", "traced", "steps=5")
			do("unpause", "traced")
			at("list")
			do("stop", "traced")
			_ = run.Wait()
			open("go.list")
			open("arm")
			run = begin("resume", "-q", "traced")
			at("inner")
			must(t, run.Process.Kill())
			_ = run.Wait()
			open("go.inner")
			do("resume", "-q", "traced")
			all := c.whole()
			for name, n := range map[string]int{
				"traced": 3, "a": 1, "both": 1, "list": 1, "each": 1, "rest": 1,
				"sub": 1, "x": 4, "y": 4, "left": 2, "right": 1, "#1": 2, "#2": 2, "#3": 1, "wait paused": 1,
			} {
				if got := count(all, name); got != n {
					t.Errorf("%d spans are called %s, not %d", got, name, n)
				}
			}
			parents(t, dir, all)
			c.counted(runOf(all), "traced", loopsIn(t, dir, nil, "stats", "--prometheus"))
		})
	}
}

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/internal/agent"
)

// referenceName is the file in which projects of little-loops are configured, below the project.
var referenceName = filepath.Join(".ll", "ll-config.json")

// ReferenceFile returns the configuration of little-loops for a project.
func ReferenceFile(dir string) string { return filepath.Join(dir, referenceName) }

// reference reads what matters here of little-loops' configuration. It is another tool's file: keys that mean nothing
// here are ignored, and what is wrong with it is a warning.
func (l Layers) reference(c *Config) {
	if l.Reference == "" {
		return
	}
	warn := func(format string, args ...any) {
		c.Warnings = append(c.Warnings, Problem{File: l.Reference, Text: fmt.Sprintf(format, args...)})
	}
	data, err := read(l.Reference)
	if err != nil {
		warn("it cannot be read: %v", cause(err))
		return
	}
	if len(data) == 0 {
		return
	}
	var all any
	if len(data) > most {
		err = errors.New("it has more than 1 MiB")
	} else {
		err = json.Unmarshal(data, &all)
	}
	f, isObject := all.(map[string]any)
	if err == nil && !isObject && all != nil {
		err = errors.New("it is no JSON object")
	}
	if err != nil {
		warn("it is not used, because it cannot be made out: %v", err)
		return
	}
	set := func(name string) { c.at(name, l.Reference, 0) }
	seconds := func(name string, v any) (time.Duration, bool) {
		s, ok := v.(float64)
		if v != nil && (!ok || math.IsNaN(s) || s < 0 || s > longest.Seconds()) {
			warn("%s is not used: it is no number of seconds", name)
			return 0, false
		}
		return time.Duration(s * float64(time.Second)), v != nil
	}
	loops, _ := f["loops"].(map[string]any)
	defaults, _ := loops["run_defaults"].(map[string]any)
	if d, ok := seconds("loops.queue_wait_timeout_seconds", loops["queue_wait_timeout_seconds"]); ok && d > 0 {
		c.QueueTimeout = d
		set("queue.timeout")
	}
	if d, ok := seconds("loops.run_defaults.delay", defaults["delay"]); ok && d > 0 {
		c.Delay = d
		set("run.delay")
	}
	orchestration, _ := f["orchestration"].(map[string]any)
	if name, _ := orchestration["host_cli"].(string); knownHost(name) {
		c.Host = name
		set("run.host")
	}
	c.referenceHints(orchestration["model_hints"], warn)
	commands, _ := f["commands"].(map[string]any)
	gate, _ := commands["confidence_gate"].(map[string]any)
	for _, name := range thresholds {
		n, ok := gate[name].(float64)
		switch {
		case gate[name] == nil:
		case !ok || n != math.Trunc(n) || n < 0 || n > 100:
			warn("commands.confidence_gate.%s is not used: it is no whole number from 0 to 100", name)
		default:
			if c.Thresholds == nil {
				c.Thresholds = map[string]int64{}
			}
			c.Thresholds[name] = int64(n)
		}
	}
	for _, k := range unread {
		if at(f, k.path) != nil {
			warn("%s is not read; %s", k.path, k.instead)
		}
	}
	// Its loops are in another folder then. What is recorded is in .loops all the same.
	if dir, _ := loops["loops_dir"].(string); dir != "" && filepath.Clean(dir) != ".loops" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(l.Dir, dir)
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() &&
			filepath.Join(l.Dir, ".loops") != filepath.Clean(dir) {
			c.Catalog = filepath.Clean(dir)
			set("catalog")
		}
	}
}

// thresholds are the keys of the confidence gate that are context values of a run.
var thresholds = []string{"readiness_threshold", "outcome_threshold"}

// unread are the keys that change what a loop does in little-loops, and that have no setting here.
var unread = []struct{ path, instead string }{
	{"commands.rate_limits", "a state has rate_limit_max_wait_seconds and rate_limit_long_wait_ladder for that"},
	{"loops.run_defaults.include", "name what a run needs in its loop file, or in its context"},
	{"hitl", "a state that asks has timeout and on_timeout for that"},
	{"automation.max_continuations", "a loop has max_steps and budget for that"},
	{"continuation.max_continuations", "a loop has max_steps and budget for that"},
}

// at returns the value at a path of keys with dots between them; nil = there is none.
func at(object any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		m, _ := object.(map[string]any)
		object = m[key]
	}
	return object
}

// knownHost reports whether there is a host of that name. little-loops has some that are not known here.
func knownHost(name string) bool {
	return name != "" && slices.ContainsFunc(agent.Hosts(), func(h *agent.CLI) bool {
		return h.Name == name || slices.Contains(h.Aliases, name)
	})
}

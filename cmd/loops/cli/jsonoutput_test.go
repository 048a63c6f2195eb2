package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/complete"
	"loops/internal/jsonoutput"
)

func TestEveryJSONHasASchema(t *testing.T) {
	var have []string
	complete.Visit(newRootCommand(&app{}, ""), func(cmd *cobra.Command) {
		if f := cmd.Flags().Lookup("json"); f != nil && f.Value.Type() == "bool" && cmd.Runnable() {
			have = append(have, strings.TrimPrefix(cmd.CommandPath(), "loops "))
		}
	})
	slices.Sort(have)
	if described := jsonoutput.Commands(); !slices.Equal(have, described) {
		t.Errorf("commands with --json: %q\ndescribed: %q", have, described)
	}
}

// What commands print over runs that ended in several ways is what their schemas say, and has no other key.
func TestJSONFollowsItsSchema(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".loops"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(".loops/child.yaml", "name: child\ninitial: one\nstates:\n  one: {action: echo one, next: done}\n  done: {terminal: true}\n")
	write(".loops/lib.yaml", "fragments:\n  f: {description: Says it, parameters: {text: {type: string, required: true}}, action: echo}\n")
	write(".loops/fix.yaml", `name: fix
description: Repairs
schedule: {cron: "0 3 * * *"}
initial: a
states:
  a: {action: "echo hi", capture: out, on_yes: sub, on_no: sub}
  sub: {loop: child, on_yes: b, on_no: b}
  b: {action: "test ! -e bad", on_yes: done, on_no: broken}
  done: {terminal: true}
  broken: {terminal: true, failure: true}
`)
	write(".loops/each.yaml", `name: each
initial: a
states:
  a: {for_each: [1, 2], as: it, action: "echo ${item.it}", on_item_failure: continue, on_yes: b, on_no: b}
  b: {parallel: {x: {loop: child}, y: {action: "false"}}, on_branch_failure: continue, on_yes: c, on_no: c, on_error: c}
  c: {action: "exit 3", on_yes: done}
  done: {terminal: true}
`)
	write(".loops/asks.yaml", `name: asks
initial: a
states:
  a: {ask: {question: "Ship?", choices: [approve, reject]}, on_yes: done, on_no: done}
  done: {terminal: true}
`)
	loops := func(args ...string) (string, string) {
		var out, errs bytes.Buffer
		Main(args, IO{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Env: os.Environ()})
		return out.String(), errs.String()
	}
	loops("run", "fix", "-q")
	write("bad", "")
	loops("run", "fix", "-q")
	loops("run", "fix", "-q", "--max-steps", "1")
	if out, errs := loops("run", "each", "-q"); !strings.Contains(out+errs, "exit 3") && !strings.Contains(out+errs, "state c") {
		t.Errorf("run each: %s%s", out, errs)
	}
	loops("run", "asks", "-q", "--park")
	if out, _ := loops("status", "asks", "--jq", ".waiting.what"); strings.TrimSpace(out) == "null" {
		t.Error("run asks --park waits for nothing")
	}
	list, _ := loops("runs", "--jq", ".[].instance_id")
	ids := strings.Fields(strings.ReplaceAll(list, `"`, "")) // newest first
	newest, failed, oldest := ids[0], ids[len(ids)-2], ids[len(ids)-1]
	for _, command := range []string{
		"status", "status last", "status fix", "status each", "status asks", "history fix", "history last", "history each", "history asks", "events last", "events each", "events fix", "cost", "cost last", "stop each", "test fix", "test fix --state b", "test each --state a", "test each --state c", "test asks", "simulate fix --seed 1", "simulate each --scenario all-fail", "simulate fix --seed 1 --runs 20", "prune --keep-last 9",
		"config show", "explain last", "fragments .loops/lib.yaml", "list", "queue list", "render fix a", "runs",
		"schedule next fix", "stats fix", "store copy dir sqlite:copy.db", "sweep", "validate", "version", "export last -o x.tar.gz", "rm " + newest + " --force", "import x.tar.gz",
		"answer", "diff " + oldest + " " + newest, "diff " + oldest + " " + failed, "doctor", "show fix", "show fix --origins --resolved", "watch --once", "watch fix --once",
		"run fix --dry-run", "run fix", "run each", "run asks --park", "fork " + oldest + " --at 2 --dry-run", "fork " + oldest + " --at 2", "attach " + oldest, "resume asks --park",
		"answer asks approve", "answer",
	} {
		args := strings.Fields(command)
		i := slices.IndexFunc(jsonoutput.Outputs, func(o jsonoutput.Output) bool { return strings.HasPrefix(command+" ", o.Command+" ") })
		schema, err := jsonoutput.Outputs[i].Schema()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		holds, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		out, errs := loops(append(args, "--json")...)
		texts := []string{out}
		if !strings.Contains(command, "--dry-run") && slices.Contains([]string{"attach", "events", "fork", "resume", "run", "watch"}, args[0]) {
			texts = strings.Split(strings.TrimSpace(out), "\n")
		}
		for _, text := range texts {
			var got any
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Errorf("loops %s --json: %v\n%s%s", command, err, text, errs)
			} else if err := holds.Validate(got); err != nil {
				t.Errorf("loops %s --json: %v\n%s", command, err, text)
			}
		}
	}
	out, _ := loops("schema", "--json-output", "runs")
	if !strings.Contains(out, `"urn:loops:json:runs:1"`) || strings.Contains(out, `"additionalProperties": false`) {
		t.Errorf("schema --json-output runs:\n%s", out)
	}
	if _, errs := loops("schema", "--json-output", "runz"); !strings.Contains(errs, `no schema for "runz"; there is one for: answer, attach, config show, `) {
		t.Errorf("schema --json-output runz: %s", errs)
	}
}

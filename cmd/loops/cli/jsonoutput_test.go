package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/persistence"
	"loops/persistence/dirstore"
)

func TestEveryJSONHasASchema(t *testing.T) {
	var have []string
	completeVisit(newRootCommand(&program{}, ""), func(cmd *cobra.Command) {
		if f := cmd.Flags().Lookup("json"); f != nil && f.Value.Type() == "bool" && cmd.Runnable() {
			have = append(have, strings.TrimPrefix(cmd.CommandPath(), "loops "))
		}
	})
	slices.Sort(have)
	if described := api.Commands(); !slices.Equal(have, described) {
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
	write(".loops/child.yaml", "name: child\ninitial: one\nstates:\n  one: {action: echo one, next: done}\n"+
		"  done: {terminal: true}\n")
	write(".loops/lib.yaml", "fragments:\n  f: {description: Says it, parameters: {text: {type: string, required: "+
		"true}}, action: echo}\n")
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
	if out, errs := loops("run", "each", "-q"); !strings.Contains(out+errs, "exit 3") &&
		!strings.Contains(out+errs, "state c") {
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
		"status", "status last", "status fix", "status each", "status asks", "history fix", "history last",
		"history each", "history asks", "events last", "events each", "events fix", "cost", "cost last", "stop each",
		"test fix", "test fix --state b", "test each --state a", "test each --state c", "test asks", "prove fix",
		"prove each", "simulate fix --seed 1", "simulate each --scenario all-fail", "simulate fix --seed 1 --runs 20",
		"prune --keep-last 9",
		"config show", "explain last", "fragments .loops/lib.yaml", "list", "queue list", "render fix a", "runs",
		"schedule next fix", "schedule pause fix", "schedule unpause fix", "report last -o r.html",
		"new x --from sequence", "new --list", "stats fix", "store copy dir sqlite:copy.db", "sweep", "validate",
		"version", "export last -o x.tar.gz", "rm " + newest + " --force", "import x.tar.gz",
		"answer", "diff " + oldest + " " + newest, "diff " + oldest + " " + failed, "doctor", "show fix",
		"show fix --origins --resolved", "watch --once", "watch fix --once",
		"run fix --dry-run", "run fix", "run each", "run asks --park", "fork " + oldest + " --at 2 --dry-run",
		"fork " + oldest + " --at 2", "attach " + oldest, "resume asks --park",
		"answer asks approve", "answer",
	} {
		args := strings.Fields(command)
		out, errs := loops(append(args, "--json")...)
		followsSchema(t, command, out, errs)
	}
	out, _ := loops("schema", "--json-output", "runs")
	if !strings.Contains(out, `"urn:loops:json:runs:1"`) || strings.Contains(out, `"additionalProperties": false`) {
		t.Errorf("schema --json-output runs:\n%s", out)
	}
	if _, errs := loops("schema", "--json-output", "runz"); !strings.Contains(errs,
		`no schema for "runz"; there is one for: answer, attach, blame, `) {
		t.Errorf("schema --json-output runz: %s", errs)
	}
}

// followsSchema reports where what a command printed is not what its schema says.
func followsSchema(t *testing.T, command, out, errs string) {
	t.Helper()
	i := slices.IndexFunc(api.Outputs, func(o api.Output) bool { return strings.HasPrefix(command+" ", o.Command+" ") })
	schema, err := api.Outputs[i].Schema()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	holds, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	texts := []string{out}
	if !strings.Contains(command, "--dry-run") &&
		slices.Contains([]string{"attach", "events", "fork", "resume", "run", "watch"}, strings.Fields(command)[0]) {
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

// What commands print in a project without loops or runs, in one whose run was killed and in one whose records
// are damaged is what their schemas say, too. A command that has nothing to print says why, and ends with
// another code than 0.
func TestJSONOfAnyProject(t *testing.T) {
	interrupted := func(t *testing.T, dir string) {
		t.Helper()
		text := "name: fix\ndescription: Repairs\ninitial: work\nstates:\n  work: {action: make, next: done}\n" +
			"  done: {terminal: true}\n"
		if err := os.WriteFile(filepath.Join(dir, ".loops", "fix.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := dirstore.Open(filepath.Join(dir, ".loops"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		j, err := store.Create(t.Context(), persistence.Spec{
			Loop: "fix", File: ".loops/fix.yaml", MaxSteps: 50,
			StartedAt: began, Owner: persistence.Owner{PID: 1 << 22, Start: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		event := func(kind string, fields ...fsm.Field) fsm.Event {
			return fsm.Event{Kind: kind, Time: began, Fields: fields}
		}
		memory := &fsm.Snapshot{
			Loop: "fix", Phase: fsm.PhasePending, Current: "work", Step: 1, StartedAt: began,
			Context: value.NewMap(), Captured: value.NewMap(),
		}
		err = j.Record(t.Context(), &fsm.Batch{Checkpoint: true, Snapshot: memory, Events: []fsm.Event{
			event("loop_start", fsm.Field{Key: "loop", Value: "fix"}),
			event("state_enter", fsm.Field{Key: "state", Value: "work"}, fsm.Field{Key: "iteration", Value: int64(1)}),
			event("action_start", fsm.Field{Key: "action", Value: "make"}),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	damaged := func(t *testing.T, dir string) {
		t.Helper()
		interrupted(t, dir)
		all, err := filepath.Glob(filepath.Join(dir, ".loops/.running/fix-*"))
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		for _, path := range all {
			if err := os.WriteFile(path, []byte("{\"loop_name\": \"fix\", \"cur\x00\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, fill := range map[string]func(*testing.T, string){
		"no loops at all": nil,
		"no runs":         func(*testing.T, string) {},
		"killed":          interrupted,
		"damaged":         damaged,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if fill != nil {
				if err := os.Mkdir(filepath.Join(dir, ".loops"), 0o700); err != nil {
					t.Fatal(err)
				}
				fill(t, dir)
			}
			shown := 0
			for _, command := range []string{
				"status", "status last", "status fix", "history fix", "history last", "events fix", "cost",
				"cost last", "explain fix", "list", "list --running", "queue list", "runs", "runs --failed",
				"stats fix",
				"sweep --dry-run", "validate", "answer", "doctor", "show fix", "watch --once",
				"prune --keep-last 1 --dry-run", "schedule list", "config show", "stop fix", "pause fix",
				"diff last last", "fork fix --at 1 --dry-run",
				"export last -o x.tar.gz", "run fix --dry-run", "simulate fix --seed 1", "render fix work",
				"sign --check fix", "rm last", "store copy dir sqlite:copy.db",
			} {
				var out, errs bytes.Buffer
				code := Main(append(strings.Fields(command), "--json"),
					IO{
						In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir,
						Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")},
					})
				switch {
				case out.Len() > 0:
					shown++
					followsSchema(t, command, out.String(), errs.String())
				// which prints a line for each run
				case code == 0 && errs.Len() == 0 && !strings.HasPrefix(command, "watch"):
					t.Errorf("loops %s --json prints nothing, and ends with 0; it says %s", command, &errs)
				case code != 0 && errs.Len() == 0:
					t.Errorf("loops %s --json prints nothing, ends with %d, and does not say why", command, code)
				}
			}
			if shown < 8 {
				t.Errorf("%d commands printed something", shown)
			}
		})
	}
}

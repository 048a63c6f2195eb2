package loopfile

import (
	"strings"
	"testing"
	"time"
)

// The keys of the language, copied from nowhere but the specification, to notice one that got lost.
const languageKeys = `
loop: name description initial states context parameters scope max_steps on_max_steps max_iterations
loop: on_max_iterations max_edge_revisits backoff timeout default_timeout default_idle_timeout maintain llm
loop: on_handoff input_key required_inputs config category labels visibility commands targets circuit import
loop: fragments from flow state_defs secrets singleton pruning_profile tamper_guard prepatch_check session_mode
loop: artifact_versioning artifact_versioning_ok meta_self_eval_ok shared_state_ok partial_route_ok generator_fix_ok
loop: bash_default_ok shell_pid_ok parse_swallow_ok policy_dims_scored_ok unsafe_context_interpolation_ok
loop: pruning_profile_ok tamper_guard_ok prepatch_check_ok session_mode_ok haiku_generator_ok
loop: capture_reachability_ok terminal_action_ok abandonment_verdict_ok evaluate_unknown_keys_ok host_guard
loop: prompt_size_guard evidence_contract_ok throttle budget on_budget
state: action action_type params evaluate route on_yes on_success on_no on_failure on_error on_partial on_blocked
state: next terminal failure capture append_to_messages timeout idle_timeout on_maintain max_retries
state: on_retry_exhausted retryable_exit_codes max_rate_limit_retries on_rate_limit_exhausted
state: rate_limit_backoff_base_seconds rate_limit_max_wait_seconds rate_limit_long_wait_ladder loop
state: context_passthrough with worktree fragment agent tools model model_hint effort request_path type throttle
state: on_throttle_hard learning cost_ceiling pruning_profile tamper_guard prepatch_check session_mode description
state: fragment_name fragment_bindings fragment_parameters on_interrupted idempotent budget on_budget set message
state: retry wait on_timeout ask
ask: question choices fields show who quorum confirm remind escalate
ask.escalate: after to
state: for_each on_empty as key parallel on_item_failure item_retries join max_parallel on_branch_failure merge
for_each: command
state: call
call: url method headers body json
wait: for at until file url run event status every backoff max
retry: times backoff on
loop: schedule otherwise
schedule: cron timezone except overlap catch_up catch_up_limit
route[]: when to
budget: cost_usd tokens wall steps prompts allow_unknown_cost steer
loop: permissions worktree
state: host permissions sandbox
loop: sandbox guard
guard: protect only max_files max_lines no_delete
state: check
check: from files must_fail_first
state: guard on_guarded on_suspended failover
loop: failover properties
failover: on return files
loop: velocity quota
quota: reserve spare
state: velocity
velocity: cost_per_minute tokens_per_minute
sandbox: preset write read deny network env memory cpus pids tmp
loop: snapshots memory
memory: name tokens
state: remember
remember: fact judge source when failed
snapshots: keep include max_file
evaluate: type operator target tolerance pattern negate path prompt schema min_confidence uncertain_suffix source
evaluate: previous direction scope max_stall history_file epsilon track max_repeat baseline_path auto_promote
evaluate: min_pairs pairs line error_patterns key evidence votes quorum model host effort timeout yes no expression
evaluate: filter
throttle: normal_max warn_max hard_max
cost_ceiling: cost_ceiling_per_state cost_warn_at
llm: enabled host model model_hint max_tokens timeout effort
circuit: repeated_failure
circuit.repeated_failure: window on_repeated_failure progress_paths exclude_paths recurrent_window
host_guard: enabled cooldown_ms warn_pct critical_pct on_pressure pressure_state on_abort_route
host_guard: max_cumulative_subproc_mb on_budget_exceeded budget_state
prompt_size_guard: enabled warn_chars
parameter: type required default description values
`

func TestKeyTable(t *testing.T) {
	t.Parallel()
	missing := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(languageKeys), "\n") {
		where, keys, _ := strings.Cut(line, ": ")
		for _, k := range strings.Fields(keys) {
			missing[where+" "+k] = true
		}
	}
	seen := map[string]bool{}
	for _, k := range Keys() {
		id := string(k.In) + " " + k.Name
		if seen[id] {
			t.Errorf("%s stands twice", id)
		}
		seen[id] = true
		if !missing[id] {
			t.Errorf("%s is not in the language", id)
		}
		delete(missing, id)
		if !strings.HasSuffix(k.Doc, ".") || strings.Contains(k.Doc, "\n") {
			t.Errorf("%s: the description %q is no sentence", id, k.Doc)
		}
		if (k.Block != "") != (k.Type == TypeBlock) || k.Block != "" && byWhere()[k.Block] == nil {
			t.Errorf("%s: block %q of type %s", id, k.Block, k.Type)
		}
		if k.Alias != "" && byWhere()[k.In][k.Alias] == nil {
			t.Errorf("%s: alias of %q", id, k.Alias)
		}
		for _, typ := range k.For {
			if near(typ, nil) != "" || !contains(evaluatorNames(), typ) {
				t.Errorf("%s: for the unknown evaluator %q", id, typ)
			}
		}
		if k.Default == nil {
			continue
		}
		// A default must have the type that reading the key gives.
		b := &block{in: k.In}
		ok := false
		switch v := b.get(k.Name); k.Type {
		case TypeText, TypeTarget:
			_, ok = v.(string)
		case TypeInt:
			_, ok = v.(int)
		case TypeNumber:
			_, ok = v.(float64)
		case TypeSeconds:
			_, ok = v.(time.Duration)
		case TypeBool:
			_, ok = v.(bool)
		case TypeTexts:
			_, ok = v.([]string)
		case TypeInts:
			_, ok = v.([]int)
		case TypeValue:
			ok = true
		}
		if !ok {
			t.Errorf("%s: the default %#v is not of type %s", id, k.Default, k.Type)
		}
	}
	for id := range missing {
		t.Errorf("%s is not in the table", id)
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	words := []string{"on_yes", "on_no", "action", "action_type", "capture", "next", "terminal"}
	for word, want := range map[string]string{
		"actoin": "action", "acton_type": "action_type", "nxt": "next", "Terminal": "terminal", "captures": "capture",
		"next": "", "x": "", "": "", "something": "", "éà": "", strings.Repeat("a", 100): "",
	} {
		if got := near(word, words); got != want {
			t.Errorf("near(%q) = %q, want %q", word, got, want)
		}
	}
}

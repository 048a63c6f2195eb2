// Package simtest runs random loops in virtual time while they are paused, extended, stopped, killed and
// resumed at every moment, and checks what must hold of each: a loop whose way does not depend on time goes the
// way of the undisturbed run, with the same results, captures and spending; clocks do not go back; nothing is
// started twice, too many at once, or in a pause; budgets hold.
//
// A run is a number, from which its loop, what its actions come to and what happens to it are made. Where one
// fails, the smallest loop that fails so is printed with its events, and
//
//	go test ./fsm/simtest -run TestDisturbed -seed N -seeds 1
//
// runs it again. Members of a run that may continue at the same moment do so in any order: what depends on that
// order may take some tries.
package simtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/loopfile"
)

// A Definition is a loop and those that it runs, as text that can be taken apart. The first one is that of the run.
type Definition struct{ Loops []*Loop }

// A Loop is one of them.
type Loop struct {
	Name   string
	Keys   []string // at the top level, each as "key: value"
	States []*State
}

// A State is a state, or a branch of one.
type State struct {
	Name     string
	Keys     []string
	Branches []*State
}

// Text returns the loop as a file has it.
func (l *Loop) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\ninitial: %s\ncontext: {n: 0}\n", l.Name, l.States[0].Name)
	for _, k := range l.Keys {
		b.WriteString(k + "\n")
	}
	b.WriteString("states:\n")
	for _, s := range l.States {
		fmt.Fprintf(&b, "  %s:\n", s.Name)
		for _, k := range s.keys() {
			b.WriteString("    " + k + "\n")
		}
	}
	end := ""
	if slices.Contains(l.Keys, memory) {
		end = ", remember: 'ended with ${context.n}'"
	}
	b.WriteString("  done: {terminal: true" + end + "}\n  failed: {terminal: true, failure: true}\n")
	return b.String()
}

func (s *State) keys() []string {
	if len(s.Branches) == 0 {
		return s.Keys
	}
	var all []string
	for _, x := range s.Branches {
		all = append(all, x.Name+": {"+strings.Join(x.Keys, ", ")+"}")
	}
	return append([]string{"parallel: {" + strings.Join(all, ", ") + "}"}, s.Keys...)
}

// Text returns all of them, one below the other.
func (d *Definition) Text() string {
	var b strings.Builder
	for _, l := range d.Loops {
		fmt.Fprintf(&b, "# %s.yaml\n%s\n", l.Name, l.Text())
	}
	return b.String()
}

// Load reads the definition as the program reads files. dir is a folder for them.
func (d *Definition) Load(dir string) (*fsm.Loop, shelf, error) {
	for _, l := range d.Loops {
		if err := os.WriteFile(filepath.Join(dir, l.Name+".yaml"), []byte(l.Text()), 0o600); err != nil {
			return nil, nil, err
		}
	}
	lib := shelf{}
	var loader loopfile.Loader
	for _, l := range d.Loops {
		loop, problems, err := loader.Load(filepath.Join(dir, l.Name+".yaml"))
		if err != nil {
			return nil, nil, err
		}
		if loop == nil {
			return nil, nil, fmt.Errorf("%s", loopfile.Render(problems, nil, false))
		}
		lib[l.Name] = loop
	}
	return lib[d.Loops[0].Name], lib, nil
}

type shelf map[string]*fsm.Loop

func (s shelf) Loop(name string, _ *fsm.Loop) (*fsm.Loop, error) {
	if l := s[name]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("there is no loop %q", name)
}

// memory has runs of a loop leave facts for others.
const memory = "memory: {}"

// guard is what actions may not change in some states and loops.
const guard = "guard: {protect: ['tests/**']}"

// A maker makes random definitions.
type maker struct {
	r     *rand.Rand
	timed bool // with limits of time and money, and joins that depend on who is first
	lists int  // around what is made
	def   *Definition
}

// Random makes a loop of some states, with loops inside. timed has it have limits of time and money, and joins
// whose outcome depends on what ends first: without them the run goes the same way however it is disturbed.
func Random(r *rand.Rand, timed bool) *Definition {
	m := &maker{r: r, timed: timed, def: &Definition{}}
	m.loop(0)
	return m.def
}

func (m *maker) chance(n int) bool { return m.r.IntN(n) == 0 }

// loop adds a loop to the definition and returns its name.
func (m *maker) loop(depth int) string {
	l := &Loop{Name: fmt.Sprintf("l%d", len(m.def.Loops))}
	m.def.Loops = append(m.def.Loops, l)
	n, letter := 2+m.r.IntN(4), 's'
	if k := len(m.def.Loops) - 1; k > 0 {
		letter = 'e' + rune(k-1)%14
	}
	name := func(i int) string { return fmt.Sprintf("%c%d", letter, i) }
	any := func() string { return name(m.r.IntN(n)) }
	target := func() string {
		switch m.r.IntN(8) {
		case 0, 1:
			return "done"
		case 2:
			return "failed"
		}
		return any()
	}
	l.Keys = append(l.Keys, fmt.Sprintf("max_steps: %d", 6+m.r.IntN(12)))
	if m.chance(6) {
		l.Keys = append(l.Keys, fmt.Sprintf("backoff: %d", 1+m.r.IntN(3)))
	}
	if m.timed {
		if m.chance(3) {
			l.Keys = append(l.Keys, fmt.Sprintf("timeout: %d", 1+m.r.IntN(60)))
		}
		if m.chance(4) {
			l.Keys = append(l.Keys,
				"budget: {"+m.pick("prompts: 3", "cost_usd: 0.5", "wall: 20", "steps: 7", "tokens: 40")+"}")
		}
	}
	if m.timed && m.chance(4) {
		l.Keys = append(l.Keys, "on_budget: "+any())
	}
	if m.timed && m.chance(12) {
		l.Keys = append(l.Keys, guard)
	}
	if m.chance(4) {
		l.Keys = append(l.Keys, memory)
	}
	if m.chance(8) {
		l.Keys = append(l.Keys, m.velocity())
	}
	if m.chance(8) {
		l.Keys = append(l.Keys,
			"quota: {"+m.pick("reserve: 40%", "reserve: 70%", "spare: true", "reserve: 20%, spare: true")+"}")
	}
	if m.chance(6) {
		l.Keys = append(l.Keys, fmt.Sprintf("max_edge_revisits: %d", 1+m.r.IntN(2)))
	}
	if m.chance(8) {
		l.Keys = append(l.Keys, "host_guard: {"+m.memory(any)+"}")
	}
	if m.timed && m.chance(2) {
		l.Keys = append(l.Keys,
			"failover: {on: ["+m.pick("suspended", "rate_limited", "suspended, rate_limited > 10s")+"]}")
	}
	if m.chance(6) {
		l.Keys = append(l.Keys, "on_max_steps: "+any())
	}
	if depth == 0 && m.chance(3) {
		l.Keys = append(l.Keys, "on_handoff: spawn")
	}
	if m.chance(10) {
		l.Keys = append(l.Keys, "maintain: true", fmt.Sprintf("max_iterations: %d", 1+m.r.IntN(2)))
		if m.chance(2) {
			l.Keys = append(l.Keys, "on_max_iterations: "+any())
		}
	}
	if m.chance(8) {
		l.Keys = append(l.Keys, "circuit: {repeated_failure: {window: 2, on_repeated_failure: "+
			m.pick("abort", any())+"}}")
	}
	for i := range n {
		s := &State{Name: name(i)}
		switch {
		case m.chance(4) && depth < 2:
			m.branches(s, depth)
		case m.chance(5) && depth < 3:
			m.list(s, depth)
		default:
			m.work(s, depth, false)
		}
		if s.has("set") || m.chance(6) && (s.has("for_each") || !s.has("ask")) {
			s.Keys = append(s.Keys, "next: "+target())
		} else {
			for _, v := range s.verdicts() {
				if v == "error" && s.has("action_type") && !s.has("for_each") && m.chance(3) {
					continue // what only a person can repair suspends the run
				}
				s.Keys = append(s.Keys, "on_"+v+": "+target())
			}
		}
		if m.timed && !s.has("set") && !s.has("ask") && !s.has("wait") && m.chance(8) {
			s.Keys = append(s.Keys, "budget: {"+m.pick("prompts: 1", "wall: 5", "steps: 3", "tokens: 20")+"}")
		}
		if m.timed && m.chance(8) {
			s.Keys = append(s.Keys, "on_budget: "+target())
		}
		if (s.plain() || s.checksItems()) && !s.has("next") && m.chance(5) {
			s.Keys = append(s.Keys, m.pick("check: {files: ['tests/**']}", "check: {files: ['tests/**']}",
				"check: {files: ['tests/**'], must_fail_first: true}"))
		}
		if (s.has("action") || s.has("loop")) && m.chance(8) { // of items and branches too, as an error is
			s.Keys = append(s.Keys, "on_suspended: "+target())
		}
		if slices.Contains(l.Keys, memory) && m.chance(2) {
			facts := []string{
				"'${state.name} ${context.n}'",
				"{fact: '${state.iteration}', when: \"result.verdict == 'no'\"}",
			}
			if m.timed || depth == 0 { // what a sub-loop finds there depends on when it begins
				facts[0] = "'${state.name} ${memory}'"
			}
			if s.has("action") && !s.has("for_each") {
				facts = append(facts, "{judge: what}")
			}
			s.Keys = append(s.Keys, "remember: "+m.pick(facts...))
		}
		// a guard judges also what was changed until the run is stopped or parked, which depends on time
		if (s.plain() || m.timed && (s.has("action") || s.has("loop") || len(s.Branches) > 0)) && m.chance(2) {
			s.Keys = append(s.Keys, guard)
			if !m.timed || m.chance(2) { // a run that ends so does the action again when it is resumed
				s.Keys = append(s.Keys, "on_guarded: "+target())
			}
		}
		if !s.has("set") && m.chance(3) {
			s.Keys = append(s.Keys, "set: {n: context.n + 1}")
		}
		if s.has("action") && !s.has("for_each") && m.chance(4) {
			s.Keys = append(s.Keys, "append_to_messages: '${state.name} ${state.iteration} ${context.n}'")
		}
		if m.timed && s.has("action") && !s.has("for_each") && m.chance(6) {
			s.Keys = append(s.Keys, m.pick("idempotent: false", "on_interrupted: "+target()))
		}
		if m.timed && s.has("action_type") && !s.has("for_each") && m.chance(3) { // how long it waited counts
			s.Keys = append(s.Keys, "max_rate_limit_retries: 1", "rate_limit_max_wait_seconds: 100",
				"on_rate_limit_exhausted: "+target())
		}
		if m.chance(8) && !s.has("for_each") {
			s.Keys = append(s.Keys, fmt.Sprintf("max_retries: %d", 1+m.r.IntN(2)), "on_retry_exhausted: "+target())
		}
		l.States = append(l.States, s)
	}
	return l.Name
}

func (m *maker) pick(of ...string) string { return of[m.r.IntN(len(of))] }

func (s *State) has(key string) bool {
	for _, k := range s.Keys {
		if strings.HasPrefix(k, key+":") {
			return true
		}
	}
	return false
}

// plain reports whether a state does nothing but run a script once.
func (s *State) plain() bool {
	return s.has("action") && !s.has("action_type") && !s.has("retry") && !s.has("for_each")
}

// checksItems reports whether the items of a list, which are done one after the other, may be checks.
func (s *State) checksItems() bool {
	return s.has("for_each") && s.has("action") && !s.has("action_type") && !s.has("retry") &&
		slices.Contains(s.Keys, "parallel: 1")
}

func (s *State) verdicts() []string {
	switch {
	case s.has("ask") && !s.has("for_each"):
		return []string{"approve", "reject", "error"}
	case len(s.Branches) > 0 || s.has("for_each"):
		return []string{"yes", "partial", "no", "error"}
	}
	return []string{"yes", "no", "error"}
}

// work gives a state or a branch something to do.
func (m *maker) work(s *State, depth int, member bool) {
	add := func(keys ...string) { s.Keys = append(s.Keys, keys...) }
	switch k := m.r.IntN(12); {
	case k == 0 && depth < 3:
		add("loop: " + m.loop(depth+1))
		if m.chance(4) && !member {
			add("context_passthrough: true")
		}
		if m.chance(4) && !member && m.lists == 0 { // items cannot share a branch of git
			add(fmt.Sprintf("worktree: side-%d-%s", len(m.def.Loops), s.Name))
		}
		if m.timed && m.chance(3) {
			add(m.seconds("timeout", 20))
		}
	case k == 1:
		add(m.pick("wait: {for: 3s}", "wait: {for: 11s}", "wait: {until: look, every: 2s}",
			"wait: {url: 'http://x/', every: 3s}", "wait: {for: 70s}",
			"wait: {file: f, every: 2s, backoff: 2, max: 9s}", "wait: {run: failed, every: 3s, status: ended}",
			"wait: {at: '00:02'}"))
		// it would always time out, or never
		if !strings.Contains(s.Keys[0], "for:") && !strings.Contains(s.Keys[0], "at:") {
			m.deadline(s)
		}
	case k == 2:
		add("wait: {event: go}")
		m.deadline(s)
	case k == 3:
		add("ask: {question: sure, choices: [approve, reject]}")
		m.deadline(s)
	case k < 7:
		add("action_type: prompt", "action: do it")
		if m.chance(2) {
			add("evaluate: {type: exit_code}")
		}
		if m.chance(3) {
			add(m.retry())
		}
		m.agents(s)
	case k == 7 && !member:
		add("set: {seen: state.name}")
	default:
		add("action: do it")
		if m.chance(2) {
			add(m.retry())
		}
		if m.chance(3) && !member {
			add("capture: c" + s.Name)
		}
		if m.timed && m.chance(5) {
			add(m.seconds("timeout", 20))
		}
	}
}

// agents gives a prompt a choice of them, and a limit of what it uses within a minute. An agent that failed is
// not asked again where the way must not depend on time.
func (m *maker) agents(s *State) {
	if m.chance(5) {
		s.Keys = append(s.Keys, m.velocity())
	}
	if !m.chance(3) {
		return
	}
	s.Keys = append(s.Keys, "host: "+m.pick("[one, two]", "[one, two, {host: one, model: small}]"))
	switch {
	case !m.timed:
		s.Keys = append(s.Keys, "failover: {on: [suspended], return: false"+m.pick("", ", files: reset")+"}")
	case m.chance(2):
		s.Keys = append(s.Keys, "failover: {on: ["+m.pick("suspended", "rate_limited > 20s")+"], return: "+
			m.pick("true", "false")+m.pick("", ", files: reset")+"}")
	}
}

// memory limits what actions use of the memory of the machine, or has prompts wait while it is short of that.
func (m *maker) memory(state func() string) string {
	limit := fmt.Sprintf("max_cumulative_subproc_mb: %d, ", 100+m.r.IntN(400)) +
		m.pick("on_budget_exceeded: abort", "budget_state: "+state())
	pressure := "enabled: true, cooldown_ms: 2000"
	if m.timed && m.chance(2) {
		pressure += ", on_pressure: " + m.pick("abort", "abort, on_abort_route: "+state(), "route, pressure_state: "+
			state())
	}
	return m.pick(limit, pressure, limit+", "+pressure)
}

func (m *maker) velocity() string {
	return fmt.Sprintf("velocity: {tokens_per_minute: %d}", 5+m.r.IntN(30))
}

func (m *maker) retry() string {
	return fmt.Sprintf("retry: {times: %d, backoff: %ds}", 1+m.r.IntN(2), 1+m.r.IntN(9))
}

func (m *maker) seconds(key string, most int) string {
	return fmt.Sprintf("%s: %d", key, 1+m.r.IntN(most))
}

// deadline gives a wait an end, in a loop whose way may depend on time.
func (m *maker) deadline(s *State) {
	if m.timed && m.chance(2) {
		s.Keys = append(s.Keys, m.seconds("timeout", 30))
	}
}

func (m *maker) branches(s *State, depth int) {
	for i := range 2 + m.r.IntN(3) {
		b := &State{Name: string(rune('a' + i))}
		m.work(b, depth+1, true)
		s.Branches = append(s.Branches, b)
	}
	if m.chance(2) {
		s.Keys = append(s.Keys, fmt.Sprintf("max_parallel: %d", 1+m.r.IntN(2)))
	}
	switch {
	case m.timed && m.chance(2):
		s.Keys = append(s.Keys, "join: "+m.pick("any", "all"))
	case m.chance(2):
		s.Keys = append(s.Keys, "join: settled")
	default:
		s.Keys = append(s.Keys, "on_branch_failure: continue")
	}
	if m.timed && m.chance(3) {
		s.Keys = append(s.Keys, m.seconds("timeout", 20))
	}
	if m.chance(3) {
		s.Keys = append(s.Keys, "worktree: true")
		if m.chance(2) {
			s.Keys = append(s.Keys, "merge: ours-first")
		}
	}
}

func (m *maker) list(s *State, depth int) {
	m.lists++
	m.work(s, depth+1, true)
	m.lists--
	for i, k := range s.Keys { // what items cannot have
		if strings.HasPrefix(k, "retry:") {
			s.Keys[i] = fmt.Sprintf("item_retries: %d", 1+m.r.IntN(2))
		}
	}
	if i := slices.Index(s.Keys, "action: do it"); i >= 0 && !s.has("action_type") && m.chance(2) {
		s.Keys[i] = "action: " + quick
	}
	items := []string{"[x]", "[x, y, z]", "[a, b, c, d, e]", "{command: list}"}
	s.Keys = append(s.Keys, "for_each: "+m.pick(items...), fmt.Sprintf("parallel: %d", 1+m.r.IntN(3)))
	if !m.timed || m.chance(2) {
		s.Keys = append(s.Keys, "on_item_failure: continue")
	}
	if m.chance(2) {
		s.Keys = append(s.Keys, "capture: c"+s.Name)
	}
}

// A Disturbance is something that happens to a run.
type Disturbance struct {
	After int           // batches were recorded, of all processes of the run
	Delay time.Duration // later; 0 = while that batch is recorded
	What  What
}

// What a disturbance can be.
type What string

// These are all.
const (
	Pause     What = "pause"  // and continued some seconds later
	Extend    What = "extend" // time, and in a timed loop steps and prompts too
	Wake      What = "wake"   // loops retry-now
	Send      What = "send"   // an event that nothing waits for yet
	Stop      What = "stop"   // by a signal, and resumed later
	UserStop  What = "user"   // by loops stop
	Drain     What = "drain"  // by loops stop --after-item
	CrashOver What = "crash"  // at any time
	CrashLost What = "lost"   // the batch is lost with the process; Delay is 0
	PowerCut  What = "power"  // at any time; what is not durable is lost with the process
	CrashKept What = "kept"   // the batch is durable, and the process dies before it knows; Delay is 0
	// max_steps of the run is After, and three more at each resume, up to what the loop says; before all others
	Cap    What = "cap"
	Broken What = "reported" // the batch is durable, and the store reports an error all the same; Delay is 0
)

// RandomDisturbances makes up to n of them.
func RandomDisturbances(r *rand.Rand, n int) []Disturbance {
	var all []Disturbance
	at := 0
	if r.IntN(3) == 0 {
		all = append(all, Disturbance{After: 1 + r.IntN(5), What: Cap})
	}
	kinds := []What{
		Pause, Pause, Pause, Extend, Wake, Send, Stop, UserStop, Drain, CrashOver, CrashOver, CrashOver,
		CrashLost, CrashLost, CrashKept, PowerCut, PowerCut, Broken,
	}
	for range r.IntN(n + 1) {
		at += 1 + r.IntN(6)
		d := Disturbance{After: at, What: kinds[r.IntN(len(kinds))]}
		if d.What != CrashLost && d.What != CrashKept && d.What != Broken && r.IntN(3) > 0 {
			d.Delay = time.Duration(r.IntN(9_000_000_000)) | 1
		}
		all = append(all, d)
	}
	return all
}

func (d Disturbance) String() string {
	return fmt.Sprintf("%s after %d +%s", d.What, d.After, d.Delay)
}

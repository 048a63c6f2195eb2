package fsm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostIgnored is how many failures are told apart in what a run remembers of them, listedIgnored how many its
// end lists.
const (
	mostIgnored   = 50
	listedIgnored = 5
)

// ignored remembers in the run itself that a failure of a state did not keep it from following next.
func (e *Executor) ignored(st *State, how string) {
	path := st.Name
	for ; e.parent != nil; e = e.parent {
		if name := e.parent.mem.Current; !strings.HasPrefix(path, name+"/") && path != name {
			path = name + "/" + path
		}
	}
	what := path + " (" + how + ")"
	m := e.mem
	if _, known := m.Ignored[what]; !known && len(m.Ignored) >= mostIgnored {
		what = "others"
	}
	all := maps.Clone(m.Ignored) // one that was recorded is never changed
	if all == nil {
		all = make(map[string]int)
	}
	all[what]++
	m.Ignored = all
}

// onward returns where a state with next leads by its verdict: on_error takes what did not turn out well.
func (e *Executor) onward(st *State, verdict string) string {
	switch {
	case verdict == "yes", verdict == ItemsEmpty, st.Await != nil && st.Await.Ask != nil && verdict != AwaitTimeout &&
		verdict != AwaitWithdrawn:
		return st.Next
	case st.On["error"] != "":
		return st.On["error"]
	}
	e.ignored(st, "verdict "+verdict)
	return st.Next
}

// IgnoredText says which actions failed on the way of a run that continued all the same; "" = none.
func (m *Snapshot) IgnoredText() string {
	count := 0
	var list []string
	for _, what := range slices.Sorted(maps.Keys(m.Ignored)) {
		n := m.Ignored[what]
		if count += n; n > 1 {
			what = fmt.Sprintf("%s, %d times)", strings.TrimSuffix(what, ")"), n)
		}
		list = append(list, what)
	}
	if more := len(list) - listedIgnored; more > 0 {
		list = append(list[:listedIgnored], fmt.Sprintf("%d more", more))
	}
	if count == 0 {
		return ""
	}
	actions := "actions"
	if count == 1 {
		actions = "action"
	}
	return fmt.Sprintf("%d %s failed on the way: %s", count, actions, strings.Join(list, ", "))
}

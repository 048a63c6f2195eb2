package loopfile

import (
	"slices"
	"sync"
)

// A Where names the mapping a key belongs to.
type Where string

// The mappings of a loop file.
const (
	InLoop            Where = "loop" // the top level
	InState           Where = "state"
	InEvaluate        Where = "evaluate"
	InLLM             Where = "llm"
	InCircuit         Where = "circuit"
	InRepeatedFailure Where = "circuit.repeated_failure"
	InHostGuard       Where = "host_guard"
	InPromptSizeGuard Where = "prompt_size_guard"
	InThrottle        Where = "throttle"
	InCostCeiling     Where = "cost_ceiling"
	InBudget          Where = "budget"
	InRetry           Where = "retry"
	InFailover        Where = "failover"
	InVelocity        Where = "velocity"
	InQuota           Where = "quota"
	InWait            Where = "wait"
	InAsk             Where = "ask"
	InEscalate        Where = "ask.escalate"
	InForEach         Where = "for_each"
	InCall            Where = "call"
	InSchedule        Where = "schedule"
	InSandbox         Where = "sandbox"
	InSnapshots       Where = "snapshots"
	InGuard           Where = "guard"
	InCheck           Where = "check"
	InMemory          Where = "memory"
	InRemember        Where = "remember"
	InParameter       Where = "parameter"
	InCase            Where = "route[]"
)

// phrase names the mapping in a message.
func (w Where) phrase() string {
	switch w {
	case InLoop:
		return "the top level"
	case InState:
		return "a state"
	case InParameter:
		return "a parameter"
	case InCase:
		return "a row of route"
	case InSuite:
		return "the top level of a file of tests"
	case InCases:
		return "a case"
	case InAnswer:
		return "an answer"
	}
	return string(w)
}

// A Type is what a key takes.
type Type string

// The types of values. A null counts as an absent key, except where Key.NotNull is set.
const (
	TypeText    Type = "text"    // any scalar, taken as it is written
	TypeTarget  Type = "state"   // the name of a state
	TypeInt     Type = "integer" // 3, also 3.0
	TypeNumber  Type = "number"  // 3 or 0.5
	TypeSeconds Type = "seconds" // a number, becomes a time.Duration
	TypeBool    Type = "boolean" // true, false; also unquoted yes, no, on, off
	TypeTexts   Type = "list of texts"
	TypeInts    Type = "list of integers"
	TypeMap     Type = "mapping" // any keys, any values
	TypeList    Type = "list"    // any values
	TypeValue   Type = "value"   // anything
	TypeBlock   Type = "block"   // a mapping with keys of its own, see Key.Block
	TypeSpecial Type = "special" // decoded by code of its own

	TypeExpression Type = "expression" // a text, checked by fsm/expr
)

// A Status is what this program does with a key.
type Status string

// The status of keys.
const (
	StatusLive        Status = ""
	StatusUnsupported Status = "not supported" // accepted, changes nothing; a warning says what happens instead
	StatusInternal    Status = "internal"      // written by tools; accepted without a warning
)

// A Key is one key of the loop language.
type Key struct {
	Name     string   `json:"name"`
	In       Where    `json:"in"`
	Type     Type     `json:"type"`
	Required bool     `json:"required,omitempty"`
	NotNull  bool     `json:"not_null,omitempty"` // an explicit null is an error
	Default  any      `json:"default,omitempty"`  // nil: none
	Values   []string `json:"values,omitempty"`   // the values allowed
	Advisory bool     `json:"advisory,omitempty"` // a value outside Values is only a warning
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Above    *float64 `json:"above,omitempty"` // the value must be greater than this
	For      []string `json:"for,omitempty"`   // evaluator types that use the key; empty: all
	Block    Where    `json:"block,omitempty"`
	// the key of the block that a plain text in its place stands for; "" = there must be a mapping
	Short    string `json:"short,omitempty"`
	Alias    string `json:"alias,omitempty"` // of this key
	Status   Status `json:"status,omitempty"`
	Instead  string `json:"instead,omitempty"`  // what happens where Status is "not supported"
	Silences string `json:"silences,omitempty"` // rules that a boolean flag switches off
	Doc      string `json:"doc"`
}

// full is the name of the key with that of its mapping, where that helps.
func (k *Key) full() string {
	if k.In == InLoop || k.In == InState {
		return k.Name
	}
	return string(k.In) + "." + k.Name
}

// Keys returns the whole table, grouped by mapping, in the order of the documentation. The caller may keep it.
func Keys() []Key { return slices.Clone(table()) }

var table = sync.OnceValue(func() []Key {
	return slices.Concat(loopKeys, blockKeys, stateKeys, caseKeys, evaluateKeys)
})

// byWhere finds a key of the table by mapping and name.
var byWhere = sync.OnceValue(func() map[Where]map[string]*Key {
	m, table := map[Where]map[string]*Key{}, slices.Concat(table(), suiteKeys)
	for i := range table {
		k := &table[i]
		if m[k.In] == nil {
			m[k.In] = map[string]*Key{}
		}
		m[k.In][k.Name] = k
	}
	return m
})

// names returns the keys an author may write in a mapping, in table order.
func names(in Where) []string {
	var s []string
	for _, k := range slices.Concat(table(), suiteKeys) {
		if k.In == in && k.Status != StatusInternal {
			s = append(s, k.Name)
		}
	}
	return s
}

// The limits that keys have: variables, so that the table is laid out when the program is built and not when it starts.
var (
	limit0, limit1, limit2, limit99, limit100, limit255, limit256 = 0.0, 1.0, 2.0, 99.0, 100.0, 255.0, 256.0

	leastWait = 0.1 // seconds between two looks of a wait
)

package project

import (
	"cmp"

	"loops/fsm"
	"loops/fsm/value"
)

// Environment variables that say which agent host does the prompts of loops that name none, unless --host does.
const (
	EnvHost          = "LOOPS_HOST"
	EnvReferenceHost = "LL_HOST_CLI" // little-loops'
)

// PermissionsHost leaves what an agent may do to the agent's own settings; compare [fsm.PermissionsSkip].
const PermissionsHost = "host"

// Agents are what a caller chose about the agents of a run. They hold in sub-loops too.
type Agents struct {
	Host       string `json:"host,omitempty"`        // "" = the environment's, or the first there is
	Model      string `json:"model,omitempty"`       // "" = the host's own
	JudgeModel string `json:"judge_model,omitempty"` // instead of the loop's llm.model; "" = that, or the host's own
	// of prompts and judges that name none; "" = the loop's, or the host's own
	Effort      string `json:"effort,omitempty"`
	Permissions string `json:"permissions,omitempty"` // "" = as the loop says
	NoLLM       bool   `json:"no_llm,omitempty"`      // no judge is asked: llm.enabled: false, whatever the loop says
}

// fields are the choices by their names in the record of a run.
func (f *Agents) fields() []struct {
	key   string
	value *string
} {
	return []struct {
		key   string
		value *string
	}{
		{"host", &f.Host},
		{"model", &f.Model},
		{"llm_model", &f.JudgeModel},
		{"effort", &f.Effort},
		{"permissions", &f.Permissions},
	}
}

// record notes the choices that are made.
func (f *Agents) record(options *value.Map) {
	for _, one := range f.fields() {
		if *one.value != "" {
			options.Set(one.key, *one.value)
		}
	}
	if f.NoLLM {
		options.Set("no_llm", true)
	}
}

// fill takes the recorded choices where none is made.
func (f *Agents) fill(recorded *value.Map) {
	for _, one := range f.fields() {
		v, _ := recorded.Get(one.key)
		if text, _ := v.(string); *one.value == "" {
			*one.value = text
		}
	}
	if v, _ := recorded.Get("no_llm"); v == true {
		f.NoLLM = true
	}
}

// apply brings the choices into a loop.
func (f *Agents) apply(l *fsm.Loop) {
	if f.NoLLM {
		l.LLM.Enabled = false
	}
	l.LLM.Model = cmp.Or(f.JudgeModel, l.LLM.Model)
	l.LLM.Effort = cmp.Or(f.Effort, l.LLM.Effort)
}

// HostVariable returns the environment variable that chooses a host, and which; "" if none does.
func HostVariable(env []string) (variable, host string) {
	for _, name := range []string{EnvHost, EnvReferenceHost} {
		if host, _ := LookEnv(env, name); host != "" {
			return name, host
		}
	}
	return "", ""
}

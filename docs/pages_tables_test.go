package docs_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"loops/fsm/lint"
	"loops/fsm/loopfile"
)

// A tables makes the tables of the page and remembers which keys it has shown.
type tables struct {
	keys  []loopfile.Key
	shown map[string]bool
}

func newTables() *tables {
	return &tables{keys: loopfile.Keys(), shown: map[string]bool{}}
}

func (t *tables) funcs() template.FuncMap {
	return template.FuncMap{
		"keys": t.some, "all": t.all, "for": t.forEvaluator, "evaluators": evaluators,
		"flags": t.flags, "idleFlags": t.idleFlags, "rules": rules, "idle": t.idle,
	}
}

func id(k loopfile.Key) string { return string(k.In) + " " + k.Name }

// complete fails if there are keys that no table has shown.
func (t *tables) complete() error {
	var missing []string
	for _, k := range t.keys {
		if !t.shown[id(k)] && k.Status != loopfile.StatusInternal {
			missing = append(missing, id(k))
		}
	}
	if missing != nil {
		return fmt.Errorf("the sections show no row for %s", strings.Join(missing, ", "))
	}
	return nil
}

// table returns a table with a row for every key.
func (t *tables) table(keys []loopfile.Key) string {
	var b strings.Builder
	b.WriteString("| key | takes | default | meaning |\n|---|---|---|---|\n")
	for _, k := range keys {
		t.shown[id(k)] = true
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, takes(k), byDefault(k), cell(k.Doc))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// some is the table of some keys of a mapping. Each key is in one table only.
func (t *tables) some(in string, names ...string) (string, error) {
	var list []loopfile.Key
	for _, name := range names {
		i := slices.IndexFunc(t.keys, func(k loopfile.Key) bool { return string(k.In) == in && k.Name == name })
		if i < 0 {
			return "", fmt.Errorf("there is no key %s %s", in, name)
		}
		if t.shown[id(t.keys[i])] {
			return "", fmt.Errorf("%s %s has two rows", in, name)
		}
		list = append(list, t.keys[i])
	}
	return t.table(list), nil
}

// all is the table of all keys of a mapping that have an effect.
func (t *tables) all(in string) (string, error) {
	list := t.filter(func(k loopfile.Key) bool { return string(k.In) == in && k.Status == loopfile.StatusLive })
	if list == nil {
		return "", fmt.Errorf("there is no mapping %s", in)
	}
	return t.table(list), nil
}

// forEvaluator is the table of the keys that one type of evaluator has for itself.
func (t *tables) forEvaluator(name string) (string, error) {
	list := t.filter(func(k loopfile.Key) bool { return slices.Contains(k.For, name) })
	if list == nil {
		return "", fmt.Errorf("no key belongs to the evaluator %s", name)
	}
	for _, e := range loopfile.Evaluators() {
		for i := range list {
			if e.Name == name && slices.Contains(e.Required, list[i].Name) {
				list[i].Default, list[i].Required = nil, true
			}
		}
	}
	return t.table(list), nil
}

func (t *tables) filter(keep func(loopfile.Key) bool) (list []loopfile.Key) {
	for _, k := range t.keys {
		if keep(k) {
			list = append(list, k)
		}
	}
	return list
}

// flags is the table of the switches for checks.
func (t *tables) flags() string {
	var b strings.Builder
	b.WriteString("| key | switches off |\n|---|---|\n")
	for _, k := range t.filter(isSwitch) {
		if k.Silences == "" {
			continue
		}
		t.shown[id(k)] = true
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, cell(k.Silences))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// idleFlags lists the switches for checks that loops does not make.
func (t *tables) idleFlags() string {
	var b strings.Builder
	b.WriteString("| key | |\n|---|---|\n")
	for _, k := range t.filter(isSwitch) {
		if k.Silences == "" {
			t.shown[id(k)] = true
			fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, cell(k.Doc))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func isSwitch(k loopfile.Key) bool {
	return k.Silences != "" || k.In == loopfile.InLoop &&
		(strings.HasSuffix(k.Name, "_ok") || k.Name == "artifact_versioning")
}

// rules is the table of what loops validate reports about a loop file.
func rules() string {
	var b strings.Builder
	b.WriteString("| rule | | what it says | silenced by |\n|---|---|---|---|\n")
	for _, r := range lint.Rules() {
		if r.Optional {
			continue
		}
		flag := ""
		if r.Flag != "" {
			flag = "`" + r.Flag + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, r.Severity, cell(r.Summary), flag)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// idle is the table of the keys that are accepted and not supported.
func (t *tables) idle() string {
	var b strings.Builder
	b.WriteString("| key | in | what it says | what happens instead |\n|---|---|---|---|\n")
	for _, k := range t.keys {
		if k.Status != loopfile.StatusUnsupported {
			continue
		}
		t.shown[id(k)] = true
		in := map[loopfile.Where]string{loopfile.InLoop: "top level", loopfile.InState: "state"}[k.In]
		if in == "" {
			in = "`" + string(k.In) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, in, cell(k.Doc), cell(k.Instead))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// evaluators is the table of the types of evaluators.
func evaluators() string {
	var b strings.Builder
	b.WriteString("| type | verdicts | what it does |\n|---|---|---|\n")
	for _, e := range loopfile.Evaluators() {
		verdicts := "`" + strings.Join(e.Verdicts, "` `") + "`"
		if slices.Contains(e.Verdicts, "*") {
			verdicts = "any text"
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", e.Name, e.Name, verdicts, cell(e.Doc))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// specials are what keys of several types take.
var specials = map[string]string{
	"for_each": "pattern of paths, list, text or mapping", "parallel": "mapping or whole number",
	"backoff": "duration, or two as `1s..1m`", "worktree": "text or `true`", "route": "mapping or list",
}

// takes says what a key takes.
func takes(k loopfile.Key) string {
	if k.Values != nil {
		return "`" + strings.Join(k.Values, "` `") + "`"
	}
	text := map[loopfile.Type]string{
		loopfile.TypeInt: "whole number", loopfile.TypeBool: "`true` `false`",
		loopfile.TypeInts: "list of whole numbers",
		loopfile.TypeMap:  "mapping", loopfile.TypeBlock: "mapping, see below", loopfile.TypeValue: "any value",
	}[k.Type]
	switch {
	case text == "" && k.Type == loopfile.TypeSpecial:
		text = cmp.Or(specials[k.Name], "mapping")
	case text == "":
		text = string(k.Type)
	}
	if k.For == nil || k.Type != loopfile.TypeValue {
		text += span(k)
	}
	return text
}

func span(k loopfile.Key) string {
	switch {
	case k.Min != nil && k.Max != nil:
		return fmt.Sprintf(" from %v to %v", *k.Min, *k.Max)
	case k.Min != nil:
		return fmt.Sprintf(" from %v", *k.Min)
	case k.Above != nil:
		return fmt.Sprintf(" above %v", *k.Above)
	}
	return ""
}

// byDefault is what holds where a key is not there.
func byDefault(k loopfile.Key) string {
	switch v := k.Default.(type) {
	case nil:
		if k.Required {
			return "required"
		}
		return ""
	case []string:
		return "`[" + strings.Join(v, ", ") + "]`"
	case []int:
		return "`" + strings.ReplaceAll(fmt.Sprint(v), " ", ", ") + "`"
	default:
		return fmt.Sprintf("`%v`", v)
	}
}

// cell makes text fit into a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

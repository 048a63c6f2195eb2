package cli

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/expr"
	"loops/fsm/loopfile"
	"loops/fsm/value"
)

// loopFiles returns every loop file there is.
func loopFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{
		"../../../.loops.example/*.yaml", "../../../internal/app/patterns/*.yaml",
		"../../../../shared/corpus/*/*.yaml", "../../../../shared/corpus/*/oracles/*.yaml",
	} {
		hits, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range hits {
			if loopfile.IsSuite(file) {
				continue
			}
			if file, err = filepath.Abs(file); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}

// What show --json and show --effective print is a loop file that means the same loop; so is the model of a loop.
func TestShownLoadsAgain(t *testing.T) {
	n := 0
	for _, file := range loopFiles(t) {
		files := &loopfile.Loader{Loops: filepath.Dir(file), Catalog: filepath.Dir(filepath.Dir(file))}
		loop, problems, err := files.Load(file)
		if err != nil || loop == nil {
			t.Errorf("%s: %v %v", file, err, problems)
			continue
		}
		n++
		sameLoop(t, file, loop, value.AppendJSONIndent(nil, loopfile.ObjectOf(loop), "  "))
		document, err := files.Document(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		unnamed := bare(loop)
		for _, s := range unnamed.States {
			if s.Fragment != nil && len(s.Fragment.Parameters) == 0 && s.Fragment.Bindings == nil {
				s.Fragment = nil
			} else if s.Fragment != nil {
				s.Fragment.Name = ""
			}
		}
		sameLoop(t, file, &unnamed, value.AppendJSONIndent(nil, document, "  "))
		text, _, err := files.Effective(file, true)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		sameLoop(t, file, loop, text)
	}
	if n < 12 {
		t.Errorf("only %d loops", n)
	}
}

// sameLoop wants a text to be the same loop.
func sameLoop(t *testing.T, file string, loop *fsm.Loop, text []byte) {
	t.Helper()
	again, problems := loopfile.Parse(file, text, nil)
	if again == nil {
		t.Errorf("%s: what is shown does not load: %v\n%s", file, problems, text)
		return
	}
	if diff := differ("", reflect.ValueOf(bare(loop)), reflect.ValueOf(bare(again))); diff != "" {
		t.Errorf("%s: what is shown is another loop: %s\n%s", file, diff, text)
	}
}

// bare returns a loop without its file and its positions in it.
func bare(l *fsm.Loop) fsm.Loop {
	c := *l
	c.Pos, c.Place, c.SHA256, c.File = fsm.Pos{}, nil, "", ""
	c.Parameters = bareParameters(c.Parameters)
	c.States = map[string]*fsm.State{}
	for name, s := range l.States {
		c.States[name] = bareState(*s)
	}
	return c
}

func bareState(s fsm.State) *fsm.State {
	s.Pos = fsm.Pos{}
	if s.Evaluate != nil {
		e := *s.Evaluate
		e.Pos = fsm.Pos{}
		s.Evaluate = &e
	}
	if s.Route != nil {
		r := *s.Route
		r.Pos = fsm.Pos{}
		s.Route = &r
	}
	if s.Fragment != nil {
		f := *s.Fragment
		f.Parameters = bareParameters(f.Parameters)
		s.Fragment = &f
	}
	if s.Branches != nil {
		b := *s.Branches
		b.List = nil
		for _, x := range s.Branches.List {
			b.List = append(b.List, &fsm.Branch{Name: x.Name, State: bareState(*x.State)})
		}
		s.Branches = &b
	}
	return &s
}

func bareParameters(ps []fsm.Parameter) []fsm.Parameter {
	out := make([]fsm.Parameter, len(ps))
	for i, p := range ps {
		p.Pos = fsm.Pos{}
		out[i] = p
	}
	return out
}

// differ says where two values differ; an empty list is like none.
func differ(at string, a, b reflect.Value) string {
	if a.IsValid() && b.IsValid() && a.Type() == b.Type() {
		switch a.Type() {
		case reflect.TypeFor[fsm.Pos]():
			return ""
		case reflect.TypeFor[*expr.Program]():
			if !a.IsNil() && !b.IsNil() &&
				a.Interface().(*expr.Program).String() == b.Interface().(*expr.Program).String() {
				return "" // they differ in their places
			}
		}
		if t := a.Type(); t == reflect.TypeFor[[]fsm.Assignment]() || t == reflect.TypeFor[[]fsm.Case]() {
			if a.Len() == b.Len() {
				for i := range a.Len() {
					if diff := differ(fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i)); diff != "" {
						return diff
					}
				}
				return ""
			}
		}
	}
	if a.Type() == reflect.TypeFor[*value.Map]() {
		x, y := value.AppendJSON(nil, a.Interface()), value.AppendJSON(nil, b.Interface())
		if a.Interface().(*value.Map).Len()+b.Interface().(*value.Map).Len() > 0 && string(x) != string(y) {
			return fmt.Sprintf("%s is %s, then %s", at, x, y)
		}
		return ""
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if d := differ(at+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return fmt.Sprintf("%s is %v, then %v", at, a, b)
			}
			return ""
		}
		return differ(at, a.Elem(), b.Elem())
	case reflect.Map:
		for _, k := range a.MapKeys() {
			if !b.MapIndex(k).IsValid() {
				return fmt.Sprintf("%s[%v] is gone", at, k)
			}
			if d := differ(fmt.Sprintf("%s[%v]", at, k), a.MapIndex(k), b.MapIndex(k)); d != "" {
				return d
			}
		}
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s has %d keys, then %d", at, a.Len(), b.Len())
		}
		return ""
	case reflect.Slice:
		if a.Len() == 0 && b.Len() == 0 {
			return ""
		}
	case reflect.Func:
		return ""
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		return fmt.Sprintf("%s is %#v, then %#v", at, a, b)
	}
	return ""
}

// Every field of a definition is in its model: one that was forgotten would not change it.
func TestModelHasEveryField(t *testing.T) {
	base := func() *fsm.Loop {
		l := loopfile.PlainLoop()
		s := l.States["plain"]
		s.Evaluate = &fsm.Evaluate{}
		*s.Evaluate = fsm.DefaultEvaluate("exit_code")
		s.Route = &fsm.Route{Table: value.NewMap()}
		s.Fragment = &fsm.Fragment{}
		s.Throttle, l.Throttle, l.Stall = &fsm.Throttle{}, &fsm.Throttle{}, &fsm.Stall{}
		s.Retry, l.Schedule = &fsm.Retry{}, &fsm.Schedule{}
		s.Await = &fsm.Await{Every: time.Second, Ask: &fsm.Ask{}}
		s.Each, s.Branches = &fsm.Each{Parallel: 1}, &fsm.Branches{Join: fsm.JoinAll, Most: 2}
		s.Sandbox, l.Sandbox = &confine.Policy{Preset: confine.Offline}, &confine.Policy{Preset: confine.Offline}
		l.Snapshots = &fsm.FileSnapshots{Keep: fsm.SnapshotsGit}
		s.Guard, l.Guard = &fsm.Guard{MaxFiles: 1}, &fsm.Guard{MaxFiles: 1}
		s.Check = &fsm.Check{FailFirst: true}
		s.Remember, l.Lessons = &fsm.Remember{Fact: "x"}, &fsm.LessonBook{}
		s.Failover, l.Failover = &fsm.Failover{}, &fsm.Failover{}
		s.Velocity, l.Velocity = &fsm.Velocity{Tokens: 1}, &fsm.Velocity{Tokens: 1}
		l.Quota = &fsm.Quota{Spare: true}
		s.Call = &fsm.Call{HasBody: true, HasJSON: true}
		s.Budget, l.Budget = &fsm.Budget{Steps: 1}, &fsm.Budget{Steps: 1}
		s.CostCeiling = &fsm.CostCeiling{Most: new(float64), Warn: new(float64)}
		l.Parameters = []fsm.Parameter{{Name: "p"}}
		s.Fragment.Parameters = []fsm.Parameter{{Name: "p"}}
		s.Terminal = true // else failure says nothing
		return l
	}
	// Extension is what the settings make of action_type, and Unproven what a state makes of its learning:
	// neither is a key of a loop.
	placed := map[string]bool{
		"File": true, "Pos": true, "SHA256": true, "Place": true, "Name": true, "Order": true,
		"States": true, "HasTarget": true, "HasSource": true, "HasPrevious": true, "Extension": true, "Unproven": true,
	}
	plain := string(value.AppendJSON(nil, loopfile.ObjectOf(base())))
	fields := 0
	for _, part := range []func(*fsm.Loop) any{
		func(l *fsm.Loop) any { return l },
		func(l *fsm.Loop) any { return &l.LLM },
		func(l *fsm.Loop) any { return &l.HostGuard },
		func(l *fsm.Loop) any { return &l.PromptSizeGuard },
		func(l *fsm.Loop) any { return l.Stall },
		func(l *fsm.Loop) any { return l.Throttle },
		func(l *fsm.Loop) any { return l.Schedule },
		func(l *fsm.Loop) any { return l.Budget },
		func(l *fsm.Loop) any { return l.States["plain"].Budget },
		func(l *fsm.Loop) any { return l.States["plain"].CostCeiling },
		func(l *fsm.Loop) any { return &l.Parameters[0] },
		func(l *fsm.Loop) any { return l.States["plain"] },
		func(l *fsm.Loop) any { return l.States["plain"].Evaluate },
		func(l *fsm.Loop) any { return l.States["plain"].Route },
		func(l *fsm.Loop) any { return l.States["plain"].Fragment },
		func(l *fsm.Loop) any { return l.States["plain"].Throttle },
		func(l *fsm.Loop) any { return l.States["plain"].Retry },
		func(l *fsm.Loop) any { return l.States["plain"].Failover },
		func(l *fsm.Loop) any { return l.States["plain"].Velocity },
		func(l *fsm.Loop) any { return l.States["plain"].Await },
		func(l *fsm.Loop) any { return l.States["plain"].Each },
		func(l *fsm.Loop) any { return l.States["plain"].Branches },
		func(l *fsm.Loop) any { return l.States["plain"].Call },
		func(l *fsm.Loop) any { return l.States["plain"].Sandbox },
		func(l *fsm.Loop) any { return l.Quota },
		func(l *fsm.Loop) any { return l.Snapshots },
		func(l *fsm.Loop) any { return &l.States["plain"].Fragment.Parameters[0] },
	} {
		typ := reflect.TypeOf(part(base())).Elem()
		for i := range typ.NumField() {
			name := typ.Field(i).Name
			if placed[name] {
				continue
			}
			l := base()
			field := reflect.ValueOf(part(l)).Elem().Field(i)
			if e, ok := part(l).(*fsm.Evaluate); ok {
				e.HasTarget, e.HasSource, e.HasPrevious = name == "Target", name == "Source", name == "Previous"
			}
			change(t, typ.Name()+"."+name, field)
			fields++
			if string(value.AppendJSON(nil, loopfile.ObjectOf(l))) == plain {
				t.Errorf("%s.%s is not in the model", typ.Name(), name)
			}
		}
	}
	if fields < 100 {
		t.Errorf("only %d fields", fields)
	}
}

// change makes a field something it is not.
// one is an expression.
func one(t *testing.T) *expr.Program {
	t.Helper()
	p, err := expr.Compile("1")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func change(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	switch v := f.Addr().Interface().(type) {
	case *string:
		*v += "x"
	case *int:
		*v += 7
	case *int64:
		*v += 7
	case *bool:
		*v = !*v
	case *float64:
		*v += 0.25
	case *time.Duration:
		*v += 1500 * time.Millisecond
	case *[]string:
		*v = append(*v, "x")
	case *[]int:
		*v = []int{3}
	case *[]time.Duration:
		*v = append(*v, 3*time.Second)
	case *[]any:
		*v = []any{"x"}
	case *any:
		*v = "x"
	case **value.Map:
		*v = value.NewMap("x", "y")
	case *map[string]string:
		*v = map[string]string{"x": "y"}
	case *map[string]bool:
		*v = map[string]bool{"x_ok": true}
	case *[]fsm.Property:
		*v = []fsm.Property{{Kind: fsm.PropertyAlways, State: "x"}}
	case *[]fsm.AgentChoice:
		*v = []fsm.AgentChoice{{Host: "x"}}
	case *[]fsm.Assignment:
		*v = []fsm.Assignment{{Key: "x", Value: one(t)}}
	case *[]fsm.Case:
		*v = []fsm.Case{{When: one(t), To: "x"}}
	case **expr.Jq:
		p, err := expr.CompileJq(".x")
		if err != nil {
			t.Fatal(err)
		}
		*v = p
	case **expr.Program:
		*v = one(t)
	case *[]*fsm.Branch:
		*v = []*fsm.Branch{{Name: "x", State: &fsm.State{Action: "y"}}}
	case *[]fsm.Parameter:
		*v = append(*v, fsm.Parameter{Name: "more"})
	default:
		if f.Kind() == reflect.Struct || f.Kind() == reflect.Pointer {
			// A part of its own: its fields are changed one by one, and its being there counts here.
			if f.Kind() == reflect.Pointer {
				f.SetZero()
				return
			}
			change(t, name, f.Field(0))
			return
		}
		t.Fatalf("%s: do not know how to change %s", name, f.Type())
	}
}

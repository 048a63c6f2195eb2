package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
)

// The thresholds where little-loops' file has none; see Gate.
const (
	readinessThreshold = int64(85)
	outcomeThreshold   = int64(65)
)

// Seed returns the context of a new run: the defaults of its parameters, the file's context, the positional input,
// --context. Each wins over those before it.
func Seed(l *fsm.Loop, input *string, pairs []string) (*value.Map, error) {
	ctx, given := declared(l), value.NewMap()
	if input != nil {
		given = inputValues(ctx, l, *input)
	}
	if err := SetPairs(given, pairs); err != nil {
		return nil, err
	}
	if err := giveTypes(l, given); err != nil {
		return nil, err
	}
	if err := CheckGiven(l, given); err != nil {
		return nil, err
	}
	return Overlay(ctx, given), nil
}

// declared returns the values that the file alone gives the context.
func declared(l *fsm.Loop) *value.Map {
	ctx := value.NewMap()
	for _, p := range l.Parameters {
		if p.Default != nil {
			ctx.Set(p.Name, p.Default)
		}
	}
	return Overlay(ctx, l.Context)
}

// Overlay sets what other has in ctx, and returns ctx.
func Overlay(ctx, other *value.Map) *value.Map {
	for _, k := range other.Keys() {
		v, _ := other.Get(k)
		ctx.Set(k, v)
	}
	return ctx
}

// CheckGiven refuses values that do not fit the type their parameter declares.
func CheckGiven(l *fsm.Loop, given *value.Map) error {
	var wrong []string
	for _, p := range l.Parameters {
		v, ok := given.Get(p.Name)
		if !ok {
			continue
		}
		p.Required = false
		if _, err := fsm.Bind([]fsm.Parameter{p}, value.NewMap(p.Name, v)); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if wrong == nil {
		return nil
	}
	return misuse(OpRun, "%s", Lines{"loops: ", wrong})
}

// inputValues returns what the positional input sets: if it is a JSON object that has keys of the context,
// parameters or required inputs, those and no others; else it is the text of the loop's input key.
func inputValues(ctx *value.Map, l *fsm.Loop, text string) *value.Map {
	values := value.NewMap()
	if object, ok := parseObject(text); ok {
		for _, k := range object.Keys() {
			_, known := ctx.Get(k)
			known = known || slices.Contains(l.RequiredInputs, k) ||
				slices.ContainsFunc(l.Parameters, func(p fsm.Parameter) bool { return p.Name == k })
			if known {
				v, _ := object.Get(k)
				values.Set(k, v)
			}
		}
	}
	if values.Len() == 0 {
		values.Set(cmp.Or(l.InputKey, "input"), text)
	}
	return values
}

// SetPairs applies --context KEY=VALUE in order. Values are texts, as they are given; see giveTypes.
func SetPairs(ctx *value.Map, pairs []string) error {
	for _, pair := range pairs {
		key, val, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return misuse(OpRun, "%s: expected KEY=VALUE", Setting{SetContext, strconv.Quote(pair)})
		}
		ctx.Set(key, val)
	}
	return nil
}

// Gate sets the thresholds of the confidence gate that little-loops' file has, where the context has none.
func Gate(ctx *value.Map, conf *config.Config) {
	for key, n := range conf.Thresholds {
		if _, ok := ctx.Get(key); !ok {
			ctx.Set(key, n)
		}
	}
}

// Fill sets the keys that every run has, where they are not set yet. runDir gets a slash at its end.
func Fill(ctx *value.Map, l *fsm.Loop, runDir string) {
	absent := func(key string, val any) {
		if _, ok := ctx.Get(key); !ok {
			ctx.Set(key, val)
		}
	}
	absent("run_dir", strings.TrimRight(runDir, "/")+"/")
	if v, _ := ctx.Get("input"); v != nil {
		if text, ok := v.(string); ok {
			sum := sha256.Sum256([]byte(text))
			absent("input_hash", hex.EncodeToString(sum[:])[:12])
		}
	}
	absent("max_steps", int64(l.MaxSteps))
	if l.MaxIterations > 0 {
		absent("max_iterations", int64(l.MaxIterations))
	}
	absent("readiness_threshold", readinessThreshold)
	absent("outcome_threshold", outcomeThreshold)
	absent("design_tokens_context", "")
	absent("design_guidance_context", "")
}

// PlannedRunDir stands for the working folder of a run that has none yet: in a plan and while context values
// are checked.
func PlannedRunDir(p *project.Project, l *fsm.Loop) string {
	return filepath.Join(p.Loops, "runs", l.Name+"-<time>")
}

// parseObject returns the JSON object that a text is.
func parseObject(text string) (*value.Map, bool) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, false
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return nil, false
	}
	m, ok := v.(*value.Map)
	return m, ok
}

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"loops/fsm"
)

// Where a run of the reference tool finds these keys, its project settings would say otherwise; loops has none.
const (
	readinessThreshold = int64(85)
	outcomeThreshold   = int64(65)
)

// seed returns the context of a new run: the file's, then the positional input, then --context.
func seed(l *fsm.Loop, input *string, pairs []string) (*fsm.Map, error) {
	ctx := l.Context.Clone()
	if input != nil {
		setInput(ctx, l, *input)
	}
	return ctx, setPairs(ctx, pairs)
}

// setInput puts the positional input into the context: a JSON object that has keys of the context sets those
// and drops the others; anything else is the text of the loop's input key.
func setInput(ctx *fsm.Map, l *fsm.Loop, text string) {
	if object, ok := parseObject(text); ok {
		known := false
		for _, k := range object.Keys() {
			if _, ok := ctx.Get(k); ok {
				v, _ := object.Get(k)
				ctx.Set(k, v)
				known = true
			}
		}
		if known {
			return
		}
	}
	key := l.InputKey
	if key == "" {
		key = "input"
	}
	ctx.Set(key, text)
}

// setPairs applies --context KEY=VALUE in order. Both sides are trimmed; values are text.
func setPairs(ctx *fsm.Map, pairs []string) error {
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return usageError{fmt.Sprintf("--context %q: expected KEY=VALUE", pair), "loops run --help"}
		}
		ctx.Set(key, strings.TrimSpace(value))
	}
	return nil
}

// fill sets the keys that every run has, where they are not set yet. runDir gets a slash at its end.
func fill(ctx *fsm.Map, l *fsm.Loop, runDir string) {
	absent := func(key string, value any) {
		if _, ok := ctx.Get(key); !ok {
			ctx.Set(key, value)
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
}

// plannedRunDir stands for the working folder of a run that has none yet: in a plan and while context values
// are checked.
func plannedRunDir(p project, l *fsm.Loop) string {
	return filepath.Join(p.Loops, "runs", l.Name+"-<time>")
}

package fsm

import "strings"

// ModelHints are what a loop may want of a model instead of naming one (model_hint).
var ModelHints = []string{"coding", "reasoning", "burst"}

const hintPrefix = "hint:"

// HintedModel returns what stands for a model that a hint asks for, where a model may be named. The host of a
// prompt decides which it is.
func HintedModel(hint string) string { return hintPrefix + hint }

// ModelHint returns the hint that a model stands for; false for one that is named.
func ModelHint(model string) (hint string, ok bool) { return strings.CutPrefix(model, hintPrefix) }

package fsm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/pyregexp"
	"loops/fsm/value"
)

// judgeNumeric compares a number in the output with the target.
func judgeNumeric(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	target, err := numericTarget(cfg.Target, ev.Scope)
	if err != nil {
		got := value.Repr(cfg.Target)
		if err.Error() != "expected a number, got "+got { // which would say the same again
			got += " (" + err.Error() + ")"
		}
		return Verdict{}, errors.New("output_numeric target must be numeric, got: " + got)
	}
	var found float64
	var ok bool
	if cfg.Key != "" {
		if found, ok = lastNumberOf(cfg.Key, ev.Output); !ok {
			return errorVerdict("error", "key '"+cfg.Key+"' not found in output"), nil
		}
	} else if found, ok = value.ParseFloat(value.TrimSpace(ev.Output)); !ok {
		return errorVerdict("error", "Cannot parse as number: "+value.Truncate(ev.Output, 100)), nil
	}
	x, _ := value.NumberOf(found)
	y, _ := value.NumberOf(target)
	holds, known := compare(x, cfg.Operator, y)
	if !known {
		return errorVerdict("error", "Unknown operator: "+cfg.Operator), nil
	}
	return yesNo(holds, "value", found, "target", target, "operator", cfg.Operator), nil
}

// numericTarget reads a configured number, which may be a template.
func numericTarget(v any, s *expr.Scope) (float64, error) {
	if n, ok := value.NumberOf(v); ok {
		return n.Float(), nil
	}
	text, ok := v.(string)
	if !ok {
		return 0, fmt.Errorf("expected a number, got %s", value.Repr(v))
	}
	text, err := expr.Expand(text, s)
	if err != nil {
		return 0, err
	}
	f, ok := value.ParseFloat(text)
	if !ok {
		return 0, fmt.Errorf("expected a number, got %s", value.Repr(value.Truncate(text, 100)))
	}
	return f, nil
}

// keyNumbers are the patterns of key=number, by key.
var keyNumbers = pyregexp.Cache[*regexp.Regexp]{Compile: func(key string) *regexp.Regexp {
	const space = `[\s\v\x1c-\x1f\x{85}\p{Z}]*`
	re, err := regexp.Compile(regexp.QuoteMeta(strings.ToValidUTF8(key, "\ufffd")) +
		space + `=` + space + `([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)`)
	if err != nil { // a key of an absurd length
		return nil
	}
	return re
}}

// lastNumberOf finds the last key=number in text. The key may be the end of a longer word.
func lastNumberOf(key, text string) (float64, bool) {
	re := keyNumbers.Get(key)
	if re == nil {
		return 0, false
	}
	found := ""
	for { // one at a time: the output may hold very many
		m := re.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		found = text[m[2]:m[3]]
		text = text[m[1]:]
	}
	return value.ParseFloat(found)
}

// judgeJSON compares one value of a JSON document with the target.
func judgeJSON(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	doc, err := value.ParseJSON([]byte(ev.Output))
	if err != nil {
		return errorVerdict("error", "Invalid JSON: "+err.Error()), nil
	}
	found, ok := jsonPath(doc, cfg.Path)
	if !ok {
		return errorVerdict("error", "Path not found: "+cfg.Path), nil
	}
	var holds bool
	x, isNumber := value.NumberOf(found)
	y, both := value.NumberOf(cfg.Target)
	switch {
	case isNumber && both:
		var known bool
		if holds, known = compare(x, cfg.Operator, y); !known {
			return errorVerdict("error", "Unknown operator: "+cfg.Operator), nil
		}
	case cfg.Operator == "eq":
		holds = value.Equal(found, cfg.Target)
	case cfg.Operator == "ne":
		holds = !value.Equal(found, cfg.Target)
	default:
		return errorVerdict("error", "Operator "+cfg.Operator+" not supported for non-numeric values"), nil
	}
	return yesNo(holds, "value", found, "path", cfg.Path, "target", cfg.Target, "operator", cfg.Operator), nil
}

// jsonPath follows a dotted path through objects and, by index from 0, lists.
func jsonPath(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		switch c := v.(type) {
		case *value.Map:
			next, ok := c.Get(part)
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.ParseUint(part, 10, 31) // takes no sign
			if err != nil || int(i) >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// compare applies an operator of the language. known is false for an operator that there is not.
func compare(x value.Number, operator string, y value.Number) (holds, known bool) {
	c, ordered := x.Compare(y)
	switch operator {
	case "eq":
		return ordered && c == 0, true
	case "ne":
		return !ordered || c != 0, true
	case "lt":
		return ordered && c < 0, true
	case "le":
		return ordered && c <= 0, true
	case "gt":
		return ordered && c > 0, true
	case "ge":
		return ordered && c >= 0, true
	}
	return false, false
}

// judgeContains searches the output for a pattern.
func judgeContains(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	matched, err := pyregexp.Search(cfg.Pattern, ev.Output)
	if err != nil {
		return Verdict{}, fmt.Errorf("output_contains: %w", err)
	}
	if !matched && !cfg.Negate {
		for _, p := range cfg.ErrorPatterns {
			if strings.Contains(ev.Output, p) {
				return errorVerdict("matched", false, "pattern", cfg.Pattern, "negate", false, "error_pattern", p), nil
			}
		}
	}
	return yesNo(matched != cfg.Negate, "matched", matched, "pattern", cfg.Pattern, "negate", cfg.Negate), nil
}

// judgeClassify makes one line of the output the verdict.
func judgeClassify(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	lines := value.Lines(ev.Output)
	n := 0
	for _, l := range lines {
		if l = value.TrimSpace(l); l != "" {
			lines[n] = l
			n++
		}
	}
	lines = lines[:n]
	if n == 0 {
		return verdict("", "token", "", "line", cfg.Line, "source_lines", int64(0)), nil
	}
	i := int64(n - 1) // "last", nothing or any other text
	switch line := cfg.Line.(type) {
	case string:
		if line == "first" {
			i = 0
		}
	case bool:
		i = 0
		if line {
			i = 1
		}
	case int:
		i = int64(line)
	case int64:
		i = line
	}
	if i < 0 {
		i += int64(n)
	}
	if i < 0 || i >= int64(n) {
		return verdict("", "token", "", "line", cfg.Line, "source_lines", int64(n), "error", "index out of range"), nil
	}
	return verdict(lines[i], "token", lines[i], "line", cfg.Line), nil
}

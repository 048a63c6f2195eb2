package fsm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// judgeNumeric compares a number in the output with the target.
func judgeNumeric(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	target, err := numericTarget(cfg.Target, ev.Scope)
	if err != nil {
		return Verdict{}, fmt.Errorf("output_numeric target must be numeric, got: %s (%w)", Repr(cfg.Target), err)
	}
	var value float64
	var ok bool
	if cfg.Key != "" {
		if value, ok = lastNumberOf(cfg.Key, ev.Output); !ok {
			return errorVerdict("error", "key '"+cfg.Key+"' not found in output"), nil
		}
	} else if value, ok = ParseFloat(trimSpace(ev.Output)); !ok {
		return errorVerdict("error", "Cannot parse as number: "+firstRunes(ev.Output, 100)), nil
	}
	holds, known := number{float: value, isFloat: true}.matches(cfg.Operator, number{float: target, isFloat: true})
	if !known {
		return errorVerdict("error", "Unknown operator: "+cfg.Operator), nil
	}
	return yesNo(holds, "value", value, "target", target, "operator", cfg.Operator), nil
}

// numericTarget reads a configured number, which may be a template.
func numericTarget(v any, s *Scope) (float64, error) {
	if n, ok := toNumber(v); ok {
		return n.toFloat(), nil
	}
	text, ok := v.(string)
	if !ok {
		return 0, fmt.Errorf("expected a number, got %s", Repr(v))
	}
	text, err := Expand(text, s)
	if err != nil {
		return 0, err
	}
	f, ok := ParseFloat(text)
	if !ok {
		return 0, fmt.Errorf("expected a number, got %s", Repr(firstRunes(text, 100)))
	}
	return f, nil
}

// keyNumbers are the patterns of key=number, by key.
var keyNumbers = compiled[*regexp.Regexp]{compile: func(key string) *regexp.Regexp {
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
	re := keyNumbers.get(key)
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
	return ParseFloat(found)
}

// judgeJSON compares one value of a JSON document with the target.
func judgeJSON(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	doc, err := ParseJSON([]byte(ev.Output))
	if err != nil {
		return errorVerdict("error", "Invalid JSON: "+err.Error()), nil
	}
	value, ok := jsonPath(doc, cfg.Path)
	if !ok {
		return errorVerdict("error", "Path not found: "+cfg.Path), nil
	}
	var holds bool
	x, isNumber := toNumber(value)
	y, both := toNumber(cfg.Target)
	switch {
	case isNumber && both:
		var known bool
		if holds, known = x.matches(cfg.Operator, y); !known {
			return errorVerdict("error", "Unknown operator: "+cfg.Operator), nil
		}
	case cfg.Operator == "eq":
		holds = Equal(value, cfg.Target)
	case cfg.Operator == "ne":
		holds = !Equal(value, cfg.Target)
	default:
		return errorVerdict("error", "Operator "+cfg.Operator+" not supported for non-numeric values"), nil
	}
	return yesNo(holds, "value", value, "path", cfg.Path, "target", cfg.Target, "operator", cfg.Operator), nil
}

// jsonPath follows a dotted path through objects and, by index from 0, lists.
func jsonPath(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		switch c := v.(type) {
		case *Map:
			next, ok := c.Get(part)
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || !allDigits(part) || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// judgeContains searches the output for a pattern.
func judgeContains(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	matched, err := Search(cfg.Pattern, ev.Output)
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
	lines := splitLines(ev.Output)
	n := 0
	for _, l := range lines {
		if l = trimSpace(l); l != "" {
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

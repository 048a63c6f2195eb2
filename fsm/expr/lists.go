package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// listFunctions are the functions of lists that the library has, by the rule that this package has for
// comparing and adding.
var listFunctions = map[string]func(d *deadline, args []any) (any, error){
	"max":    func(d *deadline, args []any) (any, error) { return extreme(d, "max", args, 1) },
	"min":    func(d *deadline, args []any) (any, error) { return extreme(d, "min", args, -1) },
	"sum":    func(d *deadline, args []any) (any, error) { return sum(d, "sum", args) },
	"mean":   mean,
	"median": median,
	"uniq":   uniq,
	"sort":   func(d *deadline, args []any) (any, error) { return sorted(d, "sort", args, 0) },
	"sortBy": func(d *deadline, args []any) (any, error) { return sorted(d, "sortBy", args, 1) },
	trimmed: func(_ *deadline, args []any) (any, error) {
		if text, ok := args[0].(string); ok {
			return strings.TrimSpace(text), nil
		}
		return args[0], nil
	},
}

// trimmed is the function that takes the blanks around a text away; no text of an expression can name it.
const trimmed = "trim/value"

// listCall returns the call of our function for one of the library, nil if there is none.
func listCall(n *ast.BuiltinNode) ast.Node {
	if listFunctions[n.Name] == nil {
		return nil
	}
	args := slices.Clone(n.Arguments)
	if len(args) > 1 {
		if _, ok := args[1].(*ast.PredicateNode); ok {
			keys := &ast.BuiltinNode{Name: "map", Arguments: []ast.Node{args[0], args[1]}}
			keys.SetLocation(n.Location())
			if n.Name == "sum" {
				args = []ast.Node{keys}
			} else {
				args[1] = keys
			}
		}
	}
	return ours(n, n.Name, args)
}

// ours returns a call of one of our functions instead of a node.
func ours(n ast.Node, function string, args []ast.Node) ast.Node {
	name, deadline := &ast.IdentifierNode{Value: listName(function)}, &ast.IdentifierNode{Value: stop}
	name.SetLocation(n.Location())
	deadline.SetLocation(n.Location())
	return &ast.CallNode{Callee: name, Arguments: append([]ast.Node{deadline}, args...)}
}

func listName(name string) string { return name + "/list" }

func listOptions() (options []expr.Option) {
	for name, f := range listFunctions {
		options = append(options, expr.Function(listName(name), func(args ...any) (any, error) {
			return f(args[0].(*deadline), args[1:])
		}, new(func(*deadline, ...any) any)))
	}
	return options
}

// flat returns values with those of the lists among them in their place.
func flat(name string, args []any, depth int) (all []any, err error) {
	if depth > maxDepth {
		return nil, &operandError{name + " is given a list that is too deep"}
	}
	for _, v := range args {
		v = untyped(v)
		list, ok := v.([]any)
		if !ok {
			all = append(all, v)
			continue
		}
		if list, err = flat(name, list, depth+1); err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// numbersOf returns values as numbers.
func numbersOf(name string, args []any) ([]any, error) {
	all, err := flat(name, args, 0)
	for i, v := range all {
		n, ok := number(v)
		if !ok {
			return nil, &operandError{fmt.Sprintf("%s is not a number, and %s needs numbers", named(v), name)}
		}
		all[i] = n
	}
	return all, err
}

// comparableWith returns what values are compared by: all are numbers where one is a number, else all are texts.
func comparableWith(name string, values []any) ([]any, error) {
	numeric := slices.ContainsFunc(values, isNumber)
	keys := make([]any, len(values))
	for i, v := range values {
		n, ok := number(v)
		_, isText := v.(string)
		switch {
		case numeric && ok:
			keys[i] = n
		case !numeric && isText:
			keys[i] = v
		default:
			other := values[0]
			if i == 0 || numeric {
				other = values[max(0, slices.IndexFunc(values, isNumber))]
			}
			return nil, &operandError{fmt.Sprintf("%s and %s cannot be compared by %s", named(other), named(v), name)}
		}
	}
	return keys, nil
}

// isNumber reports whether a value is a number, and no text that reads as one.
func isNumber(v any) bool {
	_, text := v.(string)
	_, ok := number(v)
	return ok && !text
}

func extreme(d *deadline, name string, args []any, sign int) (any, error) {
	all, err := flat(name, args, 0)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	keys, err := comparableWith(name, all)
	if err != nil {
		return nil, err
	}
	best := 0
	for i := range keys {
		if o, _ := compare(keys[i], keys[best]); o*sign > 0 {
			best = i
		}
		if err := d.passed(); err != nil {
			return nil, err
		}
	}
	return all[best], nil
}

func sum(d *deadline, name string, args []any) (any, error) {
	all, err := numbersOf(name, args)
	if err != nil {
		return nil, err
	}
	total := any(int64(0))
	for _, n := range all {
		if total, err = arithmetic["+"](total, n); err != nil {
			return nil, err
		}
		if err := d.passed(); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func mean(d *deadline, args []any) (any, error) {
	all, err := numbersOf("mean", args)
	if err != nil || len(all) == 0 {
		return 0.0, err
	}
	total, err := sum(d, "mean", all)
	if err != nil {
		return nil, err
	}
	return finite(float(total) / float64(len(all)))
}

func median(_ *deadline, args []any) (any, error) {
	all, err := numbersOf("median", args)
	if err != nil || len(all) == 0 {
		return 0.0, err
	}
	slices.SortFunc(all, func(a, b any) int { return order(float(a), float(b)) })
	n := len(all)
	if n%2 == 1 {
		return float(all[n/2]), nil
	}
	return finite((float(all[n/2-1]) + float(all[n/2])) / 2)
}

// listed returns the list that a function is given.
func listed(name string, args []any, i int) ([]any, error) {
	if i < len(args) {
		v := untyped(args[i])
		if list, ok := v.([]any); ok {
			return list, nil
		}
		return nil, &operandError{fmt.Sprintf("%s needs a list, and got %s", name, named(v))}
	}
	return nil, &operandError{name + " needs a list"}
}

func uniq(d *deadline, args []any) (any, error) {
	list, err := listed("uniq", args, 0)
	if err != nil {
		return nil, err
	}
	kept := []any{}
next:
	for _, v := range list {
		for _, k := range kept {
			if err := d.passed(); err != nil {
				return nil, err
			}
			if equal(k, v) {
				continue next
			}
		}
		kept = append(kept, v)
	}
	return kept, nil
}

// sorted returns the list that is the first argument, ordered by the list that is argument keys.
func sorted(d *deadline, name string, args []any, by int) (any, error) {
	list, err := listed(name, args, 0)
	if err != nil {
		return nil, err
	}
	keys, err := listed(name, args, by)
	if err != nil {
		return nil, err
	}
	if keys, err = comparableWith(name, keys); err != nil {
		return nil, err
	}
	sign := 1
	if len(args) > by+1 {
		switch args[by+1] {
		case "asc":
		case "desc":
			sign = -1
		default:
			return nil, &operandError{fmt.Sprintf(`%s takes "asc" or "desc", and got %s`, name, named(args[by+1]))}
		}
	}
	places := make([]int, len(list))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int {
		o, _ := compare(keys[i], keys[j])
		return sign * o
	})
	if err := d.passed(); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, at := range places {
		out[i] = list[at]
	}
	return out, nil
}

// within reports whether a list has an item, or a mapping a key, that is equal to v.
func within(v, in any) (bool, error) {
	switch in := untyped(in).(type) {
	case nil:
		return false, nil
	case []any:
		return slices.ContainsFunc(in, func(item any) bool { return equal(v, item) }), nil
	case map[string]any:
		if key, ok := v.(string); ok {
			_, there := in[key]
			return there, nil
		}
		for key := range in {
			if equal(v, key) {
				return true, nil
			}
		}
		return false, nil
	default:
		return false, &operandError{fmt.Sprintf("%s is no list and no mapping, so nothing is in it", named(in))}
	}
}

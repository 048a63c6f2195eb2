package expr

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// get is what members are rewritten to: context.a and list[0]. The library fails where nothing is.
const get = "."

const longestName = 200 // bytes of a name in a message

// A memberRewriter replaces the access to members by [member]. It comes after the rewriter, which wants to see
// names as they are written.
type memberRewriter struct {
	was  map[ast.Node]*ast.MemberNode // what was replaced
	name map[ast.Node]string          // how that was written
}

// Visit implements [ast.Visitor]; inner nodes come first.
func (w *memberRewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		if m := w.was[n.Callee]; m != nil {
			n.Callee = m // what is called is for the library to find
		}
	case *ast.MemberNode:
		name := w.written(n)
		c := call(get, n, n.Node, n.Property).(*ast.CallNode)
		c.Arguments[2] = &ast.StringNode{Value: w.written(n.Node)}
		c.Arguments[2].SetLocation(n.Location())
		c.Arguments[4] = &ast.StringNode{Value: w.written(n.Property)}
		c.Arguments[4].SetLocation(n.Location())
		ast.Patch(node, c)
		w.was[c], w.name[c] = n, name
	}
}

// written is a node as it is in the text, nearly; "" if that is long, or is no name.
func (w *memberRewriter) written(n ast.Node) string {
	text, known := w.name[n]
	if m, ok := n.(*ast.MemberNode); ok {
		base := w.written(m.Node)
		key, fixed := m.Property.(*ast.StringNode)
		switch {
		case base == "":
		case fixed && plainKey(key.Value):
			text = base + "." + key.Value
		default:
			text = base + "[" + m.Property.String() + "]"
		}
	} else if !known {
		text = written(n)
	}
	if len(text) > longestName {
		return ""
	}
	return text
}

// plainKey reports whether a name may follow a point.
func plainKey(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') &&
		!strings.ContainsFunc(name, func(r rune) bool { return !part(r) })
}

// missing returns the names that an expression uses and that have no value in env, as far as they are fixed.
func (p *Program) missing(env map[string]any) (names []string) {
	for _, r := range p.refs {
		v, name := env[r.Namespace], r.Text()
		for _, key := range r.Path {
			m, _ := v.(map[string]any)
			v = m[key]
		}
		if v == nil && len(name) <= longestName && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// lastly is operand at the end of a message.
func lastly(v, name any) string { return strings.TrimSuffix(operand(v, name), ",") }

// valueless says in the error of something that got no value which names may be to blame.
func (p *Program) valueless(e *Error, env map[string]any) {
	switch names := p.missing(env); len(names) {
	case 0:
		if strings.Contains(e.Message, "interface {} is nil") || strings.Contains(e.Message, "<nil>") ||
			strings.Contains(e.Message, "zero Value") {
			e.Message = "what is here has no value, and one is needed; ?? says what holds then"
		}
	case 1:
		e.Message = fmt.Sprintf("%s has no value, and one is needed here; write (%s ?? …) if it may be absent",
			names[0], names[0])
	default:
		e.Message = fmt.Sprintf("a value is needed here, and these have none: %s; ?? says what holds then",
			strings.Join(names[:min(len(names), 5)], ", "))
	}
}

// lacksValue reports whether an error of the library may come from something that has no value.
func lacksValue(message string) bool {
	return strings.Contains(message, "nil") || strings.Contains(message, "zero Value") ||
		strings.Contains(message, "cannot slice")
}

// memberFunction is the function behind [get].
func memberFunction() expr.Option {
	return expr.Function(get, func(args ...any) (any, error) {
		if err := args[0].(*deadline).passed(); err != nil {
			return nil, err
		}
		if m, ok := args[1].(map[string]any); ok {
			if k, ok := args[3].(string); ok {
				return m[k], nil
			}
		}
		return member(args[1], args[2], args[3], args[4])
	}, new(func(*deadline, any, string, any, string) any))
}

// member is what of has under key, nil if there is nothing.
func member(of, ofName, key, keyName any) (any, error) {
	if of == nil {
		return nil, nil
	}
	if key == nil {
		return nil, absent(keyName, "is no key of "+lastly(of, ofName), `""`)
	}
	v := reflect.ValueOf(of)
	switch v.Kind() {
	case reflect.Map:
		k := reflect.ValueOf(key)
		if !k.Type().AssignableTo(v.Type().Key()) || !k.Comparable() {
			return nil, &operandError{fmt.Sprintf("%s is no key of %s", operand(key, keyName), lastly(of, ofName))}
		}
		if found := v.MapIndex(k); found.IsValid() {
			return found.Interface(), nil
		}
		return nil, nil
	case reflect.Slice:
		n, ok := number(key)
		at := float(n)
		if !ok || at != math.Trunc(at) {
			return nil, &operandError{fmt.Sprintf("%s is no index of %s", operand(key, keyName), lastly(of, ofName))}
		}
		if at < 0 {
			at += float64(v.Len())
		}
		if at < 0 || at >= float64(v.Len()) {
			return nil, nil
		}
		return v.Index(int(at)).Interface(), nil
	case reflect.String:
		return nil, &operandError{operand(of, ofName) + " has no parts; fromJSON reads a text, and split divides one"}
	}
	return nil, &operandError{operand(of, ofName) + " has no parts"}
}

package expr

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"loops/fsm/value"
)

// The operators that this package has its own of, and what they are called in an expression that was rewritten:
// no name of a text can be one of these.
var (
	binary = map[string]string{}
	bools  = map[string]bool{"and": true, "&&": true, "or": true, "||": true}
)

const (
	test = "?"    // its operand must be true or false
	stop = "stop" // the deadline among the names; see call
)

func init() {
	for op := range arithmetic {
		binary[op] = function(op, 2)
	}
	for op := range comparison {
		binary[op] = function(op, 2)
	}
}

func function(op string, operands int) string { return fmt.Sprintf("%s/%d", op, operands) }

// A deadline is when an evaluation has taken too long.
type deadline struct {
	at    time.Time
	calls int
}

var errSlow = errors.New("the expression takes too long")

// passed reports that, looking at the clock now and then.
func (d *deadline) passed() error {
	if d.calls++; d.calls%256 == 0 && time.Now().After(d.at) {
		return errSlow
	}
	return nil
}

// An operandError says that an operator cannot be used on a value.
type operandError struct{ text string }

func (e *operandError) Error() string { return e.text }

// call is the call of a function of this package in place of an operator. The function gets the names of its operands.
func call(name string, at ast.Node, operands ...ast.Node) ast.Node {
	args := []ast.Node{&ast.IdentifierNode{Value: stop}}
	for _, o := range operands {
		args = append(args, o, &ast.StringNode{Value: written(o)})
	}
	for _, a := range args {
		if a.Location().From == 0 && a.Location().To == 0 {
			a.SetLocation(at.Location())
		}
	}
	callee := &ast.IdentifierNode{Value: name}
	callee.SetLocation(at.Location())
	return &ast.CallNode{Callee: callee, Arguments: args}
}

// condition is an operand that must be true or false.
func condition(n ast.Node) ast.Node {
	switch b := n.(type) {
	case *ast.BoolNode:
		return n
	case *ast.BinaryNode:
		if bools[b.Operator] {
			return n
		}
	case *ast.CallNode:
		if name, ok := b.Callee.(*ast.IdentifierNode); ok && comparison[strings.TrimSuffix(name.Value, "/2")] != nil {
			return n
		}
	}
	c := call(test, n, n)
	c.SetLocation(n.Location())
	return c
}

// written is an operand as it is in the text, nearly; "" for one that was rewritten.
func written(n ast.Node) string {
	switch n.(type) {
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode:
		return n.String()
	}
	return ""
}

// operators are the functions that expressions are rewritten to.
func operators() []expr.Option {
	options := []expr.Option{
		memberFunction(),
		expr.Function(test, func(args ...any) (any, error) {
			if err := args[0].(*deadline).passed(); err != nil {
				return nil, err
			}
			if b, ok := args[1].(bool); ok {
				return b, nil
			}
			if args[1] == nil {
				return nil, absent(args[2], "is neither true nor false", "false")
			}
			return nil, &operandError{fmt.Sprintf("%s is not true or false", operand(args[1], args[2]))}
		}, new(func(*deadline, any, string) bool)),
		expr.Function(function("-", 1), sign(-1), new(func(*deadline, any, string) any)),
		expr.Function(function("+", 1), sign(1), new(func(*deadline, any, string) any)),
	}
	for op, f := range arithmetic {
		options = append(options, expr.Function(function(op, 2), func(args ...any) (any, error) {
			if err := args[0].(*deadline).passed(); err != nil {
				return nil, err
			}
			a, aOK := number(args[1])
			b, bOK := number(args[3])
			x, y, joined := texts(args[1], args[3])
			if op == "+" && joined && (bothTexts(args[1], args[3]) || !aOK || !bOK) {
				return x + y, nil
			}
			if aOK && bOK {
				return f(a, b)
			}
			if err := absentOf(args, op+" needs numbers"); err != nil {
				return nil, err
			}
			wrong, name := args[1], args[2]
			if aOK {
				wrong, name = args[3], args[4]
			}
			return nil, &operandError{fmt.Sprintf("%s is not a number, and %s needs numbers", operand(wrong, name), op)}
		}, new(func(*deadline, any, string, any, string) any)))
	}
	for op, f := range comparison {
		options = append(options, expr.Function(function(op, 2), func(args ...any) (any, error) {
			if err := args[0].(*deadline).passed(); err != nil {
				return nil, err
			}
			if op == "==" || op == "!=" {
				return equal(args[1], args[3]) == (op == "=="), nil
			}
			if op == "in" {
				return within(args[1], args[3])
			}
			order, ok := compare(args[1], args[3])
			if err := absentOf(args, "cannot be compared by "+op); err != nil {
				return nil, err
			}
			if !ok {
				return nil, &operandError{fmt.Sprintf("%s and %s cannot be compared by %s", operand(args[1], args[2]),
					operand(args[3], args[4]), op)}
			}
			return f(order), nil
		}, new(func(*deadline, any, string, any, string) bool)))
	}
	return append(options, listOptions()...)
}

func bothTexts(a, b any) bool {
	_, aOK := a.(string)
	_, bOK := b.(string)
	return aOK && bOK
}

func sign(s int64) func(args ...any) (any, error) {
	return func(args ...any) (any, error) {
		if err := args[0].(*deadline).passed(); err != nil {
			return nil, err
		}
		n, ok := number(args[1])
		if args[1] == nil {
			return nil, absent(args[2], "is not a number", "0")
		}
		if !ok {
			return nil, &operandError{fmt.Sprintf("%s is not a number", operand(args[1], args[2]))}
		}
		return arithmetic["*"](s, n)
	}
}

// absent is the error of an operator that needs a value where there is none. instead is what may stand for it.
func absent(name any, problem, instead string) error {
	if name, _ := name.(string); name != "" {
		return &operandError{fmt.Sprintf("%s has no value, and %s; write (%s ?? %s) if it may be absent", name,
			problem, name, instead)}
	}
	return &operandError{fmt.Sprintf("what is here has no value, and %s; ?? says what holds then", problem)}
}

// absentOf is absent for the operand of an operator that has no value, nil if both have one.
func absentOf(args []any, problem string) error {
	for i := 1; i <= 3; i += 2 {
		if args[i] != nil {
			continue
		}
		instead, other := "0", args[4-i]
		if _, numeric := number(other); other != nil && !numeric {
			instead = `""`
		}
		return absent(args[i+1], problem, instead)
	}
	return nil
}

// operand names an operand in a message.
func operand(v, name any) string {
	text := named(v)
	if name, _ := name.(string); name != "" {
		return name + ", which is " + text + ","
	}
	return text
}

// named is a value in a message.
func named(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the text %q", value.Truncate(v, 40))
	case bool, int, int64, float64:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any, *value.Map:
		return "a mapping"
	}
	return fmt.Sprintf("a %T", v)
}

func texts(a, b any) (x, y string, ok bool) {
	x, aOK := a.(string)
	y, bOK := b.(string)
	switch {
	case aOK && bOK:
	case aOK && b != nil && scalar(b):
		y = value.Text(plain(b))
	case bOK && a != nil && scalar(a):
		x = value.Text(plain(a))
	default:
		return "", "", false
	}
	return x, y, true
}

func scalar(v any) bool {
	switch v.(type) {
	case int, int64, float64, bool:
		return true
	}
	return false
}

func plain(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// The bounds of one evaluation.
const (
	maxNodes  = 1000   // parts of an expression
	maxValues = 100000 // values that it makes on its way
	maxTime   = 250 * time.Millisecond
)

// An Error says what is wrong with an expression, and where in its text.
type Error struct {
	Line, Col int // from 1, Col in runes; 0 = nowhere in particular
	Message   string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	if e.Line == 1 {
		return fmt.Sprintf("%s (column %d)", e.Message, e.Col)
	}
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Col)
}

// Offset returns the place of the error in the text of its expression, in bytes from 0.
func (e *Error) Offset(text string) int {
	offset := 0
	for line := 1; line < e.Line; line++ {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	for col := 1; col < e.Col && offset < len(text); col++ {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	return offset
}

// A Program is an expression that can be evaluated. It may be used by several goroutines at once.
type Program struct {
	text  string
	code  *vm.Program
	refs  []Ref
	place func(offset int) Place
}

// A Place is where a part of an expression is in the file that has it.
type Place struct {
	File      string
	Line, Col int    // from 1, Col in runes
	Source    string // the line of the file, and a line with a caret under the column; "" if they cannot be shown
}

// SetPlace tells the program where a byte of its text is in a file. It must be called before the program is used.
func (p *Program) SetPlace(place func(offset int) Place) { p.place = place }

// Place returns where an error of the program is in its file. It reports false if the program is of no file.
func (p *Program) Place(e *Error) (Place, bool) {
	if p.place == nil {
		return Place{}, false
	}
	return p.place(e.Offset(p.text)), true
}

// A Ref is a use of one of the names that templates have.
type Ref struct {
	Namespace string   // context, captured, …
	Path      []string // what follows it, as far as it is fixed: nil for context alone, or for context[x]
	Col       int      // of the namespace in the text, from 0, in runes
	// the expression says what holds where there is no value: by a ?? after it, by ?., or by comparing it with
	// nil
	Guarded bool
}

// Text is a Ref as an expression has it.
func (r Ref) Text() string {
	text := r.Namespace
	for _, key := range r.Path {
		if plainKey(key) {
			text += "." + key
		} else {
			text += fmt.Sprintf("[%q]", key)
		}
	}
	return text
}

// Compile reads an expression. An error is an [*Error].
func Compile(text string) (*Program, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Message: "the expression is empty"}
	}
	p := &Program{text: text}
	rewrite := &rewriter{}
	code, err := expr.Compile(text,
		append(options(), expr.Patch(rewrite),
			expr.Patch(&memberRewriter{map[ast.Node]*ast.MemberNode{}, map[ast.Node]string{}}))...)
	if err != nil {
		e := explain(text, err)
		e.Message = plainWords(e.Message)
		return nil, e
	}
	p.code, p.refs = code, rewrite.refs()
	if n := rewrite.stranger(); n != nil { // the library finds them, but not inside a call of a function
		return nil, explain(text,
			(&file.Error{Location: n.Location(), Message: "unknown name " + n.Value}).Bind(file.NewSource(text)))
	}
	for _, r := range p.refs {
		if r.Namespace == "env" && len(r.Path) == 0 {
			return nil, &Error{Line: 1, Col: r.Col + 1, Message: "env needs the name of a variable: env.HOME"}
		}
		if r.Namespace == "secret" && len(r.Path) == 0 {
			return nil, &Error{Line: 1, Col: r.Col + 1, Message: "secret needs the name of one: secret.TOKEN"}
		}
	}
	return p, nil
}

// options are what all expressions are compiled with.
func options() []expr.Option {
	names := map[string]any{stop: &deadline{}}
	for _, n := range Namespaces() {
		names[n] = map[string]any{}
	}
	names["messages"], names["memory"] = []any{}, []any{}
	return append(operators(),
		expr.Env(names), expr.MaxNodes(maxNodes), expr.Optimize(false),
		expr.DisableBuiltin("fromJSON"), expr.Function("fromJSON", fromJSON, new(func(string) any)),
		expr.DisableBuiltin("now"), expr.DisableBuiltin("date"), expr.DisableBuiltin("duration"),
		expr.DisableBuiltin("timezone"))
}

// Refs are the names that the expression uses, in its order.
func (p *Program) Refs() []Ref { return p.refs }

// String returns the text of the expression, its lines joined by blanks.
func (p *Program) String() string {
	if strings.Contains(p.text, "//") || strings.Contains(p.text, "`") { // a line end may mean something
		return strings.TrimSpace(p.text)
	}
	lines := strings.Split(strings.TrimSpace(p.text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " ")
}

// Eval evaluates the expression: a value of the language, nil for null. An error is an [*Error].
func (p *Program) Eval(s *Scope) (any, error) {
	v, _, err := p.eval(s)
	return v, err
}

// eval also returns what the names came to.
func (p *Program) eval(s *Scope) (any, map[string]any, error) {
	env := map[string]any{stop: &deadline{at: time.Now().Add(maxTime)}}
	for _, name := range Namespaces() {
		env[name] = map[string]any{}
	}
	for name, keys := range p.wanted() {
		v, err := p.namespace(s, name, keys)
		if err != nil {
			return nil, nil, &Error{Message: err.Error()}
		}
		env[name] = v
	}
	machine := vm.VM{MemoryBudget: maxValues}
	v, err := machine.Run(p.code, env)
	if err != nil {
		e := explain(p.text, err)
		_, ours := errors.AsType[*operandError](err)
		switch {
		case ours:
		case lacksValue(e.Message):
			p.valueless(e, env)
		default:
			e.Message = plainWords(e.Message)
		}
		return nil, nil, e
	}
	if v, err = toValue(v, 0); err != nil {
		return nil, nil, &Error{Message: err.Error()}
	}
	return v, env, nil
}

// True evaluates an expression that is a condition: true or false, and nothing else.
func (p *Program) True(s *Scope) (bool, error) {
	v, env, err := p.eval(s)
	if err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if v == nil {
		e := &Error{Message: "the expression has no value; expected true or false"}
		if names := p.missing(env); len(names) > 0 {
			e.Message = fmt.Sprintf("the expression has no value, because %s has none; expected true or false; "+
				"write (%s ?? false) if it may be absent", names[0], names[0])
		}
		return false, e
	}
	if !ok {
		return false, &Error{Message: fmt.Sprintf("the expression is %s; expected true or false", named(v))}
	}
	return yes, nil
}

// wanted returns which keys of which namespaces the expression uses; nil keys are all.
func (p *Program) wanted() map[string][]string {
	all := map[string][]string{}
	for _, r := range p.refs {
		keys, seen := all[r.Namespace]
		switch {
		case len(r.Path) == 0:
			all[r.Namespace] = nil
		case !seen || keys != nil:
			all[r.Namespace] = append(keys, r.Path[0])
		}
	}
	return all
}

// explain turns an error of the library into one of ours.
func explain(text string, err error) *Error {
	var at *file.Error
	if !errors.As(err, &at) {
		return &Error{Message: err.Error()}
	}
	e := &Error{Line: at.Line, Col: at.Column + 1, Message: at.Message}
	if ours, ok := errors.AsType[*operandError](err); ok {
		e.Message = ours.Error()
	}
	if name, found := strings.CutPrefix(e.Message, "unknown name "); found {
		e.Message = unknown(text, name, at.From)
	}
	if strings.Contains(e.Message, "memory budget exceeded") {
		e.Message = "the expression makes too many values"
	}
	return e
}

// unknown says that there is no such name.
func unknown(text, name string, from int) string {
	message := fmt.Sprintf("there is no name %s; expected one of %s", name, strings.Join(Namespaces(), ", "))
	runes := []rune(text)
	if from >= 2 && from <= len(runes) && runes[from-1] == '-' && part(runes[from-2]) {
		begin := from - 1
		for begin > 0 && (part(runes[begin-1]) || runes[begin-1] == '-') {
			begin--
		}
		end := from + len([]rune(name))
		return message + fmt.Sprintf("; a name with a dash is written [%q]", string(runes[begin:min(end, len(runes))]))
	}
	return message
}

// part reports whether a rune may be in a name.
func part(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// A rewriter replaces the operators of an expression by those of this package, and notes the names it uses.
type rewriter struct {
	found   []*use
	unknown []*ast.IdentifierNode
	known   []string // the variables and functions that the expression uses
}

// stranger returns a name that nothing has, nil if there is none.
func (w *rewriter) stranger() *ast.IdentifierNode {
	for _, n := range w.unknown {
		if !slices.Contains(w.known, n.Value) {
			return n
		}
	}
	return nil
}

// A use is a name as it was found, and the members that were found around it since.
type use struct {
	ref  Ref
	name *ast.IdentifierNode
	node ast.Node // the name with its members so far
	open bool     // a further member belongs to it
}

func (w *rewriter) refs() []Ref {
	var all []Ref
	for _, u := range w.found {
		all = append(all, u.ref)
	}
	slices.SortStableFunc(all, func(a, b Ref) int { return a.Col - b.Col })
	return all
}

// Visit implements [ast.Visitor]; inner nodes come first.
func (w *rewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if !slices.Contains(Namespaces(), n.Value) {
			w.unknown = append(w.unknown, n)
		} else {
			w.found = append(w.found, &use{
				ref: Ref{Namespace: n.Value, Col: n.Location().From}, name: n, node: n,
				open: true,
			})
		}
	case *ast.VariableDeclaratorNode:
		w.known = append(w.known, n.Name)
	case *ast.CallNode:
		// other functions are none of these nodes
		if function, ok := n.Callee.(*ast.IdentifierNode); ok && function.Value == "fromJSON" {
			w.known = append(w.known, function.Value)
		}
	case *ast.BuiltinNode:
		if (n.Name == "int" || n.Name == "float") && len(n.Arguments) == 1 {
			switch n.Arguments[0].(type) {
			case *ast.ArrayNode, *ast.MapNode: // the library refuses them
			default:
				n.Arguments[0] = ours(n.Arguments[0], trimmed, n.Arguments[:1:1])
			}
		}
		if c := listCall(n); c != nil {
			ast.Patch(node, c)
		}
	case *ast.MemberNode:
		w.member(n)
	case *ast.ChainNode:
		w.guard(n.Node)
	case *ast.BinaryNode:
		w.guardOperand(n)
		if bools[n.Operator] {
			n.Left, n.Right = condition(n.Left), condition(n.Right)
		} else if function := binary[n.Operator]; function != "" {
			ast.Patch(node, call(function, *node, n.Left, n.Right))
		}
	case *ast.UnaryNode:
		switch n.Operator {
		case "not", "!":
			n.Node = condition(n.Node)
		case "-", "+":
			ast.Patch(node, call(function(n.Operator, 1), *node, n.Node))
		}
	case *ast.ConditionalNode:
		n.Cond = condition(n.Cond)
	}
}

// guardOperand notes what an operator says of an operand that has no value.
func (w *rewriter) guardOperand(n *ast.BinaryNode) {
	switch n.Operator {
	case "??":
		w.guard(n.Left)
	case "==", "!=":
		if _, ok := n.Right.(*ast.NilNode); ok {
			w.guard(n.Left)
		}
		if _, ok := n.Left.(*ast.NilNode); ok {
			w.guard(n.Right)
		}
	}
}

// guard notes that the expression says what holds where a node has no value.
func (w *rewriter) guard(node ast.Node) {
	switch n := node.(type) {
	case *ast.ChainNode:
		w.guard(n.Node)
	case *ast.MemberNode:
		w.guard(n.Node)
	case *ast.BinaryNode:
		if n.Operator == "??" {
			w.guard(n.Right)
		}
	case *ast.IdentifierNode:
		for _, u := range w.found {
			u.ref.Guarded = u.ref.Guarded || u.name == n
		}
	}
}

func (w *rewriter) member(n *ast.MemberNode) {
	for _, u := range w.found {
		if u.node != n.Node || !u.open {
			continue
		}
		u.node = n
		if key, ok := n.Property.(*ast.StringNode); ok {
			u.ref.Path = append(u.ref.Path, key.Value)
		} else {
			u.open = false
		}
	}
}

package expr_test

import (
	"errors"
	"fmt"

	"loops/fsm/expr"
	"loops/fsm/value"
)

func ExampleExpand() {
	s := &expr.Scope{
		Context: value.NewMap("name", "it's me", "limit", int64(3)),
		Prev:    value.NewMap("output", "first\n\nlast\n"),
		State:   "greet",
	}
	for _, text := range []string{
		"echo ${context.name:shell} in ${state.name}",
		"${prev.output:lines:last}",
		"${context.missing?}|${context.missing:default=none}|${context.limit}",
		"$${HOME} stays",
	} {
		got, err := expr.Expand(text, s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(got)
	}
	// Output:
	// echo 'it'"'"'s me' in greet
	// last
	// |none|3
	// ${HOME} stays
}

// A reference that has neither a value nor a fallback is an error, which names it.
func ExampleTemplateError() {
	_, err := expr.Expand("send ${context.mail}", &expr.Scope{})
	var unresolved *expr.TemplateError
	if errors.As(err, &unresolved) {
		fmt.Println(unresolved.Ref, "–", unresolved)
	}
	// Output: ${context.mail} – Path 'mail' not found in context
}

// What a text refers to is known before there are any values.
func ExampleReferences() {
	for _, r := range expr.References("cp ${context.from:shell} ${captured.dir.output:trim:shell}") {
		fmt.Println(r.Namespace, r.Path, r.Filters)
	}
	// Output:
	// context from [shell]
	// captured dir.output [trim shell]
}

func ExampleExpandValue() {
	s := &expr.Scope{Context: value.NewMap("user", "ada")}
	v, err := expr.ExpandValue(value.NewMap("to", "${context.user}", "tries", int64(2)), s)
	fmt.Println(value.Text(v), err)
	// Output: {'to': 'ada', 'tries': 2} <nil>
}

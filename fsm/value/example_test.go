package value_test

import (
	"fmt"
	"math/big"

	"loops/fsm/value"
)

// A document keeps the order of its keys, and integers of any size keep all their digits.
func ExampleParseJSON() {
	v, err := value.ParseJSON([]byte(`{"score": 0.5, "id": 100000000000000000000, "passed": null}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := v.(*value.Map)
	for key, v := range m.All() {
		fmt.Printf("%s is %s (%T)\n", key, value.Text(v), v)
	}
	fmt.Println(m.Value("id").(*big.Int).BitLen(), "bits")
	_, err = value.ParseJSON([]byte(`{"score": }`))
	fmt.Println(err)
	// Output:
	// score is 0.5 (float64)
	// id is 100000000000000000000 (*big.Int)
	// passed is None (<nil>)
	// 67 bits
	// expected a value at byte 11
}

func ExampleMap() {
	m := value.NewMap("state", "fix", "step", int64(3))
	m.Set("done", false)
	m.Set("state", "check") // keeps its place
	m.Delete("step")
	fmt.Println(m.Keys(), m.Value("state"), m.Value("step"))
	// Output: [state done] check <nil>
}

func ExampleAppendJSON() {
	v := value.NewMap("name", "Zoë", "ratio", 2.0, "tags", []any{"a", nil})
	fmt.Printf("%s\n", value.AppendJSON(nil, v))
	fmt.Printf("%s\n", value.AppendJSONIndent(nil, v, "  "))
	// Output:
	// {"name": "Zo\u00eb", "ratio": 2.0, "tags": ["a", null]}
	// {
	//   "name": "Zo\u00eb",
	//   "ratio": 2.0,
	//   "tags": [
	//     "a",
	//     null
	//   ]
	// }
}

// What a template inserts for a value that is no text.
func ExampleText() {
	for _, v := range []any{"text", true, nil, int64(7), 7.0, 1e16, []any{"a", 1.5}, value.NewMap("k", "it's")} {
		fmt.Println(value.Text(v))
	}
	// Output:
	// text
	// True
	// None
	// 7
	// 7.0
	// 1e+16
	// ['a', 1.5]
	// {'k': "it's"}
}

func ExampleEqual() {
	fmt.Println(value.Equal(int64(1), 1.0), value.Equal(true, int64(1)), value.Equal("1", int64(1)))
	fmt.Println(value.Equal(value.NewMap("a", nil, "b", "x"), value.NewMap("b", "x", "a", nil)))
	// Output:
	// true true false
	// true
}

func ExampleShellQuote() {
	fmt.Println("grep", value.ShellQuote("it's here"), value.ShellQuote("a.txt"))
	// Output: grep 'it'"'"'s here' a.txt
}

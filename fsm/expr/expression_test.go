package expr

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"loops/fsm/value"
)

func scope(t testing.TB) *Scope {
	t.Helper()
	parse := func(text string) *value.Map {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v.(*value.Map)
	}
	return &Scope{
		Context: parse(
			`{"tries": 2, "limit": "3", "name": "build", "ratio": 0.5, "on": true, "list": [1, "2", 3], "none": null, "text": "3 apples"}`),
		Captured: parse(
			`{"n": {"output": " 10 ", "exit_code": 0}, "last-error": {"output": "oops"}, "j": {"json": {"items": [{"name": "a"}]}}}`),
		State: "fix", Step: 7, Visits: func() int { return 3 }, Loop: "mend", RunID: "mend-1", RunAttempt: 2,
		ElapsedMS: 1500,
		Messages:  []string{"one", "two"},
		Getenv:    func(name string) (string, bool) { return "value of " + name, name == "HOME" },
	}
}

func TestEval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`context.tries + 1`:                            `3`,
		`context.tries + context.limit`:                `5`,
		`captured.n.output * 2`:                        `20`,
		`captured.n.output > 9`:                        `true`,
		`captured.n.output == 10`:                      `true`,
		`"10" > "9"`:                                   `false`,
		`"b" > "a"`:                                    `true`,
		`6 / 2`:                                        `3`,
		`7 / 2`:                                        `3.5`,
		`7 % 4`:                                        `3`,
		`2 ** 10`:                                      `1024`,
		`-context.tries`:                               `-2`,
		`9223372036854775807 + 1`:                      `9.223372036854776e+18`,
		`"a" + "b"`:                                    `"ab"`,
		`context.name + "-" + context.tries`:           `"build-2"`,
		`context["last"] ?? "none"`:                    `"none"`,
		`captured["last-error"].output`:                `"oops"`,
		`context.on and not (context.tries > 5)`:       `true`,
		`context.tries > 1 ? "many" : "few"`:           `"many"`,
		`state.name == "fix" && state.visits == 3`:     `true`,
		`run.id + "/" + run.attempt`:                   `"mend-1/2"`,
		`run.scheduled_at ?? "by hand"`:                `"by hand"`,
		`loop.elapsed_ms >= 1500`:                      `true`,
		`env.HOME`:                                     `"value of HOME"`,
		`env.NOPE`:                                     `null`,
		`context.none == nil`:                          `true`,
		`len(messages)`:                                `2`,
		`map(context.list, # * 2)`:                     `[2,4,6]`,
		`filter(context.list, # > 1)`:                  `["2",3]`,
		`captured.j.json.items[0].name`:                `"a"`,
		`{b: 1, a: [true, nil]}`:                       `{"a":[true,null],"b":1}`,
		`fromJSON('{"x": 1}').x + 1`:                   `2`,
		`context.list == [1, 2, 3]`:                    `true`,
		`context.name matches "^b"`:                    `true`,
		`"build" in [context.name]`:                    `true`,
		`let x = context.tries; x * x`:                 `4`,
		`context?.deep?.deeper`:                        `null`,
		"context.tries +\n 1":                          `3`,
		`1..3`:                                         `[1,2,3]`,
		`split("a,b", ",")`:                            `["a","b"]`,
		`any(context.list, # == 3)`:                    `true`,
		`sum(map(context.list, int(#)))`:               `6`,
		`"${context.tries}"`:                           `"${context.tries}"`,
		`if context.on { 1 } else { 2 }`:               `1`,
		`context.tries != context.limit`:               `true`,
		`prev.output ?? "nothing"`:                     `"nothing"`,
		`1e400 > 1 ? 1 : 2`:                            `error: `,
		`context.tries > 1 and context.limit`:          `error: context.limit, which is the text "3", is not true or false (column 31)`,
		`context.text + 1 > 2`:                         `error: the text "3 apples1" and 2 cannot be compared by > (column 18)`,
		`context.text * 2`:                             `error: context.text, which is the text "3 apples", is not a number, and * needs numbers (column 14)`,
		`context.nope + 1`:                             `error: context.nope has no value, and + needs numbers; write (context.nope ?? 0) if it may be absent (column 14)`,
		`1 / 0`:                                        `error: division by zero (column 3)`,
		`10 ** 400`:                                    `error: the number is too large (column 4)`,
		`b"xy"`:                                        `error: the expression gives a []uint8, which is not a value of a loop`,
		`count(1..90000, true) + len(1..90000)`:        `error: the expression makes too many values (column 30)`,
		`repeat("x", 2000000)`:                         `error: `,
		`count(1..9000, count(1..9000, # * # > 1) >0)`: `error: `,
	} {
		t.Run(text, func(t *testing.T) {
			p, err := Compile(text)
			var got string
			if err == nil {
				var v any
				if v, err = p.Eval(scope(t)); err == nil {
					got = string(value.AppendJSON(nil, v))
					var compact any
					if json.Unmarshal([]byte(got), &compact) == nil &&
						(strings.HasPrefix(got, "[") || strings.HasPrefix(got, "{")) {
						b, _ := json.Marshal(compact)
						got = string(b)
					}
				}
			}
			if err != nil {
				got = "error: " + err.Error()
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Errorf("error is a %T", err)
				}
			}
			if got != want && !(want == "error: " && strings.HasPrefix(got, want)) {
				t.Errorf("%s\n got %s\nwant %s", text, got, want)
			}
		})
	}
}

// A user whose expression asked for a capture that was not made yet, or for the first of no items, read "cannot
// fetch output from <nil>", also behind a ??.
func TestWhatIsNotThereIsNil(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`captured.later.output == "x"`:                  `false`,
		`captured.later.output != "x"`:                  `true`,
		`captured.later == nil`:                         `true`,
		`captured.none.output ?? 1`:                     `1`,
		`captured.a.x.y ?? captured.b.z ?? 7`:           `7`,
		`(captured.none.output ?? 0) + 1`:               `1`,
		`fromJSON("[]")[0] ?? "none"`:                   `"none"`,
		`fromJSON("{}").a.b[2].c ?? "none"`:             `"none"`,
		`context.list[3] ?? "none"`:                     `"none"`,
		`context.list[-3]`:                              `1`,
		`context.list[-4]`:                              `null`,
		`context.list[captured.n.exit_code]`:            `1`,
		`context.list["1"]`:                             `"2"`,
		`split("a,b", ",")[1]`:                          `"b"`,
		`split("a,b", ",")[2]`:                          `null`,
		`(1..3)[1]`:                                     `2`,
		`groupBy(context.list, # == 1)[true]`:           `[1]`,
		`messages[9] ?? "no"`:                           `"no"`,
		`let x = captured.none; x.y ?? 4`:               `4`,
		`map(captured.j.json.items, #.nope.x ?? 0)`:     `[0]`,
		`captured.none.output contains "x"`:             `false`,
		`"x" in captured.none.output`:                   `false`,
		`captured.none.output + 1`:                      `captured.none.output has no value, and + needs numbers; write (captured.none.output ?? 0) if it may be absent (column 22)`,
		`captured.none.output + "a"`:                    `captured.none.output has no value, and + needs numbers; write (captured.none.output ?? "") if it may be absent (column 22)`,
		`1 < captured["a-b"].output`:                    `captured["a-b"].output has no value, and cannot be compared by <; write (captured["a-b"].output ?? 0) if it may be absent (column 3)`,
		`not captured.none.ok`:                          `captured.none.ok has no value, and is neither true nor false; write (captured.none.ok ?? false) if it may be absent (column 19)`,
		`-captured.none.n`:                              `captured.none.n has no value, and is not a number; write (captured.none.n ?? 0) if it may be absent (column 1)`,
		`fromJSON("[]")[0] + 1`:                         `fromJSON("[]")[0] has no value, and + needs numbers; write (fromJSON("[]")[0] ?? 0) if it may be absent (column 19)`,
		`len(captured.none.output)`:                     `captured.none.output has no value, and one is needed here; write (captured.none.output ?? …) if it may be absent (column 1)`,
		`fromJSON(captured.none.output)`:                `captured.none.output has no value, and one is needed here; write (captured.none.output ?? …) if it may be absent (column 1)`,
		`filter(captured.none.items, # > 1)`:            `captured.none.items has no value, and one is needed here; write (captured.none.items ?? …) if it may be absent (column 1)`,
		`split(captured.none.output, captured.none.by)`: `a value is needed here, and these have none: captured.none.output, captured.none.by; ?? says what holds then (column 1)`,
		`len(fromJSON("null"))`:                         `what is here has no value, and one is needed; ?? says what holds then (column 1)`,
		`captured.none.list[1:2]`:                       `captured.none.list has no value, and one is needed here; write (captured.none.list ?? …) if it may be absent (column 19)`,
		`context[context.nope]`:                         `context.nope has no value, and is no key of context, which is a mapping; write (context.nope ?? "") if it may be absent (column 8)`,
		`context.list["a"]`:                             `the text "a" is no index of context.list, which is a list (column 13)`,
		`context.tries.x`:                               `context.tries, which is 2, has no parts (column 15)`,
		`split("a,b", ",") == ["a", "b"]`:               `true`,
		`["a", "b"] != split("a,b", ",")`:               `false`,
		`1..3 == [1, 2, 3]`:                             `true`,
		`captured.n.output.count`:                       `captured.n.output, which is the text " 10 ", has no parts; fromJSON reads a text, and split divides one (column 19)`,
		`upper(context.tries)`:                          `a text is needed here, not a number (column 1)`,
		`context.list matches "a"`:                      `a text is needed here, not a list (column 14)`,
		`filter(context.tries, # > 1)`:                  `a list is needed here, not a number (column 1)`,
		`len(context.tries)`:                            `invalid argument for len (type number) (column 1)`,
		`sort([1, "a"])`:                                `1 and the text "a" cannot be compared by sort (column 1)`,
		`int("abc")`:                                    `the text "abc" is not a number (column 1)`,
		`context.list[0:"a"]`:                           `a number is needed here, not a text (column 13)`,
		`take([1], -1)`:                                 `a number of elements cannot be negative (column 1)`,
		`fromBase64("int")`:                             `illegal base64 data at input byte 0 (column 1)`,
	} {
		p, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		if v, err := p.Eval(scope(t)); err != nil {
			got = err.Error()
		} else {
			got = strings.Join(strings.Fields(string(value.AppendJSON(nil, v))), "")
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	p, err := Compile(`captured.none.ok`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.True(scope(t)); err == nil ||
		err.Error() != "the expression has no value, because captured.none.ok has none; expected true or false; "+
			"write (captured.none.ok ?? false) if it may be absent" {
		t.Errorf("a condition without a value: %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                  `the expression is empty`,
		`context.tries +`:                   `unexpected token EOF (column 15)`,
		`tries + 1`:                         `there is no name tries; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory (column 1)`,
		`captured.last-error`:               `there is no name error; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory; a name with a dash is written ["last-error"] (column 15)`,
		`captured.last-error.output == "x"`: `there is no name error; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory; a name with a dash is written ["last-error"] (column 15)`,
		`date("zz").Year() > 1`:             `there is no name date; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory (column 1)`,
		`upper(nope(1)) == "A"`:             `there is no name nope; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory (column 7)`,
		`fromJSON(1)`:                       `cannot use number as argument (type text) to call fromJSON (column 10)`,
		`int([1])`:                          `invalid argument for int (type list) (column 1)`,
		`filter([1], 5)`:                    `predicate should return truth value (got number) (column 13)`,
		`nope.a`:                            `there is no name nope; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory (column 1)`,
		`1 + nope.a`:                        `there is no name nope; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory (column 5)`,
		`now()`:                             `there is no name now; expected one of context, captured, prev, result, state, loop, run, env, secret, messages, param, item, event, memory (column 1)`,
		`env`:                               `env needs the name of a variable: env.HOME (column 1)`,
		`$env`:                              ``,
		"context.a +\n context.b *":         `unexpected token EOF (line 2, column 12)`,
	} {
		_, err := Compile(text)
		if err == nil || (err.Error() != want && want != "") {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	p, err := Compile(`context.tries + captured["x"].output + len(messages) + context[state.name]`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Refs() {
		got = append(got, r.Namespace+":"+strings.Join(r.Path, "."))
	}
	if want := "context:tries captured:x.output messages: context: state:name"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func BenchmarkEval(b *testing.B) {
	p, err := Compile(`context.tries + 1`)
	if err != nil {
		b.Fatal(err)
	}
	s := scope(b)
	for b.Loop() {
		if _, err := p.Eval(s); err != nil {
			b.Fatal(err)
		}
	}
}

// A user whose version 1.10 was 1.1, whose hash was any other hash, and whose texts were added up.
func TestTwoTextsAreTexts_35_1_12(t *testing.T) {
	for text, want := range map[string]string{
		`"1" + "." + "2"`:                         `"1.2"`,
		`"1" + "2"`:                               `"12"`,
		`"1" + 2`:                                 `3`,
		`2 + "1"`:                                 `3`,
		`"1." + 2`:                                `"1.2"`,
		`"0e123456" == "0e654321"`:                `false`,
		`"1.10" == "1.1"`:                         `false`,
		`"1.10" == 1.1`:                           `true`,
		`"1.10.0" == 1.1`:                         `false`,
		`"10" < "9"`:                              `true`,
		`"10" > 9`:                                `true`,
		`"10" - "9"`:                              `1`,
		`int("10\n") + float(captured.n.output)`:  `20.0`,
		`" 10 " == 10`:                            `true`,
		`" 10 " == "10"`:                          `false`,
		`"10\n" + 1`:                              `11`,
		`captured.n.output in [1, 10]`:            `true`,
		`captured.n.output not in [1, 10]`:        `false`,
		`context.limit in 1..3`:                   `true`,
		`"2" in ["1", "2.0"]`:                     `false`,
		`2 in ["1", "2.0"]`:                       `true`,
		`2 in {"2": true}`:                        `true`,
		`"a" in {a: 1}`:                           `true`,
		`1 in nil`:                                `false`,
		`[1] in [["1"]]`:                          `true`,
		`1 in 2`:                                  `2 is no list and no mapping, so nothing is in it (column 3)`,
		`context.list == ["1", "2", "3.0"]`:       `true`,
		`sort(["10", "9", "1.5"])`:                `["1.5","10","9"]`,
		`sort(["10", 9, "1.5"])`:                  `["1.5",9,"10"]`,
		`sort(["10", 9, "1.5"], "desc")`:          `["10",9,"1.5"]`,
		`sort([1, 2], "up")`:                      `sort takes "asc" or "desc", and got the text "up" (column 1)`,
		`sortBy([{n: "10"}, {n: 9}], #.n)`:        `[{"n":9},{"n":"10"}]`,
		`sortBy([{n: 9}, {n: "10"}], .n, "desc")`: `[{"n":"10"},{"n":9}]`,
		`uniq(["1.1", "1.10", 1.1, "b"])`:         `["1.1","1.10","b"]`,
		`uniq([1, "1", 1.0])`:                     `[1]`,
		`max("10", "9")`:                          `"9"`,
		`max("10", 9)`:                            `"10"`,
		`min([3, "2", [1]])`:                      `1`,
		`max([])`:                                 `null`,
		`max(1, "a")`:                             `1 and the text "a" cannot be compared by max (column 1)`,
		`sum(context.list)`:                       `6`,
		`sum(["1", "2"])`:                         `3`,
		`sum(["a"])`:                              `the text "a" is not a number, and sum needs numbers (column 1)`,
		`sum([{n: "2"}, {n: 3}], #.n)`:            `5`,
		`mean(context.list)`:                      `2.0`,
		`median("1", 2)`:                          `1.5`,
		`filter(context.list, # in ["2", 3])`:     `["2",3]`,
		`any(context.list, # in [2]) and 1 in context.list`: `true`,
	} {
		p, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		if v, err := p.Eval(scope(t)); err != nil {
			got = err.Error()
		} else {
			got = strings.Join(strings.Fields(string(value.AppendJSON(nil, v))), "")
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

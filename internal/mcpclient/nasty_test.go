package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// prelude are the words that the servers below are written with, in bash.
const prelude = `
echo $$ > pid
next() { IFS= read -r line || exit 0; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}; return 0; }
ok() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
err() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
info='"capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}'
hello() { next; ok "{\"protocolVersion\":\"${1:-2024-11-05}\",$info"; next; next; }
tools() { next; ok '{"tools":[{"name":"tool","inputSchema":{"type":"object"}},{"name":"other","inputSchema":{"type":"object"}}]}'; }
`

const hi = `{"content":[{"type":"text","text":"hi"}]}`

// Servers written by hand: old, odd and broken ones. Each must lead to a clear end, at once.
func TestNastyServers(t *testing.T) {
	answer := `ok '` + hi + `'`
	for _, c := range []struct {
		name, script string
		result       string
		code         int
		text         string
	}{
		{"first protocol", "hello 2024-11-05; " + answer, hi, 0, ""},
		{"second protocol", "hello 2025-03-26; " + answer, hi, 0, ""},
		{"third protocol", "hello 2025-06-18; " + answer, hi, 0, ""},
		{"fourth protocol", "hello 2025-11-25; " + answer, hi, 0, ""},
		{
			"unknown protocol", "hello 1999-01-01; " + answer, "", 1,
			`server "s": initialize: unsupported protocol version: "1999-01-01"`,
		},
		{
			"protocol without initialize",
			`next; case $line in *'"initialize"'*) err -32601 'no initialize here'; next;; esac
			ok '{"supportedVersions":["2026-07-28"],'"$info"; next; ` + answer, hi, 0, "",
		},
		{
			"neither", "for i in 1 2; do next; err -32601 'what?'; done", "", 1,
			`server "s" refused initialize: "what?" (JSON-RPC error -32601)`,
		},
		{
			"refuses", "next; err -32000 'not today'", "", 1,
			`server "s" refused initialize: "not today" (JSON-RPC error -32000)`,
		},
		{
			"refuses at length", `next; err -32000 "ä$(printf '%500s' '' | tr ' ' x)"`, "", 1,
			`server "s" refused initialize: "ä` + strings.Repeat("x", 398) + `…" (JSON-RPC error -32000)`,
		},
		{
			"refuses without an id", "next; id=null; err -32700 'parse error'", "", 1,
			`server "s" refused initialize: "parse error" (JSON-RPC error -32700)`,
		},

		{
			"everything is kept",
			`hello; ok ' { "content" : [ {"type":"text","text":"","x":1.50} ], "a\u003c<":"b", "n":12345678901234567890 } '`,
			`{"content":[{"type":"text","text":"","x":1.50}],"a\u003c<":"b","n":12345678901234567890}`, 0, "",
		},
		{"empty result", "hello; ok '{}'", "{}", 0, ""},
		{
			"answers something else than a response",
			`hello; printf '{"jsonrpc":"2.0","id":%s,"error":"boom"}\n' $id; exec sleep 3600`, "", 1,
			`server "s" cannot be understood: its answer is no JSON-RPC response: "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":\"boom\"}"`,
		},
		{
			"answers without a version", `hello; printf '{"id":%s,"result":{}}\n' $id; exec sleep 3600`, "", 1,
			`server "s" cannot be understood: its answer is no JSON-RPC response: "{\"id\":2,\"result\":{}}"`,
		},
		{
			"answers with an error code that is a word",
			`hello; printf '{"jsonrpc":"2.0","id":%s,"error":{"code":"E1","message":"boom"}}\n' $id; exec sleep 3600`,
			"", 1,
			`server "s" cannot be understood: its answer is no JSON-RPC response: "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":\"E1\",\"message\":\"boom\"}}"`,
		},
		{
			"answers with nothing", `hello; printf '{"jsonrpc":"2.0","id":%s}\n' $id; exec sleep 3600`, "", 1,
			`server "s" cannot be understood: its answer is no JSON-RPC response: "{\"jsonrpc\":\"2.0\",\"id\":2}"`,
		},
		{
			"greets with nonsense", `next; ok 5; exec sleep 3600`, "", 1,
			`server "s": initialize: calling "initialize": json: cannot unmarshal "5" into Go value of type mcp.InitializeResult`,
		},
		{"no object", "hello; ok '[1,2]'", "", 1, `server "s" answered the call of "tool" with no object: "[1,2]"`},
		{"null", "hello; ok null", "", 1, `server "s" answered the call of "tool" with no object: "null"`},
		{
			"wants input", `hello; ok '{"resultType":"input_required","inputRequests":{}}'`, "", 1,
			`tool "tool" of server "s" requests input in a non-interactive run (result type "input_required")`,
		},
		{
			"error of the tool", `hello; ok '{"isError":true,"content":[{"type":"text","text":"oh no"}]}'; tools`,
			`{"isError":true,"content":[{"type":"text","text":"oh no"}]}`, 1,
			`tool "tool" of server "s" reports an error: "oh no"`,
		},
		{
			"error without a word", `hello; ok '{"isError":true}'; tools`, `{"isError":true}`, 1,
			`tool "tool" of server "s" reports an error`,
		},
		{
			"error, then dead", `hello; ok '{"isError":true}'; exit 1`, `{"isError":true}`, 1,
			`tool "tool" of server "s" reports an error`,
		},
		{
			"error of the protocol", "hello; err -32602 'x is missing'; tools",
			`{"content":[{"text":"x is missing","type":"text"}],"isError":true}`, 1,
			`server "s" refused the call of "tool": "x is missing" (JSON-RPC error -32602)`,
		},
		{
			"knows no tools", "hello; err -32601 'Method not found'", "", 127,
			`server "s" refused the call of "tool": "Method not found" (JSON-RPC error -32601)`,
		},
		{
			"lacks the method",
			"hello; err -32601 'no such tool'; next; ok '{\"tools\":[{\"name\":\"tools\",\"inputSchema\":{}}]}'", "",
			127, `server "s" has no tool "tool"; did you mean "tools"?; it has: tools`,
		},
		{
			"lists others", `hello; ok '{"isError":true}'; next; ok '{"tools":[{"name":"tol","inputSchema":{}}]}'`, "",
			127, `server "s" has no tool "tool"; did you mean "tol"?; it has: tol`,
		},
		{
			"lists none", `hello; err -32602 unknown; next; ok '{"tools":[]}'`, "", 127,
			`server "s" has no tool "tool"; it has none`,
		},
		{
			"lists on pages",
			`hello; err -32602 x; next; ok '{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"2"}'; next; ok '{"tools":[{"name":"tool","inputSchema":{}}]}'`,
			`{"content":[{"text":"x","type":"text"}],"isError":true}`, 1,
			`server "s" refused the call of "tool": "x" (JSON-RPC error -32602)`,
		},

		{
			"dies at once", "echo oops >&2; exit 3", "", 1,
			`server "s" ended with exit code 3 before it answered initialize`,
		},
		{"is killed", "kill -9 $$", "", 1, `server "s" was ended by signal 9 (killed) before it answered initialize`},
		{
			"dies during the call", "hello; exit 4", "", 1,
			`server "s" ended with exit code 4 before it answered tools/call`,
		},
		{
			"ends well without an answer", "hello; exit 0", "", 1,
			`server "s" ended with exit code 0 before it answered tools/call`,
		},
		{
			"closes its output", "hello; exec >&-; while read -r x; do :; done", "", 1,
			`server "s" closed its output before it answered tools/call`,
		},
		{"answers and is gone", "hello; " + answer + "; exit 1", hi, 0, ""},
		{
			"last line without an end", `hello; printf '{"jsonrpc":"2.0","id":%s,"result":` + hi + `}' $id; exit`, hi,
			0,
			"",
		},

		{
			"greetings", "echo 'Server v1 ready'; echo; hello; echo '{\"level\":\"info\"}'; echo '['; " + answer, hi, 0,
			"",
		},
		{
			"nothing but greetings", "echo 'Starting up'; echo b; exit 1", "", 1,
			`server "s" ended with exit code 1 before it answered initialize; it printed 2 lines that are no JSON-RPC messages, the first: "Starting up"`,
		},
		{
			"binary", `printf '\0\377\n'; exit 1`, "", 1,
			`server "s" ended with exit code 1 before it answered initialize; it printed 1 lines that are no JSON-RPC messages, the first: "\x00\xff"`,
		},
		{"carriage returns", `hello; printf '{"jsonrpc":"2.0","id":%s,"result":` + hi + `}\r\n' $id`, hi, 0, ""},
		{
			"a batch",
			`hello 2025-03-26; printf '[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":%s,"result":` +
				hi + `}]\n' $id`, hi, 0, "",
		},
		{
			"answers to others", `hello; mine=$id; id=999; ok '{"no":1}'; id='"x"'; ok '{"no":2}'; id=$mine; ` + answer,
			hi, 0, "",
		},
		{
			"answers others only", `hello; id=999; ok '{"no":1}'; exit 6`, "", 1,
			`server "s" ended with exit code 6 before it answered tools/call`,
		},
		{
			"asks first",
			`hello; mine=$id; echo '{"jsonrpc":"2.0","id":7,"method":"ping"}'; next; [[ $line == *'"id":7'*'"result"'* ]] || exit 8
			echo '{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}'; next; [[ $line == *'"error"'* ]] || exit 9
			id=$mine; ` + answer, hi, 0, "",
		},
		{
			"a message without end", "hello; head -c 34000000 /dev/zero; exec sleep 3600", "", 1,
			`server "s" cannot be understood: it printed a message of more than 32 MiB`,
		},
		{"does not end by itself", "hello; " + answer + "; exec sleep 3600", hi, 0, ""},
		{"does not end at TERM", "trap '' TERM; hello; " + answer + "; exec sleep 3600", hi, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{"mcpServers": {"s": `+entryOf("bash", "-c", prelude+c.script)+`}}`)
			if strings.HasPrefix(c.script, "trap '' TERM") {
				s.call.limits.term = shortLimit
			}
			if strings.Contains(c.text, "closed its output") {
				s.call.limits.death = shortLimit
			}
			result, err := s.do(soon(t), "s/tool", "")
			s.check(result, err, c.result, c.code, c.text)
		})
	}
}

// The result of a call that does not have the form of one is an error that says what is wrong, never a success.
func TestMalformedResults(t *testing.T) {
	for _, c := range []struct{ name, result, what string }{
		{"content is a number", `{"content":5}`, "content is the number 5, expected a list"},
		{"content is a text", `{"content":"hi"}`, `content is the string "hi", expected a list`},
		{"content is an object", `{"content":{"type":"text","text":"hi"}}`, "content is an object, expected a list"},
		{"content of texts", `{"content":["hi"]}`, `block 1 of its content: it is the string "hi", expected an object`},
		{"content of nothing", `{"content":[null]}`, "block 1 of its content: it is null, expected an object"},
		{
			"a block without a type", `{"content":[{"type":"text","text":"a"},{"text":"hi"}]}`,
			"block 2 of its content: type is missing",
		},
		{
			"a type that is no text", `{"content":[{"type":1}]}`,
			"block 1 of its content: type is the number 1, expected a string",
		},
		{
			"a type nobody knows", `{"content":[{"type":"hologram"}]}`,
			`block 1 of its content: the type "hologram" is not known; expected text, image, audio, resource_link or resource`,
		},
		{
			"a text that is a number", `{"content":[{"type":"text","text":5}]}`,
			"block 1 of its content: text is the number 5, expected a string",
		},
		{
			"a text that is null", `{"content":[{"type":"text","text":null}]}`,
			"block 1 of its content: text is null, expected a string",
		},
		{
			"a text that is missing", `{"content":[{"type":"text","Text":"hi"}]}`,
			"block 1 of its content: text is missing",
		},
		{
			"an image without a type", `{"content":[{"type":"image","data":"AA=="}]}`,
			"block 1 of its content: mimeType is missing",
		},
		{
			"a link without a name", `{"content":[{"type":"resource_link","uri":"file:///a"}]}`,
			"block 1 of its content: name is missing",
		},
		{
			"a resource that is missing", `{"content":[{"type":"resource"}]}`,
			"block 1 of its content: resource is missing",
		},
		{
			"a resource that is none", `{"content":[{"type":"resource","resource":[]}]}`,
			"block 1 of its content: resource: it is a list, expected an object",
		},
		{
			"a resource without an address", `{"content":[{"type":"resource","resource":{"text":"x"}}]}`,
			"block 1 of its content: resource: uri is missing",
		},
		{
			"a resource without contents", `{"content":[{"type":"resource","resource":{"uri":"file:///a"}}]}`,
			"block 1 of its content: resource: text is missing",
		},
		{
			"isError is a text", `{"isError":"true","content":[]}`,
			`isError is the string "true", expected true or false`,
		},
		{"isError is a number", `{"isError":1}`, "isError is the number 1, expected true or false"},
		{
			"structuredContent is a list", `{"content":[],"structuredContent":[1]}`,
			"structuredContent is a list, expected an object",
		},
		{
			"structuredContent is true", `{"content":[],"structuredContent":true}`,
			"structuredContent is true, expected an object",
		},
		{"_meta is a text", `{"content":[],"_meta":"x"}`, `_meta is the string "x", expected an object`},
		{"resultType is a number", `{"resultType":3}`, "resultType is the number 3, expected a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{"mcpServers": {"s": `+entryOf("bash", "-c", prelude+"hello; ok '"+c.result+"'")+`}}`)
			result, err := s.do(soon(t), "s/tool", "")
			s.check(result, err, "", ExitToolError,
				`server "s" answered the call of "tool" with a malformed result: `+c.what+"; it is "+
					quoteLong(c.result))
		})
	}
}

// What servers leave out, or write null for, is no mistake; neither is what the protocol does not know yet.
func TestGoodResults(t *testing.T) {
	t.Parallel()
	for _, result := range []string{
		`{}`, `{"content":[]}`, `{"content":null,"isError":null,"structuredContent":null,"_meta":null}`,
		`{"resultType":"complete","content":[]}`,
		`{"content":[{"type":"text","text":"","annotations":{"priority":1}}],"isError":false,"structuredContent":{"a":[]},"_meta":{},"later":7,"IsError":5}`,
		`{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"}]}`,
		`{"content":[{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"resource","resource":{"uri":"file:///a","text":"x"}},{"type":"resource","resource":{"uri":"file:///a","blob":"AA=="}}]}`,
	} {
		if r, err := parseResult([]byte(result)); err != nil || r.isError {
			t.Errorf("%s: %+v, %v", result, r, err)
		}
	}
}

// FuzzResult: whatever a server answers, it has the form of a result or leads to an error of one line.
func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"content":5}`, `{"content":[{"type":"text","text":"hi"}],"isError":true}`,
		`{"content":[{"type":"resource","resource":{"uri":"a","blob":"AA=="}}]}`,
		`{"structuredContent":{},"_meta":null}`, `[1]`, `null`, `{"content":[[]]}`, "{\"content\":\"\xff\n\"}",
		`{"content":[],"content":5}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseResult(b)
		if err != nil {
			if text := err.Error(); text == "" || len(text) > 1000 || strings.Contains(text, "\n") {
				t.Errorf("%q: %q", b, text)
			}
			return
		}
		var fields map[string]any
		if json.Unmarshal(b, &fields) != nil || fields == nil {
			t.Fatalf("%q is no object", b)
		}
		if list, ok := fields["content"].([]any); fields["content"] != nil && !ok {
			t.Errorf("%q: the content %v counts as a list", b, fields["content"])
		} else {
			for _, block := range list {
				if o, ok := block.(map[string]any); !ok || blocks[fmt.Sprint(o["type"])] == nil &&
					o["type"] != "resource" {
					t.Errorf("%q: %v counts as a block", b, block)
				}
			}
		}
		if said, ok := fields["isError"].(bool); r.isError != (ok && said) || fields["isError"] != nil && !ok {
			t.Errorf("%q: isError is %v", b, r.isError)
		}
	})
}

// A server that does not answer is ended when the caller gives up, and the error says how far it came.
func TestNoReply(t *testing.T) {
	// More than a pipe holds, so that what was printed before it was read. It is nothing to the caller.
	const read = `printf '%200000s\n' ""; `
	for _, c := range []struct{ name, script, arguments, text string }{
		{
			"to initialize", "touch asked; exec sleep 3600", "",
			`server "s" has not answered initialize: the test gave up`,
		},
		{
			"to the call", "hello; touch asked; exec sleep 3600", "",
			`server "s" has not answered tools/call: the test gave up`,
		},
		{
			"asked for its tools", `hello; ok '{"isError":true}'; next; touch asked; exec sleep 3600`, "",
			`tool "tool" of server "s" reports an error`,
		},
		{
			"stops to read", "next; ok \"{\\\"protocolVersion\\\":\\\"2025-06-18\\\",$info\"; next; IFS= read -r -N " +
				"100 part; touch asked; exec sleep 3600", strings.Repeat("x", 1<<20),
			`server "s" has not answered tools/call: the test gave up`,
		},
		{
			"ignores TERM", "trap '' TERM; hello; touch asked; exec sleep 3600", "",
			`server "s" has not answered tools/call: the test gave up`,
		},
		{
			"prints other things", "echo Hello there; " + read + "touch asked; exec sleep 3600", "",
			`server "s" has not answered initialize: the test gave up; it printed 1 lines that are no JSON-RPC messages, the first: "Hello there"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, `{"mcpServers": {"s": `+entryOf("bash", "-c", prelude+c.script)+`}}`)
			if strings.HasPrefix(c.script, "trap '' TERM") {
				s.call.limits.term = shortLimit
			}
			ctx, cancel := context.WithCancelCause(soon(t))
			go func() {
				testenv.Within(testenv.Patience, func() bool {
					_, err := os.Stat(filepath.Join(s.dir, "asked"))
					return err == nil
				})
				cancel(errors.New("the test gave up"))
			}()
			result, err := s.do(ctx, "s/tool", `{"x":"`+c.arguments+`"}`)
			code, want := ExitTimeout, ""
			if strings.HasPrefix(c.text, "tool ") {
				code, want = ExitToolError, `{"isError":true}`
			}
			s.check(result, err, want, code, c.text)
		})
	}
}

// A server is asked to end in good order, first by the end of its input.
func TestServersEndInGoodOrder(t *testing.T) {
	for _, c := range []struct{ name, script, left string }{
		{"at the end of its input", "trap 'echo TERM >> left' TERM; hello; ok {}; while next; do :; done", "input\n"},
		{"at TERM", "sleep 3600 & trap 'echo TERM >> left; kill $!; exit' TERM; hello; ok {}; wait", "TERM\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			script := strings.Replace(prelude, "|| exit 0", "|| { echo input >> left; exit 0; }", 1) + c.script
			s := newScene(t, `{"mcpServers": {"s": `+entryOf("bash", "-c", script)+`}}`)
			if c.left == "input\n" {
				s.call.limits = patient(longLimit, longLimit)
			}
			result, err := s.do(soon(t), "s/tool", "")
			s.check(result, err, "{}", 0, "")
			if b, err := os.ReadFile(filepath.Join(s.dir, "left")); err != nil || string(b) != c.left {
				t.Errorf("it noticed %q, %v; want %q", b, err, c.left)
			}
		})
	}
}

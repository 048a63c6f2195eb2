package mcpclient

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Every mistake in .mcp.json, and every way not to find a server, has its message.
func TestConfigurationProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config, tool string
		code               int
		text               string
	}{
		{"no slash", `{}`, "tool", 2, `"tool" is not the name of a tool; expected SERVER/TOOL`},
		{"no server", `{}`, "/tool", 2, `"/tool" is not the name of a tool; expected SERVER/TOOL`},
		{"no tool", `{}`, "s/", 2, `"s/" is not the name of a tool; expected SERVER/TOOL`},
		{"nothing", ``, "s/t", 2, `DIR/.mcp.json:1:1: not JSON: unexpected end of JSON input`},
		{
			"no JSON", "{\n  \"mcpServers\": {\n    nope\n}}", "s/t", 2,
			`DIR/.mcp.json:3:5: not JSON: invalid character 'n' looking for beginning of object key string`,
		},
		{
			"comma at the end", "{\"mcpServers\": {\"s\": {\"command\": \"x\",}}}", "s/t", 2,
			`DIR/.mcp.json:1:38: not JSON: invalid character '}' looking for beginning of object key string`,
		},
		{"a list", `[1]`, "s/t", 2, `DIR/.mcp.json:1:1: this is a value of type array; expected an object`},
		{
			"servers are a list", `{"mcpServers": []}`, "s/t", 2,
			`DIR/.mcp.json:1:16: "mcpServers" is a value of type array; expected an object`,
		},
		{"no servers", `{"servers": {}}`, "s/t", 2, `DIR/.mcp.json has no "mcpServers"; expected: ` + example},
		{"empty", `{"mcpServers": {}}`, "s/t", 127, `DIR/.mcp.json names no server "s"; it has none`},
		{
			"another", `{"mcpServers": {"github": {}, "git": {}, "db": {}}}`, "gihub/t", 127,
			`DIR/.mcp.json names no server "gihub"; did you mean "github"?; it has: db, git, github`,
		},
		{
			"many",
			`{"mcpServers": {"a1":{},"a2":{},"a3":{},"a4":{},"a5":{},"a6":{},"a7":{},"a8":{},"a9":{},"b1":{},"b2":{},"b3":{}}}`,
			"zzzz/t", 127,
			`DIR/.mcp.json names no server "zzzz"; it has: a1, a2, a3, a4, a5, a6, a7, a8, a9, b1, and 2 more`,
		},
		{
			"no object", `{"mcpServers": {"s": "x"}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": this is a value of type string; expected an object`,
		},
		{"null", `{"mcpServers": {"s": null}}`, "s/t", 2, `DIR/.mcp.json: server "s": it has no "command"`},
		{
			"no command", `{"mcpServers": {"s": {"args": ["x"]}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": it has no "command"`,
		},
		{
			"command with arguments", `{"mcpServers": {"s": {"command": ["npx", "x"]}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": "command" is a value of type array; expected a string`,
		},
		{
			"arguments in one", `{"mcpServers": {"s": {"command": "x", "args": "a b"}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": "args" is a value of type string; expected a list of strings`,
		},
		{
			"a number as argument", `{"mcpServers": {"s": {"command": "x", "args": [1]}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": "args" holds a value of type number; expected strings only`,
		},
		{
			"a number in env", `{"mcpServers": {"s": {"command": "x", "env": {"PORT": 1}}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": "env" holds a value of type number; expected strings only`,
		},
		{
			"a bad name in env", `{"mcpServers": {"s": {"command": "x", "env": {"A=B": "x"}}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": "A=B" cannot be the name of an environment variable`,
		},
		{
			"http", `{"mcpServers": {"s": {"type": "http", "url": "https://example.org"}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": servers of type "http" are not supported, only those that are started with a command (type stdio)`,
		},
		{
			"an address alone", `{"mcpServers": {"s": {"url": "https://example.org"}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": servers of type "http" are not supported, only those that are started with a command (type stdio)`,
		},
		{
			"unknown type", `{"mcpServers": {"s": {"type": "pipe", "command": "x"}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": servers of type "pipe" are not supported, only those that are started with a command (type stdio)`,
		},
		{
			"variable not set",
			`{"mcpServers": {"s": {"command": "x", "args": ["${A:-b}", "${NO_TOKEN}", "${OTHER}"]}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": ${NO_TOKEN} is not set in the environment: set it, or write ${NO_TOKEN:-DEFAULT}`,
		},
		{
			"variable not set in env", `{"mcpServers": {"s": {"command": "x", "env": {"T": "${NO_TOKEN}"}}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": ${NO_TOKEN} is not set in the environment: set it, or write ${NO_TOKEN:-DEFAULT}`,
		},
		{
			"no directory", `{"mcpServers": {"s": {"command": "x", "cwd": "gone"}}}`, "s/t", 2,
			`DIR/.mcp.json: server "s": its cwd DIR/gone is not a directory`,
		},
		{
			"command not found", `{"mcpServers": {"s": {"command": "no-such-program"}}}`, "s/t", 127,
			`DIR/.mcp.json: server "s": its command "no-such-program" was not found in PATH: install it, or write its full path`,
		},
		{
			"command not in its PATH", `{"mcpServers": {"s": {"command": "bash", "env": {"PATH": "/nowhere"}}}}`, "s/t",
			127,
			`DIR/.mcp.json: server "s": its command "bash" was not found in PATH: install it, or write its full path`,
		},
		{
			"file not found", `{"mcpServers": {"s": {"command": "./gone"}}}`, "s/t", 127,
			`DIR/.mcp.json: server "s": its command DIR/gone cannot be run: no such file or directory`,
		},
		{
			"a directory", `{"mcpServers": {"s": {"command": "./."}}}`, "s/t", 127,
			`DIR/.mcp.json: server "s": its command DIR cannot be run: it is a directory`,
		},
		{
			"not executable", `{"mcpServers": {"s": {"command": "./.mcp.json"}}}`, "s/t", 127,
			`DIR/.mcp.json: server "s": its command DIR/.mcp.json cannot be run: it is not executable`,
		},
		{
			"no interpreter", `{"mcpServers": {"s": {"command": "./script"}}}`, "s/t", 127,
			`server "s" cannot be started: DIR/script: the program its first line names is gone`,
		},
		{
			"no program", `{"mcpServers": {"s": {"command": "./text"}}}`, "s/t", 127,
			`server "s" cannot be started: DIR/text: exec format error`,
		},
		{
			"zero byte", `{"mcpServers": {"s": {"command": "bash", "args": ["a\u0000b"]}}}`, "s/t", 127,
			`server "s" cannot be started: BASH: invalid argument`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, c.config)
			for name, text := range map[string]string{"script": "#!/no/such/shell\n", "text": "\x00"} {
				s.write(name, text)
				if err := os.Chmod(filepath.Join(s.dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			bash, err := program("bash", os.Getenv("PATH"), "")
			if err != nil {
				t.Fatal(err)
			}
			result, failed := s.do(context.Background(), c.tool, "")
			s.check(result, failed, "", c.code, strings.ReplaceAll(c.text, "BASH", bash))
		})
	}
}

func TestConfigurationThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(path string) error
		code  int
		text  string
		named bool
	}{
		{
			"gone", os.Remove, 127, "there is no DIR/.mcp.json, so no MCP server is known; expected in it: " + example,
			false,
		},
		{
			"directory", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, 2,
			"DIR/.mcp.json is not a regular file", true,
		},
		{
			"FIFO", func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }, 2,
			"DIR/.mcp.json is not a regular file", true,
		},
		{
			"long", func(p string) error { return os.Truncate(p, configMost+1) }, 2,
			"DIR/.mcp.json has 4194305 bytes, which is too long for a list of servers", true,
		},
		{
			"broken", func(p string) error { return os.Truncate(p, 1) }, 2,
			"DIR/.mcp.json:1:1: not JSON: unexpected end of JSON input", true,
		},
		{
			"circle of links", func(p string) error { return errors.Join(os.Remove(p), os.Symlink(p, p)) }, 2,
			"DIR/.mcp.json cannot be read: too many levels of symbolic links", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, `{"mcpServers": {"s": {"command": "bash"}}}`)
			if err := c.spoil(s.call.Config); err != nil {
				t.Fatal(err)
			}
			result, failed := s.do(context.Background(), "s/t", "")
			s.check(result, failed, "", c.code, c.text)
			if Names(s.call.Config, "s/t") != c.named {
				t.Errorf("it may name the server: %v", !c.named)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := newScene(t, "\xef\xbb\xbf"+`{"mcpServers": {"a": {}, "a/b": {}, "com.example/x": null, "": {}}, "other": 1}`)
	for tool, want := range map[string]bool{
		"a/x": true, "a/b/c": true, "a/c/d": true, "com.example/x/y": true,
		"com.example/z": false, "b/x": false, "a": false, "": false, "/x": false,
	} {
		if got := Names(s.call.Config, tool); got != want {
			t.Errorf("%q: %v", tool, got)
		}
	}
	servers, err := readConfig(s.call.Config)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"a/x": {"a", "x"}, "a/b/c": {"a/b", "c"}, "a/c/d": {"a", "c/d"},
		"com.example/x/y/z": {"com.example/x", "y/z"},
	} {
		if server, tool, _ := split(servers, name); server != want[0] || tool != want[1] {
			t.Errorf("%s: %s and %s", name, server, tool)
		}
	}
}

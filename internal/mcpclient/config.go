package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/internal/humanize"
)

// example shows what a configuration looks like.
const example = `{"mcpServers": {"NAME": {"command": "PROGRAM", "args": []}}}`

// configMost is how long a configuration may be.
const configMost = 4 << 20

// An entry is one server of .mcp.json.
type entry struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
}

// A target is the tool to call and how its server is started.
type target struct {
	name, tool string // server and tool
	path       string // of the program, absolute
	argv       []string
	dir        string
	env        []string
	limits     limits
}

// Names reports whether the configuration at path names the server of the tool SERVER/TOOL. One that is there
// but cannot be read may name it: Do then says what is wrong.
func Names(path, tool string) bool {
	servers, err := readConfig(path)
	if err != nil {
		var e *Error
		return !errors.As(err, &e) || e.Code != ExitNotFound
	}
	_, _, ok := split(servers, tool)
	return ok
}

// readConfig returns the servers that the configuration at path names.
func readConfig(path string) (map[string]json.RawMessage, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, failure(ExitNotFound, "there is no %s, so no MCP server is known; expected in it: %s", path,
			example)
	case err == nil && !st.Mode().IsRegular():
		return nil, failure(ExitUsage, "%s is not a regular file", path)
	case err == nil && st.Size() > configMost:
		return nil, failure(ExitUsage, "%s has %d bytes, which is too long for a list of servers", path, st.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, failure(ExitUsage, "%s cannot be read: %v", path, errors.Unwrap(err))
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	var config struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(b, &config); err != nil {
		return nil, failure(ExitUsage, "%s%s", path, jsonProblem(b, err))
	}
	if config.Servers == nil {
		return nil, failure(ExitUsage, `%s has no "mcpServers"; expected: %s`, path, example)
	}
	return config.Servers, nil
}

// jsonProblem says where text is no JSON, or not what was expected.
func jsonProblem(text []byte, err error) string {
	at, what := int64(0), err.Error()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at, what = syntax.Offset, "not JSON: "+what
	case errors.As(err, &kind):
		at, what = kind.Offset, typeProblem(kind)
	}
	before := text[:max(0, min(at-1, int64(len(text))))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf(":%d:%d: %s", line, column, what)
}

// typeProblem says what a value should have been.
func typeProblem(e *json.UnmarshalTypeError) string {
	want := map[string]string{
		"string": "a string", "slice": "a list of strings", "map": "an object",
		"struct": "an object",
	}[e.Type.Kind().String()]
	subject := "this"
	if e.Field != "" {
		subject = humanize.Quote(e.Field)
	}
	if want == "a string" && (e.Field == "args" || e.Field == "env") {
		return fmt.Sprintf("%s holds a value of type %s; expected strings only", subject, e.Value)
	}
	return fmt.Sprintf("%s is a value of type %s; expected %s", subject, e.Value, want)
}

// split finds the server of SERVER/TOOL. Names of servers may hold slashes too; the longest that fits is meant.
func split(servers map[string]json.RawMessage, name string) (server, tool string, ok bool) {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '/' {
			continue
		}
		if _, ok := servers[name[:i]]; ok {
			return name[:i], name[i+1:], true
		}
	}
	server, tool, _ = strings.Cut(name, "/")
	return server, tool, false
}

// find looks the tool's server up and makes everything ready to start it.
func (c Call) find() (target, error) {
	if server, tool, ok := strings.Cut(c.Tool, "/"); !ok || server == "" || tool == "" {
		return target{}, failure(ExitUsage, "%s is not the name of a tool; expected SERVER/TOOL",
			humanize.Quote(c.Tool))
	}
	servers, err := readConfig(c.Config)
	if err != nil {
		return target{}, err
	}
	t := target{dir: c.Dir, env: c.Env, limits: usualLimits}
	if c.limits != nil {
		t.limits = *c.limits
	}
	var ok bool
	if t.name, t.tool, ok = split(servers, c.Tool); !ok {
		return t, failure(ExitNotFound, "%s names no server %s%s", c.Config, humanize.Quote(t.name),
			instead(t.name, slices.Sorted(maps.Keys(servers))))
	}
	if t.tool == "" {
		return t, failure(ExitUsage, "%s names no tool; expected SERVER/TOOL", humanize.Quote(c.Tool))
	}
	bad := func(code int, format string, args ...any) (target, error) {
		return t, failure(code, "%s: server %s: %s", c.Config, humanize.Quote(t.name), fmt.Sprintf(format, args...))
	}
	var e entry
	if err := json.Unmarshal(servers[t.name], &e); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return bad(ExitUsage, "%s", typeProblem(kind))
		}
		return bad(ExitUsage, "%v", err)
	}
	switch {
	case e.Type != "" && e.Type != "stdio" || e.Command == "" && e.URL != "":
		return bad(ExitUsage, "servers of type %s are not supported, only those that are started with a "+
			"command (type stdio)", humanize.Quote(or(e.Type, "http")))
	case e.Command == "":
		return bad(ExitUsage, `it has no "command"`)
	}
	missing, err := e.expand(lookup(c.Env))
	if err != nil {
		return bad(ExitUsage, "%v", err)
	}
	if missing != "" {
		return bad(ExitUsage, "${%s} is not set in the environment: set it, or write ${%s:-DEFAULT}", missing, missing)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		t.env = append(t.env[:len(t.env):len(t.env)], name+"="+e.Env[name])
	}
	if e.Cwd != "" {
		if t.dir = e.Cwd; !filepath.IsAbs(t.dir) {
			t.dir = filepath.Join(filepath.Dir(c.Config), t.dir)
		}
		if st, err := os.Stat(t.dir); err != nil || !st.IsDir() {
			return bad(ExitUsage, "its cwd %s is not a directory", t.dir)
		}
	}
	search, _ := lookup(t.env)("PATH")
	if t.path, err = program(e.Command, search, t.dir); err != nil {
		return bad(ExitNotFound, "%v", err)
	}
	t.argv = append([]string{e.Command}, e.Args...)
	return t, nil
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/internal/agent"
	"loops/internal/testenv"
)

// TestParse reads testdata/*.yaml; those called user... are files of a person. What comes out is in the .out
// beside each: every mistake, and what could be made out all the same.
func TestParse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			c := &Config{}
			l := layer{
				file: filepath.Base(file), user: strings.HasPrefix(filepath.Base(file), "user"),
				dir: "/project", home: "/home/me",
			}
			if wrong := l.parse(data, c); wrong != nil {
				got = wrong.Error() + "\n"
			}
			got += settings(c) + show(t, c)
			out := strings.TrimSuffix(file, ".yaml") + ".out"
			testenv.Golden(t, out, got)
		})
	}
}

// settings shows what is set, and in which line.
func settings(c *Config) string {
	var b strings.Builder
	for _, k := range Keys() {
		if at, ok := c.At[k.Name]; ok {
			fmt.Fprintf(&b, "%d: %s = %v\n", at.Line, k.Name, k.Value(c))
		}
	}
	for _, t := range c.ActionTypes {
		fmt.Fprintf(&b, "%d: action type %s: %q, a list: %t\n", c.At["action_types."+t.Name].Line, t.Name, t.By, t.List)
	}
	for i, n := range c.Notify {
		fmt.Fprintf(&b, "%d: notify %+v\n", c.At[fmt.Sprintf("notify.%d", i)].Line, n)
	}
	return b.String()
}

// show starts every host in thought and hands it a line.
func show(t *testing.T, c *Config) string {
	t.Helper()
	var b strings.Builder
	for _, h := range c.Hosts {
		fmt.Fprintf(&b, "%s: %s, stopped by %s\n", h.Name, h.Program,
			map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGINT: "INT"}[h.Stop])
		for _, r := range []agent.Request{
			{Text: "hi", Scratch: t.TempDir()},
			{Text: "hi", Model: "m", Skip: true, Session: "s", Judge: true, Schema: "{}", Scratch: t.TempDir()},
		} {
			cmd, err := h.Command(r)
			if err != nil {
				fmt.Fprintf(&b, "  error %v\n", err)
				continue
			}
			fmt.Fprintf(&b, "  %q %q", cmd.Args, cmd.Stdin)
			for _, e := range cmd.Env {
				if strings.HasPrefix(e, "MINE") {
					fmt.Fprintf(&b, " %s", e)
				}
			}
			fmt.Fprintln(&b)
		}
		s := h.Stream(agent.Request{})
		text, known := s.Line([]byte(`{"type":"message","text":"hello","id":"s-1","tokens":{"in":3,"out":4}}`))
		o := s.End(agent.Exit{})
		fmt.Fprintf(&b, "  %q %t %q %+v %s\n", text, known, o.Session, o.Usage, o.Coverage)
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, Name)
	load := func(file string) error { _, err := Layers{Project: file}.Load(); return err }
	if c, err := (Layers{Project: file, User: filepath.Join(file, "x"), Reference: file + "y"}).Load(); err != nil ||
		len(c.At) != 0 {
		t.Errorf("files that are not there: %v, %v", c, err)
	}
	if err := load(dir); err == nil || err.Error() != dir+": it cannot be read: is a directory" {
		t.Errorf("a folder is read as a file: %v", err)
	}
	for text, want := range map[string]string{
		"hosts: {a: {program: \xff}}":    "the file is not UTF-8 text",
		"# " + strings.Repeat("x", most): "the file has more than 1 MiB",
	} {
		write(t, file, text)
		if err := load(file); err == nil || err.Error() != file+": "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLayers reads three files, of which each overrides the one before.
func TestLayers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := Layers{
		Reference: filepath.Join(dir, "r"), User: filepath.Join(dir, "u"), Project: filepath.Join(dir, "p"),
		Dir: dir,
	}
	write(t, l.Reference,
		`{"loops": {"queue_wait_timeout_seconds": 90, "run_defaults": {"delay": 0.5, "clear": true}}, "orchestration": {"host_cli": "codex"}}`)
	write(t, l.User, "run: {delay: 2s, model: small, budget: {cost: 5, steps: 9}}\nnotify: [{desktop: true}]\n"+
		"hosts:\n  a: {program: a}\n  b: {program: b}\ncolor: sometimes\n")
	write(t, l.Project, "run: {model: large, budget: {cost: none}}\nnotify: [{command: tell}]\nhosts:\n"+
		"  c: {program: c}\n  a: {program: z}\nstore: [x]\n")
	c, err := l.Load()
	if want := l.User + ":6:8: color must be one of auto, always, never, found \"sometimes\"\n" + l.Project +
		":6:8: store must be a text, found a list"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	for name, want := range map[string]string{
		"queue.timeout": "1m30s r:0", "run.delay": "2s u:1", "run.host": "codex r:0", "run.model": "large p:1",
		"run.budget.cost": "<nil> p:1", "run.budget.steps": "9 u:1",
	} {
		for _, k := range Keys() {
			if at := c.At[name]; k.Name == name &&
				fmt.Sprintf("%v %s:%d", k.Value(c), filepath.Base(at.File), at.Line) != want {
				t.Errorf("%s is %v of %v, want %s", name, k.Value(c), at, want)
			}
		}
	}
	programs := ""
	for _, h := range c.Hosts {
		programs += fmt.Sprintf("%s=%s %s:%d ", h.Name, h.Program, filepath.Base(c.At["hosts."+h.Name].File),
			c.At["hosts."+h.Name].Line)
	}
	if want := "a=z p:5 b=b u:5 c=c p:4 "; programs != want {
		t.Errorf("hosts are %s, want %s", programs, want)
	}
	if len(c.Notify) != 2 || !c.Notify[0].Desktop || c.Notify[1].Command != "tell" ||
		filepath.Base(c.At["notify.1"].File) != "p" {
		t.Errorf("notify is %+v at %v", c.Notify, c.At)
	}
	if wrong := err.(Problems); len(wrong.About("store")) != 1 || len(wrong.About("run")) != 0 ||
		len(wrong.About("color")) != 1 {
		t.Errorf("the problems are about %q and %q", wrong[0].Key, wrong[1].Key)
	}
}

// A file that cannot be parsed may be about any key whose name is in it.
func TestAbout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, Name)
	for text, about := range map[string]bool{
		"store: [dir": true, "color: [auto": false, "stroe: dir": true, "colour: auto": false,
		"store: dir\nstore: dir": true, "run: {host: [a]}": false,
	} {
		write(t, file, text)
		_, err := Layers{Project: file}.Load()
		if wrong, ok := err.(Problems); !ok || (len(wrong.About("store")) > 0) != about {
			t.Errorf("%q: %v, about the store: %v", text, err, !about)
		}
	}
	_, err := Layers{User: dir}.Load()
	if wrong, ok := err.(Problems); !ok || len(wrong.About("store")) == 0 {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

func TestReference(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := ReferenceFile(dir)
	write(t, filepath.Join(dir, "automation", "x.yaml"), "")
	for _, c := range []struct{ text, set, warning string }{
		{``, "", ""},
		{`{}`, "", ""},
		{
			`{"loops": {"loops_dir": "automation", "queue_wait_timeout_seconds": 3600}}`,
			"catalog=" + filepath.Join(dir, "automation") + " queue.timeout=1h", "",
		},
		{`{"loops": {"loops_dir": ".loops/"}, "project": {"name": 3}, "issues": []}`, "", ""},
		{`{"loops": {"loops_dir": "gone"}, "orchestration": {"host_cli": "claude-code"}}`, "run.host=claude-code", ""},
		{`{"orchestration": {"host_cli": "omp"}, "loops": 3}`, "", ""},
		{
			`{"loops": {"run_defaults": {"delay": "2"}, "queue_wait_timeout_seconds": -1}}`, "",
			"loops.queue_wait_timeout_seconds is not used: it is no number of seconds\n" + file +
				": loops.run_defaults.delay is not used: it is no number of seconds",
		},
		{`{"loops": {`, "", "it is not used, because it cannot be made out: unexpected end of JSON input"},
		{
			`{"commands": {"confidence_gate": {"readiness_threshold": 1.5}, "rate_limits": {}}, "loops": {"run_defaults": {"clear": true}}}`,
			"", "commands.confidence_gate.readiness_threshold is not used: it is no whole number from 0 to 100\n" +
				file + ": commands.rate_limits is not read; a state has rate_limit_max_wait_seconds and " +
				"rate_limit_long_wait_ladder for that",
		},
		{`null`, "", ""},
		{`[1]`, "", "it is not used, because it cannot be made out: it is no JSON object"},
	} {
		write(t, file, c.text)
		got, err := Layers{Reference: file, Dir: dir}.Load()
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		var set []string
		for _, k := range Keys() {
			if v := k.Value(got); v != nil {
				set = append(set, fmt.Sprintf("%s=%v", k.Name, v))
			}
		}
		if s := strings.Join(set, " "); s != c.set {
			t.Errorf("%s: sets %q, want %q", c.text, s, c.set)
		}
		if c.warning != "" {
			c.warning = file + ": " + c.warning
		}
		if w := got.Warnings.Error(); w != c.warning {
			t.Errorf("%s: warns %q, want %q", c.text, w, c.warning)
		}
	}
}

func TestUserFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/loops/config.yaml"},
		{"", "/h", "/h/.config/loops/config.yaml"},
		{"rel", "/h", "/h/.config/loops/config.yaml"},
		{"", "", ""},
		{"", "rel", ""},
	} {
		got := UserFile(func(name string) (string, bool) {
			return map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}[name], true
		})
		if got != c.want {
			t.Errorf("XDG_CONFIG_HOME=%s HOME=%s: %s, want %s", c.xdg, c.home, got, c.want)
		}
	}
}

// Every key can be written as its form says, and shows up as it was written.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, k := range Keys() {
		value := map[Form]string{
			FormText: "x", FormDuration: "1h30m", FormSize: "2G", FormCount: "3",
			FormTokens: "20000", FormDollars: "2.5", FormNotify: "", FormEvents: "", FormHosts: "",
			FormTypes: "",
		}[k.Form]
		switch {
		case k.Form == FormWord:
			value = k.Values[len(k.Values)-1]
		case k.Name == "store":
			value = "sqlite:runs.db"
		case k.Name == "answer_links.key_file":
			value = "/x/key"
		case k.Name == "alarm.ping", k.Name == "answer_links.url", k.Name == "telemetry.endpoint":
			value = "https://ping.example.org/x"
		case k.Form == FormSecret:
			text := "serve: {metrics_token: {env: TOKEN}}"
			if c := (&Config{}); (layer{file: "f"}).parse([]byte(text), c) != nil || k.Value(c) != "TOKEN" ||
				c.At[k.Name].Line != 1 {
				t.Errorf("%s is %v", text, k.Value(c))
			}
			if c := (&Config{}); (layer{file: "f"}).parse([]byte("serve: {metrics_token: {env: A, file: /b}}"), c) ==
				nil || c.Metrics.Token.Set() {
				t.Errorf("two places are %v", k.Value(c))
			}
			continue
		case k.Name == "catalog":
			value = "/x"
		case value == "":
			continue
		}
		text, indent := "", ""
		for part := range strings.SplitSeq(k.Name, ".") {
			text += "\n" + indent + part + ":"
			indent += " "
		}
		c := &Config{}
		if wrong := (layer{file: "f"}).parse([]byte(text+" "+value), c); wrong != nil ||
			fmt.Sprint(k.Value(c)) != value || c.At[k.Name].Line == 0 {
			t.Errorf("%s: %s is %v at %v: %v", k.Name, value, k.Value(c), c.At, wrong)
		}
		if k.None {
			if wrong := (layer{file: "f"}).parse([]byte(text+" none"), c); wrong != nil || k.Value(c) != nil {
				t.Errorf("%s: none leaves %v: %v", k.Name, k.Value(c), wrong)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Config{}
		l := layer{file: "f", home: "/h", dir: "/d"}
		if wrong := l.parse(data, c); wrong != nil {
			_ = wrong.Error()
		}
		l.user = true
		_ = l.parse(data, c)
		for _, k := range Keys() {
			_ = k.Value(c)
		}
	})
}

// A pipe in place of a file does not block the reader.
func TestConfigIsAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Name)
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Layers{Project: path}).Load(); err == nil ||
		err.Error() != path+": it cannot be read: it is no file" {
		t.Error(err)
	}
}

package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

var odd = UnitJob{
	Name: "loops-schedule-shop", About: "loops schedule of /a 100% 'odd' \"dir\"", Program: "/opt/my loops/loops",
	Args: []string{"schedule", "fire", "$HOME", "100%"}, Dir: "/a 100% 'odd' \"dir\"",
	Env: []string{"PATH=/bin:/my bin", "STORE=p$x 100%"}, Home: "/home/me",
}

// TestUnits: texts with what systemd and launchd take for their own are in the files unchanged.
func TestUnits(t *testing.T) {
	t.Parallel()
	timer, err := EachMinuteUnit(odd, Systemd)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	timer.Show(&b)
	for _, want := range []string{
		"Writes /home/me/.config/systemd/user/loops-schedule-shop.service:",
		"    WorkingDirectory=/a 100%% 'odd' \"dir\"\n", "    Environment=\"PATH=/bin:/my bin\"\n",
		`    ExecStart="/opt/my loops/loops" schedule fire "$$HOME" "100%%"` + "\n", "OnCalendar=minutely",
		"Runs: systemctl --user restart loops-schedule-shop.timer",
		"    Environment=\"STORE=p$x 100%%\"\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	agent, err := AlwaysUnit(odd, Launchd)
	if err != nil || len(agent.Files) != 1 ||
		agent.Files[0].Path != "/home/me/Library/LaunchAgents/loops-schedule-shop.plist" ||
		!strings.Contains(agent.Files[0].Text, "<string>$HOME</string>") {
		t.Errorf("%+v, %v", agent, err)
	}
	if _, err := EachMinuteUnit(odd, Launchd); err == nil {
		t.Error("launchd starts something each minute")
	}
	if _, err := AlwaysUnit(odd, Cron); err == nil {
		t.Error("cron keeps something running")
	}
	if got := UnitNameOf("my  shop (2)/x"); got != "my-shop-2-x" {
		t.Error(got)
	}
}

// TestCrontab: the line is added once, whatever else is there, and what cron makes of it is the command.
func TestCrontab(t *testing.T) {
	// Not parallel: the test changes the environment.
	bash := testenv.Command(t, "bash")
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	fake := "#!" + bash + "\nif [ \"$1\" = -l ]; then [ -e " + kept +
		" ] || { echo no crontab for me >&2; exit 1; }; cat " + kept + "; else cat > " + kept + "; fi\n"
	shown := "#!" + bash + "\nprintf '%s|' \"$PWD\" \"$PATH\" \"$@\" > " + filepath.Join(dir, "shown") + "\n"
	work := filepath.Join(dir, "a 100% 'odd' dir")
	for path, text := range map[string]string{"crontab": fake, "my loops": shown} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	j := odd
	j.Dir, j.Program, j.Env = work, filepath.Join(dir, "my loops"), []string{"PATH=" + os.Getenv("PATH")}
	for range 2 {
		p, err := EachMinuteUnit(j, Cron)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(t.Context(), os.Environ()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(kept,
			append([]byte("0 1 * * * another"),
				append([]byte("\n"), []byte(strings.TrimPrefix(string(b), "0 1 * * * another\n"))...)...),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := os.ReadFile(kept)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 2 || lines[0] != "0 1 * * * another" {
		t.Fatalf("the crontab is %q", lines)
	}
	command, ok := strings.CutPrefix(lines[1], "* * * * * ")
	if out, err := exec.Command(bash, "-c", strings.ReplaceAll(command, `\%`, "%")).CombinedOutput(); !ok || err != nil { //nolint:gosec // it is the line
		t.Fatalf("%s: %v %s", command, err, out)
	}
	got, _ := os.ReadFile(filepath.Join(dir, "shown"))
	if want := work + "|" + os.Getenv("PATH") + "|schedule|fire|$HOME|100%|"; string(got) != want {
		t.Errorf("the command got %s, want %s", got, want)
	}
}

// The time zone of the user who installed a service was not in it, and the line of the crontab had the password
// of the database, which cron writes to its log.
func TestZoneAndPassword_35_2_5(t *testing.T) {
	t.Parallel()
	bash := testenv.Command(t, "bash")
	home := t.TempDir()
	env := map[string]string{
		"HOME": home, "PATH": "/bin", "TZ": "Asia/Tokyo",
		"LOOPS_STORE": "postgres://u:it's%20p@h/x", "XDG_STATE_HOME": "relative",
	}
	j, err := UnitJobOf("schedule", home, "", []string{"schedule", "fire"}, func(name string) (string, bool) {
		v, has := env[name]
		return v, has
	})
	if err != nil {
		t.Fatal(err)
	}
	j.Program = "/usr/bin/env"
	j.Args = nil
	p, err := EachMinuteUnit(j, Cron)
	if err != nil || strings.Contains(p.Crontab, "20p") || !strings.Contains(p.Crontab, " TZ=Asia/Tokyo ") {
		t.Fatalf("the line is %s (%v)", p.Crontab, err)
	}
	if len(p.Files) != 1 || p.Files[0].Path != filepath.Join(home, ".config/loops", j.Name+".env") {
		t.Fatalf("the files are %+v", p.Files)
	}
	for _, f := range p.Files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := f.write(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f.Path, info.Mode(), err)
		}
	}
	out, err := exec.Command(bash, "-c", strings.TrimPrefix(strings.ReplaceAll(p.Crontab, `\%`, "%"), "* * * * * ")).Output() //nolint:gosec // it is the line
	for _, want := range []string{"TZ=Asia/Tokyo\n", "LOOPS_STORE=postgres://u:it's%20p@h/x\n"} {
		if err != nil || !strings.Contains(string(out), want) ||
			strings.Contains(string(out), "XDG_STATE_HOME=relative") {
			t.Errorf("the command has not %s: %v\n%s", want, err, out)
		}
	}
	for manager, plan := range map[string]func(UnitJob, string) (UnitPlan, error){
		Systemd: EachMinuteUnit,
		Launchd: AlwaysUnit, Cron: EachMinuteUnit,
	} {
		p, err := plan(j.Shown(func(string) string { return "postgres://u:xxxxx@h/x" }, j.Args), manager)
		var b strings.Builder
		p.Show(&b)
		if err != nil || strings.Contains(b.String(), "20p") || !strings.Contains(b.String(), "u:xxxxx@h") ||
			!strings.Contains(b.String(), "Asia/Tokyo") {
			t.Errorf("%s shows (%v)\n%s", manager, err, b.String())
		}
	}
}

// TestJobs: two folders of one name have jobs of their own, which record where the command that installs them
// does, and nothing is written at random.
func TestJobs(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOME": t.TempDir(), "PATH": "/bin", "LOOPS_STORE": "postgres://u:p@h/x"}
	getenv := func(name string) (string, bool) { v, has := env[name]; return v, has }
	names := map[string]bool{}
	for _, dir := range []string{"/a/api", "/b/api"} {
		j, err := UnitJobOf("schedule", dir, "", nil, getenv)
		if err != nil || !strings.HasPrefix(j.Name, "loops-schedule-api-") ||
			!slices.Contains(j.Env, "LOOPS_STORE=postgres://u:p@h/x") {
			t.Errorf("%s: %+v %v", dir, j, err)
		}
		names[j.Name] = true
		p, err := EachMinuteUnit(j, Systemd)
		if err != nil {
			t.Fatal(err)
		}
		p.Commands = nil
		if err := p.Apply(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Files {
			if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v %v: others may read it", info, err)
			}
		}
	}
	if len(names) != 2 {
		t.Errorf("two folders have the jobs %v", names)
	}
	delete(env, "HOME")
	if j, err := UnitJobOf("schedule", "/a/api", "", nil, getenv); err == nil {
		t.Errorf("without a home: %+v", j)
	}
}

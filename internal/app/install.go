package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"loops/internal/disk"
)

// The managers.
const (
	Systemd = "systemd"
	Launchd = "launchd"
	Cron    = "cron"
)

// ServiceManagers are the names of the managers that can start something each minute, the usual one first.
var ServiceManagers = []string{Systemd, Cron}

// UnitServers are the names of those that can keep something running, the one of this system first.
func UnitServers() []string {
	if runtime.GOOS == "darwin" {
		return []string{Launchd, Systemd}
	}
	return []string{Systemd, Launchd}
}

// UnitJobOf is the job of this program with arguments, for a project. what is in its name, and a word of the
// folder, for there are folders of one name; store is where runs are recorded, "" = where LOOPS_STORE says, or
// else the settings.
func UnitJobOf(what, dir, store string, args []string, getenv func(string) (string, bool)) (UnitJob, error) {
	self, err := os.Executable()
	if err != nil {
		return UnitJob{}, fmt.Errorf("where this program is cannot be found out: %w", err)
	}
	word := sha256.Sum256([]byte(dir))
	j := UnitJob{Name: "loops-" + what + "-" + cmp.Or(UnitNameOf(filepath.Base(dir)), "project") + "-" +
		hex.EncodeToString(word[:4]), About: "loops " + what + " of " + dir, Program: self, Args: args, Dir: dir}
	if j.Home, _ = getenv("HOME"); !filepath.IsAbs(j.Home) {
		return UnitJob{}, errors.New("where your files are is not known: set HOME to your folder")
	}
	j.Config, _ = getenv("XDG_CONFIG_HOME")
	path, _ := getenv("PATH") // what loops call is found as it is here
	if store == "" {
		store, _ = getenv(envStore)
	}
	if j.Env = []string{"PATH=" + path}; store != "" {
		j.Env = append(j.Env, envStore+"="+store)
	}
	for _, name := range carried {
		if v, _ := getenv(name); v != "" &&
			(!strings.HasSuffix(name, "_HOME") && name != "LOOPS_CATALOG" || filepath.IsAbs(v)) {
			j.Env = append(j.Env, name+"="+v)
		}
	}
	return j, nil
}

// envStore says where runs are recorded. It may hold the password of a database.
const envStore = "LOOPS_STORE"

// carried are the variables, besides those of [JobOf], that change what loops does: when schedules without a
// time zone fire, which agent prompts go to, and where loops and settings are. Folders are carried where they
// are absolute.
var carried = []string{"TZ", "LOOPS_HOST", "LOOPS_CATALOG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}

// Shown returns the job as it may be shown: redact takes the passwords out of the location of a store, and args
// are the arguments without them.
func (j UnitJob) Shown(redact func(string) string, args []string) UnitJob {
	j.Args, j.Env = args, slices.Clone(j.Env)
	for i, kv := range j.Env {
		if store, ok := strings.CutPrefix(kv, envStore+"="); ok {
			j.Env[i] = envStore + "=" + redact(store)
		}
	}
	return j
}

// A UnitJob is a command line that is to be started.
type UnitJob struct {
	Name    string   // of the unit: letters, digits and -
	About   string   // one line
	Program string   // absolute
	Args    []string // without the program
	Dir     string   // where it works, absolute
	Env     []string // NAME=VALUE
	Home    string   // of the user
	Config  string   // XDG_CONFIG_HOME; "" = .config in Home
}

// A UnitPlan is what is to be put in place. Nothing of it is done until Apply.
type UnitPlan struct {
	Files    []UnitFile
	Crontab  string     // a line, with its mark; "" = none
	mark     string     // by which an earlier line is known
	Commands [][]string // that are run then
}

// A UnitFile is one that is written.
type UnitFile struct{ Path, Text string }

var unsafeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })

// UnitNameOf makes a part of a name of a unit of any text.
func UnitNameOf(text string) string {
	return strings.Trim(unsafeName().ReplaceAllString(text, "-"), "-")
}

func (j UnitJob) units() string { return filepath.Join(j.config(), "systemd", "user") }

func (j UnitJob) config() string { return cmp.Or(j.Config, filepath.Join(j.Home, ".config")) }

// cron is a plan with a line of a crontab. Where runs are recorded, which may hold a password, is in a file of
// its own that the line reads: cron writes its lines to a log, and every user can see them while they run.
func (j UnitJob) cron() (UnitPlan, error) {
	for _, text := range slices.Concat(j.Args, j.Env, []string{j.Dir, j.Program}) {
		if strings.ContainsAny(text, "\n\r") {
			return UnitPlan{}, fmt.Errorf("a line of a crontab cannot hold the line end in %q", text)
		}
	}
	p := UnitPlan{mark: "# loops: " + j.Name}
	line := "* * * * * cd " + quoteShell(j.Dir)
	var words []string
	for _, kv := range j.Env {
		name, val, _ := strings.Cut(kv, "=")
		word := name + "=" + quoteShell(val)
		if name == envStore {
			path := filepath.Join(j.config(), "loops", j.Name+".env")
			p.Files = append(p.Files, UnitFile{path, "export " + word + "\n"})
			line += " && . " + quoteShell(path)
			continue
		}
		words = append(words, word)
	}
	line += " && " + strings.Join(append(words, quoteAll(append([]string{j.Program}, j.Args...), quoteShell)...), " ")
	p.Crontab = strings.ReplaceAll(line, "%", `\%`) + " " + p.mark // a bare % ends the command in a crontab
	return p, nil
}

// EachMinuteUnit is a plan that has a manager start a job each minute.
func EachMinuteUnit(j UnitJob, manager string) (UnitPlan, error) {
	switch manager {
	case Cron:
		return j.cron()
	case Systemd:
		service := "[Unit]\nDescription=" + specifiers(j.About) + "\n\n[Service]\nType=oneshot\nKillMode=process\n" +
			j.service()
		timer := "[Unit]\nDescription=" + specifiers(j.About) + ", each minute\n\n[Timer]\nOnCalendar=minutely\n" +
			"AccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n"
		return UnitPlan{
			Files: []UnitFile{
				{filepath.Join(j.units(), j.Name+".service"), service},
				{filepath.Join(j.units(), j.Name+".timer"), timer},
			},
			Commands: [][]string{
				{"systemctl", "--user", "daemon-reload"},
				{"systemctl", "--user", "enable", j.Name + ".timer"},
				{"systemctl", "--user", "restart", j.Name + ".timer"},
			},
		}, nil
	}
	return UnitPlan{}, fmt.Errorf("%q starts nothing each minute; expected %s", manager,
		strings.Join(ServiceManagers, " or "))
}

// AlwaysUnit is a plan that has a manager keep a job running.
func AlwaysUnit(j UnitJob, manager string) (UnitPlan, error) {
	switch manager {
	case Systemd:
		// KillMode: what the server started are processes of their own, which outlive it.
		service := "[Unit]\nDescription=" + specifiers(j.About) +
			"\nAfter=network.target\n\n[Service]\nKillMode=process\nRestart=on-failure\nRestartSec=2s\n" + j.service() +
			"\n[Install]\nWantedBy=default.target\n"
		return UnitPlan{
			Files: []UnitFile{{filepath.Join(j.units(), j.Name+".service"), service}},
			Commands: [][]string{
				{"systemctl", "--user", "daemon-reload"},
				{"systemctl", "--user", "enable", j.Name + ".service"},
				{"systemctl", "--user", "restart", j.Name + ".service"},
			},
		}, nil
	case Launchd:
		path := filepath.Join(j.Home, "Library", "LaunchAgents", j.Name+".plist")
		return UnitPlan{
			Files:    []UnitFile{{path, j.plist()}},
			Commands: [][]string{{"launchctl", "load", "-w", path}},
		}, nil
	}
	return UnitPlan{}, fmt.Errorf("%q keeps nothing running; expected %s", manager, strings.Join(UnitServers(), " or "))
}

// service is the part of a unit that says what is run.
func (j UnitJob) service() string {
	var b strings.Builder
	fmt.Fprintf(&b, "WorkingDirectory=%s\n", specifiers(j.Dir))
	for _, kv := range j.Env {
		fmt.Fprintf(&b, "Environment=%s\n", quoteSystemd(kv))
	}
	// only there a $ means something
	fmt.Fprintf(&b, "ExecStart=%s\n",
		strings.ReplaceAll(strings.Join(quoteAll(append([]string{j.Program}, j.Args...), quoteSystemd), " "), "$",
			"$$"))
	return b.String()
}

func (j UnitJob) plist() string {
	var b strings.Builder
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>` + text(j.Name) + `</string>
<key>ProgramArguments</key><array>
`)
	for _, arg := range append([]string{j.Program}, j.Args...) {
		b.WriteString("<string>" + text(arg) + "</string>\n")
	}
	b.WriteString("</array>\n<key>WorkingDirectory</key><string>" + text(j.Dir) + "</string>\n")
	if len(j.Env) > 0 {
		b.WriteString("<key>EnvironmentVariables</key><dict>\n")
		for _, kv := range j.Env {
			name, val, _ := strings.Cut(kv, "=")
			b.WriteString("<key>" + text(name) + "</key><string>" + text(val) + "</string>\n")
		}
		b.WriteString("</dict>\n")
	}
	b.WriteString("<key>RunAtLoad</key><true/>\n<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n" +
		"<key>AbandonProcessGroup</key><true/>\n</dict></plist>\n")
	return b.String()
}

func quoteAll(texts []string, quote func(string) string) (all []string) {
	for _, text := range texts {
		all = append(all, quote(text))
	}
	return all
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_/.:=,@-]+$`) })

func quoteShell(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// specifiers has systemd take a text as it is.
func specifiers(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "%", "%%"), "\n", " ")
}

func quoteSystemd(text string) string {
	if text = specifiers(text); plainWord().MatchString(text) {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// Show writes what Apply does.
func (p UnitPlan) Show(w io.Writer) {
	for _, f := range p.Files {
		fmt.Fprintf(w, "Writes %s:\n\n", f.Path)
		for line := range strings.Lines(f.Text) {
			fmt.Fprint(w, "    "+line)
		}
		fmt.Fprintln(w)
	}
	if p.Crontab != "" {
		fmt.Fprintf(w, "Adds to your crontab:\n\n    %s\n\n", p.Crontab)
	}
	for _, c := range p.Commands {
		fmt.Fprintln(w, "Runs: "+strings.Join(c, " "))
	}
}

// Apply puts everything in place. What was there under the same name is replaced. env is the environment of the
// commands.
func (p UnitPlan) Apply(ctx context.Context, env []string) error {
	for _, f := range p.Files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := f.write(); err != nil {
			return err
		}
	}
	if p.Crontab != "" {
		if err := p.crontab(ctx, env); err != nil {
			return err
		}
	}
	for _, c := range p.Commands {
		if _, err := run(ctx, env, "", c...); err != nil {
			return fmt.Errorf("the files are in place, but %w", err)
		}
	}
	return nil
}

// write puts a file in place, for the eyes of its user only: the address of a database may hold a password.
func (f UnitFile) write() error {
	tmp, err := disk.CreateBeside(f.Path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it was renamed, or is of no use
	_, err = tmp.WriteString(f.Text)
	if err = errors.Join(err, tmp.Chmod(0o600), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.Path)
}

// crontab adds the line, instead of an earlier one with its mark.
func (p UnitPlan) crontab(ctx context.Context, env []string) error {
	was, err := run(ctx, env, "", "crontab", "-l")
	if err != nil && !strings.Contains(err.Error(), "no crontab") {
		return err
	}
	if err != nil {
		was = ""
	}
	var b strings.Builder
	for line := range strings.Lines(was) {
		if !strings.HasSuffix(strings.TrimSpace(line), p.mark) {
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	b.WriteString(p.Crontab + "\n")
	_, err = run(ctx, env, b.String(), "crontab", "-")
	return err
}

func run(ctx context.Context, env []string, input string, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the words are ours
	cmd.Env, cmd.Stdin = env, strings.NewReader(input)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	if text := strings.TrimSpace(said.String()); text != "" {
		err = errors.New(text)
	}
	return "", fmt.Errorf("%s failed: %w", strings.Join(words, " "), err)
}

package app

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"loops/engine/action"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/humanize"
)

// A sandboxTrial is a script that a sandbox has to refuse, or to let through.
type sandboxTrial struct {
	rule   string // what the sandbox says
	script string
	allow  bool
	from   string // the preset that says so, besides strict; off = each
}

// isOf reports whether a preset says so.
func (t sandboxTrial) isOf(preset string) bool {
	return preset == t.from || preset == confine.Strict || t.from == confine.Off && preset != confine.Off
}

// Sandbox tries every rule of a preset, with the runner's home and work tree.
func (x *Examination) Sandbox(ctx context.Context, r *action.Runner, preset string) {
	policy := []*confine.Policy{{Preset: preset}}
	const check = "sandbox"
	_, missing, narrow := r.Unenforced(policy)
	level := FindingWarning
	if preset == confine.Strict {
		level = FindingProblem
	}
	for _, one := range missing {
		x.add(Finding{Check: check, Level: level, Text: one})
	}
	if narrow != "" {
		x.add(Finding{Check: check, Level: FindingWarning, Text: narrow})
	}
	if preset == confine.Strict && len(missing) > 0 {
		return
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		x.add(Finding{Check: check, Level: FindingProblem, Text: "no port of this machine can be listened on: " +
			err.Error()})
		return
	}
	defer func() { _ = server.Close() }()
	for _, t := range sandboxTrials(server.Addr().(*net.TCPAddr).Port, os.Getpid()) {
		if !t.isOf(preset) {
			continue
		}
		res, err := r.Run(ctx, fsm.Action{
			Kind: fsm.KindShell, Text: t.script, State: "doctor", Sandbox: policy,
			Step: 1, Attempt: 1, Quiet: true,
		}, nil)
		f := Finding{Check: check, Level: FindingOK, Text: t.rule}
		switch {
		case err != nil:
			f.Level, f.Text = FindingProblem, t.rule+": it could not be tried: "+err.Error()
		case res.ExitCode == sandboxUntried:
			f.Level, f.Text = FindingUntested, t.rule+": nothing to try it with"
		case t.allow && res.ExitCode != 0:
			f.Level, f.Text = FindingProblem, t.rule+": it was refused: "+
				humanize.OneLine(fmt.Errorf("%s", strings.TrimSpace(res.Stderr)))
		case !t.allow && res.ExitCode == 0:
			f.Level, f.Text = FindingProblem, t.rule+": it was not refused"
		}
		x.add(f)
	}
	_ = os.Remove(filepath.Join(r.Dir, ".loops", doctorMark(os.Getpid())+".yaml")) // where it was not refused
}

// doctorMark is what files are called that are tried to be made.
func doctorMark(pid int) string { return fmt.Sprintf(".loops-doctor-%d", pid) }

// sandboxUntried is the exit code of a script that finds nothing to try.
const sandboxUntried = 77

// sandboxTrials returns what is tried, with a port of this machine that answers and a process outside.
func sandboxTrials(port, pid int) []sandboxTrial {
	mark := doctorMark(pid)
	return []sandboxTrial{
		{"files of the work tree can be changed", `: > "` + mark + `" && rm "` + mark + `"`, true, confine.Workspace},
		{"temporary files can be made", `f=$(mktemp) && rm "$f"`, true, confine.Off},
		{"files outside cannot be changed", `cd ~ 2>/dev/null && [ "$PWD" != "$OLDPWD" ] || exit 77; : > "` + mark +
			`" && rm "` + mark + `"`, false, confine.Workspace},
		{"secret places cannot be read", `for f in ~/.ssh/* ~/.aws/* ~/.gnupg/* ~/.netrc ~/.kube/* /etc/shadow; do
  [ -f "$f" ] && [ "$(stat -c %u "$f")" = "$(id -u)" ] || continue
  cat "$f" > /dev/null; exit
done
exit 77`, false, confine.Workspace},
		{"settings that others trust cannot be changed", `n=77
[ ! -d .loops ] || { n=1; : > ".loops/` + mark + `.yaml" && exit 0; }
[ ! -f .git/config ] || { n=1; : >> .git/config && exit 0; }
exit $n`, false, confine.Workspace},
		{
			"other processes cannot be looked into", fmt.Sprintf(`cat /proc/%d/environ > /dev/null`, pid), false,
			confine.Off,
		},
		{"other processes cannot be sent signals", fmt.Sprintf(`kill -0 %d`, pid), false, confine.Off},
		{
			"nothing can be mounted",
			`command -v mount > /dev/null || exit 77; mount -t tmpfs none /mnt && umount /mnt`,
			false, confine.Off,
		},
		{
			"no other program can be reached over the network", fmt.Sprintf(`exec 3<> /dev/tcp/127.0.0.1/%d`, port),
			false, confine.Offline,
		},
		{
			"nothing can be sent over the network", fmt.Sprintf(`exec 3<> /dev/udp/127.0.0.1/%d`, port), false,
			confine.Offline,
		},
	}
}

// SandboxRunner returns what scripts are tried with, and what removes its folder.
func (x *Examination) SandboxRunner() (*action.Runner, func(), error) {
	dir, err := os.MkdirTemp("", "loops-doctor-*")
	if err != nil {
		return nil, nil, err
	}
	r := &action.Runner{
		Dir: x.Project.WorkDir(), RunDir: dir, Env: x.Project.Env,
		Mark: fmt.Sprintf("%sdoctor-%d", x.Project.Mark(), os.Getpid()),
	}
	return r, func() { _ = r.Close(); _ = os.RemoveAll(dir) }, nil
}

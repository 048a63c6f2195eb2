package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/agent"
	"loops/internal/api"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/persistence"
	"loops/reconcile"
)

// How long a small program, and the store of runs, may take.
const (
	programWait = 10 * time.Second
	storeWait   = 20 * time.Second
)

// How much room a run should have, in bytes.
const (
	roomLow  = 1 << 30
	roomNone = 64 << 20
)

// mostRuns is how many of the newest runs are looked at.
const mostRuns = 200

// mostDamaged is how many runs with a damaged record are named; the others are counted.
const mostDamaged = 10

// Machine looks at what runs need besides agents: programs, room on the disk, the project's configuration and
// prices, and the records of runs. It sets Config.
func (x *Examination) Machine(ctx context.Context) {
	x.programs()
	x.room()
	x.private()
	x.writable()
	x.ignored()
	x.configured()
	x.store(ctx)
}

// programs looks at the programs that runs use besides agents.
func (x *Examination) programs() {
	bash, version, err := x.say("bash", "--version")
	switch {
	case err != nil:
		x.add(Finding{
			"bash", FindingProblem, "not found: no shell action can run",
			"install bash, or add the directory it is in to PATH", nil,
		})
	default:
		x.add(Finding{"bash", FindingOK, version + "; " + bash, "", nil})
	}
	git, version, err := x.say("git", "--version")
	switch {
	case err != nil:
		x.add(Finding{
			"git", FindingWarning, "not found: diff_stall, and sub-loops with worktree, cannot work",
			"install git", nil,
		})
	case !x.inRepository(git):
		x.add(Finding{"git", FindingOK, version + "; " + git + "; the project is in no repository, which diff_stall " +
			"and worktree need", "", nil})
	default:
		x.add(Finding{"git", FindingOK, version + "; " + git, "", nil})
	}
}

// say returns where a program is and the first line of what it says of its version.
func (x *Examination) say(name, flag string) (path, line string, err error) {
	path, err = x.lookPath(name)
	if err != nil {
		return "", "", err
	}
	out, err := x.output(path, flag)
	return path, humanize.Cut(humanize.PlainLine(humanize.FirstLine(out)), 80), err
}

func (x *Examination) inRepository(git string) bool {
	out, err := x.output(git, "-C", x.Project.Dir, "rev-parse", "--is-inside-work-tree")
	return err == nil && strings.TrimSpace(out) == "true"
}

func (x *Examination) output(path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), programWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out beginning
	cmd.Env, cmd.WaitDelay, cmd.Stdout = x.Project.Env, time.Second, &out
	err := cmd.Run()
	return string(out), err
}

// A beginning keeps the first 64 KiB of what is written to it: a program may print more than a user reads.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 64<<10-len(*b))]...)
	return len(p), nil
}

// lookPath finds a program in the PATH of this invocation.
func (x *Examination) lookPath(name string) (string, error) {
	search, _ := project.LookEnv(x.Project.Env, "PATH")
	for _, dir := range filepath.SplitList(search) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func (x *Examination) room() {
	p := x.Project
	dir := p.Loops
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		dir = p.Dir
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		x.add(Finding{
			"disk", FindingProblem, p.Short(dir) + " cannot be written to: " + project.Cause(err).Error(),
			"give this user the right to write there, or free space", nil,
		})
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		x.add(Finding{"disk", FindingWarning, "the free space is not known: " + err.Error(), "", nil})
		return
	}
	free := uint64(st.Bavail) * uint64(st.Bsize) //nolint:unconvert // their types are not the same everywhere
	f := Finding{
		"disk", FindingOK, fmt.Sprintf("%s free in %s", bytesText(free), p.Short(dir)), "",
		api.FoundDisk{Free: int64(min(free, 1<<62))},
	}
	switch {
	case free < roomNone:
		f.Level, f.Todo = FindingProblem, "free space: runs cannot be recorded without it"
	case free < roomLow:
		f.Level, f.Todo = FindingWarning, "free space"
	}
	x.add(f)
}

func bytesText(n uint64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// configured looks at the files with which people configure a project.
func (x *Examination) configured() {
	p := x.Project
	c, err := p.Config()
	switch {
	case err != nil:
		_, wrong := p.Declared()
		x.add(Finding{"config", FindingProblem, x.Said(err), "fix " + humanize.And(p.Mistaken(wrong)), nil})
		c = &config.Config{}
	case len(c.Hosts) > 0:
		x.add(Finding{"config", FindingOK, humanize.And(p.Declaring(c)) + " declares " + AgentNames(c.Hosts), "", nil})
	default:
		x.add(Finding{
			"config", FindingOK, "no hosts are declared in " + p.Short(filepath.Join(p.Loops, config.Name)),
			"", nil,
		})
	}
	for _, w := range c.Warnings {
		w.File = p.Short(w.File)
		x.add(Finding{"config", FindingWarning, w.String(), "fix " + w.File + ", for little-loops", nil})
	}
	x.Config = c
	x.actionTypes()
	x.answerLinks()
	_, missing := os.Lstat(p.PricesFile())
	table, err := p.ReadPrices("")
	switch {
	case err != nil:
		x.add(Finding{"prices", FindingProblem, x.Said(err), "fix " + p.Short(p.PricesFile()), nil})
	case missing != nil:
		x.add(Finding{"prices", FindingOK, "the built-in table, of " + table.Date, "", nil})
	default:
		x.add(Finding{"prices", FindingOK, p.Short(p.PricesFile()) + ", of " + table.Date +
			", over the built-in table, of " + agent.BuiltInPrices().Date, "", nil})
	}
}

// store looks at the records of runs.
func (x *Examination) store(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	p := x.Project
	store, err := p.Records(ctx, false)
	if err != nil {
		if _, none := errors.AsType[*project.NoDatabaseError](err); none {
			x.add(Finding{"store", FindingWarning, x.Said(err), "", nil})
			return
		}
		x.add(Finding{"store", FindingProblem, x.Said(err), "see: loops help store", nil})
		return
	}
	defer store.Close()
	runs, err := store.Runs(ctx, persistence.Query{Limit: mostRuns})
	var changes []reconcile.Change
	if err == nil {
		var live []persistence.Run
		live, err = store.Store.Runs(ctx, persistence.Query{Live: true})
		changes = reconcile.Plan(live, project.Alive, time.Now())
	}
	if err != nil {
		x.add(Finding{"store", FindingProblem, x.Said(store.Failed(err)), "see: loops help store", nil})
		return
	}
	text := humanize.Count(len(runs), "run") + " in " + store.Name
	if len(runs) == mostRuns {
		text = "more than " + text
	}
	x.add(Finding{"store", FindingOK, text, "", nil})
	x.schedules(ctx)
	damaged := 0
	for _, r := range project.Current(runs) {
		if len(r.Damage) == 0 {
			continue
		}
		if damaged++; damaged <= mostDamaged {
			x.add(Finding{
				"store", FindingWarning,
				fmt.Sprintf("the record of run %s is damaged: %s", r.ID, r.Damage[0]),
				x.Command("status", string(r.ID)), nil,
			})
		}
	}
	if more := damaged - mostDamaged; more > 0 {
		x.add(Finding{
			"store", FindingWarning, fmt.Sprintf("the records of %d more are damaged", more),
			x.Command("runs"), nil,
		})
	}
	x.undelivered(project.Current(runs))
	x.stale(changes)
	x.leftovers(len(changes))
}

// undelivered looks for runs that ended before the outlets of the key events had all their events.
func (x *Examination) undelivered(runs []persistence.Run) {
	if len(x.Config.Events) == 0 {
		return
	}
	ids, _ := x.Project.Outboxes() // sweep reports what is wrong with the folder
	n := 0
	for _, r := range runs {
		if !r.Resumable && slices.Contains(ids, r.ID) && !project.Alive(r) {
			n++
		}
	}
	if n > 0 {
		x.add(Finding{"events", FindingWarning, "events of " + humanize.Count(n, "run") +
			" that ended are still to be delivered", x.Command("sweep"), nil})
	}
}

// schedules looks whether something fires the schedules of the project.
func (x *Examination) schedules(ctx context.Context) {
	now := time.Now()
	all, _, err := trigger.ListSchedules(ctx, x.Project, now) // what is wrong with loop files is a matter of validate
	trigger.Vet(ctx, x.Project, all)
	for _, l := range all {
		if l.Untrusted != "" {
			x.add(Finding{
				"schedules", FindingWarning,
				fmt.Sprintf("the schedule of %s is not going to start: %s", l.Loop, l.Untrusted),
				x.Command("trust", l.Loop), nil,
			})
		}
	}
	if err != nil {
		x.add(Finding{"schedules", FindingProblem, x.Said(err), "see: loops help store", nil})
	} else if why := trigger.Unattended(all, now); why != "" {
		x.add(Finding{"schedules", FindingWarning, why, x.Command("schedule", "install") +
			", loops serve or loops worker", nil})
	} else if why := trigger.ClockWasAhead(all); why != "" {
		x.add(Finding{"schedules", FindingWarning, why, "set the clock of this machine right", nil})
	} else if len(all) > 0 {
		x.add(Finding{"schedules", FindingOK, humanize.Count(len(all), "schedule") +
			", which a server, worker or timer fires", "", nil})
	}
}

// stale says what sweep would do.
func (x *Examination) stale(changes []reconcile.Change) {
	var died, ended []string
	for _, c := range changes {
		if c.Kind == reconcile.Interrupt {
			died = append(died, string(c.ID))
		} else {
			ended = append(ended, string(c.ID))
		}
	}
	todo := x.Command("sweep") + ", or the next run does it"
	if len(died) > 0 {
		x.add(Finding{"runs", FindingWarning, fmt.Sprintf("the owner of %s died: %s; resume continues from there",
			humanize.Count(len(died), "run"), humanize.List(died)), todo, api.FoundRuns{Runs: died}})
	}
	if len(ended) > 0 {
		x.add(Finding{
			"runs", FindingWarning,
			fmt.Sprintf("%s left its files among those of running runs: %s", humanize.Count(len(ended), "run"),
				humanize.List(ended)), todo,
			api.FoundRuns{Runs: ended},
		})
	}
}

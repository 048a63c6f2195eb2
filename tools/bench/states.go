package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const items = 1000

func eachLoop(parallel int) string {
	return fmt.Sprintf(`name: each
initial: work
states:
  work:
    for_each: {command: seq %d}
    parallel: %d
    action: "true"
    on_yes: end
    on_no: end
  end: {terminal: true}
`, items, parallel)
}

// eachOverSpawns compares a list with spawns of the same bash in this process, half of them before and half
// after the run.
func (b *bench) eachOverSpawns() (float64, error) {
	before, err1 := b.spawns("true", items/2)
	took, err2 := b.loop(eachLoop(1), "--quiet")
	after, err3 := b.spawns("true", items/2)
	return took / items / ((before + after) / 2).Seconds(), errors.Join(err1, err2, err3)
}

// eachOverXargs compares a list of which two items are worked on at once with xargs -P2, of half the items
// before and half after.
func (b *bench) eachOverXargs() (float64, error) {
	script := fmt.Sprintf("seq %d | xargs -P2 -I{} bash -c true", items/2)
	before, err1 := b.spawns(script, 1)
	took, err2 := b.loop(eachLoop(2), "--quiet")
	after, err3 := b.spawns(script, 1)
	return took / (before + after).Seconds(), errors.Join(err1, err2, err3)
}

// A list whose last item does not end until there is a file named go, and then records when it began.
const longListLoop = `name: list
initial: work
states:
  work:
    for_each: {command: seq %[1]d}
    action: '[ $LOOPS_ITEM != %[1]d ] || if [ -e go ]; then echo $EPOCHREALTIME > began; else touch last; sleep 600; fi'
    on_yes: end
    on_no: end
  end: {terminal: true}
`

// longList is a run that was killed at the last item of a long list.
type longList struct {
	project string
	items   int
	peak    float64 // resident, in MB
	journal float64 // bytes of an item
}

// list makes the run, the first time.
func (b *bench) list() (longList, error) {
	if b.longList.project != "" {
		return b.longList, nil
	}
	l := longList{items: 20_000}
	if b.long {
		l.items = 100_000
	}
	var err error
	if l.project, err = b.project(fmt.Sprintf(longListLoop, l.items)); err != nil {
		return l, err
	}
	cmd := b.command(l.project, "run", "list", "--quiet")
	if err := cmd.Start(); err != nil {
		return l, err
	}
	done, stop := make(chan float64), make(chan struct{})
	go func() { done <- watch(cmd, stop) }()
	err = appears(filepath.Join(l.project, "last"), time.Duration(l.items)*50*time.Millisecond)
	close(stop)
	l.peak = <-done
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	journals, _ := filepath.Glob(filepath.Join(l.project, ".loops", ".running", "*.events.jsonl"))
	if err != nil || len(journals) != 1 {
		return l, errors.Join(err, fmt.Errorf("the run of a list left %d journals", len(journals)))
	}
	st, err := os.Stat(journals[0])
	if err != nil {
		return l, err
	}
	l.journal = float64(st.Size()) / float64(l.items)
	if err := os.WriteFile(filepath.Join(l.project, "go"), nil, 0o600); err != nil {
		return l, err
	}
	b.longList = l
	return l, nil
}

// appears waits for a file.
func appears(path string, limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s did not come within %v", path, limit)
}

func (b *bench) listPeak() (float64, error) {
	l, err := b.list()
	if err == nil && l.peak == 0 {
		err = &missingError{what: "the system has no /proc/PID/status"}
	}
	return l.peak, err
}

func (b *bench) listJournal() (float64, error) {
	l, err := b.list()
	return l.journal, err
}

// listResume is how long it takes until the last item of the list begins again, above a bare spawn.
func (b *bench) listResume() (float64, error) {
	l, err := b.list()
	if err != nil {
		return 0, err
	}
	if err := freshCopy(l.project); err != nil {
		return 0, err
	}
	spawned, err := b.spawns("true", 10)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := b.program(l.project, "resume", "list", "--quiet"); err != nil {
		return 0, err
	}
	began, err := stamp(filepath.Join(l.project, "began"))
	return began.Sub(begin).Seconds() - spawned.Seconds(), err
}

// stamp reads a time that an action wrote.
func stamp(path string) (time.Time, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(string(text)), ",", ".", 1), 64)
	return time.UnixMicro(int64(seconds * 1e6)), err
}

const sleepsLoop = `name: sleeps
initial: all
states:
  all:
    parallel: {a: {action: sleep 1}, b: {action: sleep 1}, c: {action: sleep 1}}
    on_yes: end
    on_no: end
  end: {terminal: true}
`

// sleeps is how long three branches take that sleep a second each, above a bare spawn.
func (b *bench) sleeps() (float64, error) {
	spawned, err1 := b.spawns("true", 10)
	took, err2 := b.loop(sleepsLoop, "--quiet")
	return took - spawned.Seconds(), errors.Join(err1, err2)
}

const setLoop = `name: set
initial: a
max_edge_revisits: 1000000
context: {tries: 0}
states:
  a: {set: {tries: context.tries + 1}, next: b}
  b: {set: {tries: context.tries + 1}, next: a}
  end: {terminal: true}
`

const waitingLoop = `name: waiting
initial: before
states:
  before: {wait: {event: news}, on_yes: after}
  after: {action: echo $EPOCHREALTIME > began, next: end}
  end: {terminal: true}
`

const askingLoop = `name: asking
initial: before
states:
  before: {ask: {question: "Ready?", choices: [good, bad]}, on_good: after, on_bad: end}
  after: {action: echo $EPOCHREALTIME > began, next: end}
  end: {terminal: true}
`

// sent is how long it takes from the start of a command that sends something to a run that waits for it, until
// the action of its next state begins.
func (b *bench) sent(store, loop string, words ...string) (seconds float64, err error) {
	flags, err := b.store(store)
	if err != nil {
		return 0, err
	}
	project, err := b.project(loop)
	if err != nil {
		return 0, err
	}
	name := loopName(loop)
	cmd := b.command(project, append([]string{"run", name, "--quiet"}, flags...)...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	defer func() {
		_ = cmd.Process.Kill()
		<-ended
	}()
	if err := b.awaits(project, name, flags); err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := b.program(project, append(append([]string{words[0], name}, words[1:]...), flags...)...); err != nil {
		return 0, err
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		return 0, errors.New("the run did not continue")
	}
	began, err := stamp(filepath.Join(project, "began"))
	return began.Sub(begin).Seconds(), err
}

// awaits waits until a run is in a wait.
func (b *bench) awaits(project, name string, flags []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, b.bin, append([]string{"status", name, "--json"}, flags...)...)
		cmd.Dir = project
		if out, _ := cmd.Output(); strings.Contains(string(out), `"waiting": {`) {
			time.Sleep(300 * time.Millisecond) // or the first look is what is measured
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("run %s does not wait", name)
}

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A loop that records when its action begins, and then waits while the file hold exists.
const placedLoop = `name: placed
initial: a
states:
  a: {action: 'echo "$$ $EPOCHREALTIME" >> began; while [ -e hold ]; do sleep 0.02; done', next: end}
  end: {terminal: true}
`

// A crew is a project whose runs are in PostgreSQL, and the workers that were started for it.
type crew struct {
	b       *bench
	project string
	flags   []string
	workers []*exec.Cmd
}

// newCrew makes a project and starts workers for it, with the lease that the targets are about.
func (b *bench) newCrew(workers int, loops ...string) (*crew, error) {
	flags, err := b.store("postgres")
	if err != nil {
		return nil, err
	}
	project, err := b.project(loops...)
	if err != nil {
		return nil, err
	}
	flags[1] += "&lease=6s&search_path=" + filepath.Base(project)
	c := &crew{b: b, project: project, flags: flags}
	for range workers {
		if err := c.start(); err != nil {
			return nil, errors.Join(err, c.end())
		}
	}
	return c, nil
}

// start starts a worker, and returns when it takes runs.
func (c *crew) start() error {
	cmd := c.b.command(c.project, append([]string{"worker"}, c.flags...)...)
	said, err := os.CreateTemp(c.b.dir, "worker")
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return err
	}
	c.workers = append(c.workers, cmd)
	return c.until("a worker takes runs", func() bool {
		text, _ := os.ReadFile(said.Name())
		return bytes.Contains(text, []byte(" takes runs of queue "))
	})
}

// end ends all workers, and with them what they carry.
func (c *crew) end() error {
	err := os.RemoveAll(filepath.Join(c.project, "hold"))
	for _, cmd := range c.workers {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
	return err
}

func (c *crew) until(what string, done func() bool) error {
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("in a minute it did not come to this: " + what)
		}
	}
	return nil
}

// ask runs a command on the project and returns what it prints.
func (c *crew) ask(args ...string) (string, error) {
	cmd := c.b.command(c.project, append(args, c.flags...)...)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), ended(cmd, err)
}

// A beginning is a line of the file began: the process of an action, and when it began, in seconds.
type beginning struct {
	pid  int
	when float64
}

// began returns the beginnings of actions so far.
func (c *crew) began() (all []beginning) {
	text, _ := os.ReadFile(filepath.Join(c.project, "began"))
	for line := range strings.Lines(string(text)) {
		pid, when, _ := strings.Cut(strings.TrimSpace(line), " ")
		one := beginning{}
		one.pid, _ = strconv.Atoi(pid)
		if one.when, _ = strconv.ParseFloat(when, 64); one.when > 0 {
			all = append(all, one)
		}
	}
	return all
}

// next waits for one more action than n, and returns when it began.
func (c *crew) next(n int) (float64, error) {
	if err := c.until("an action begins", func() bool { return len(c.began()) > n }); err != nil {
		return 0, err
	}
	return c.began()[n].when, nil
}

func seconds(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

// submitted is the median time from the end of a submit until the action of its run begins.
func (b *bench) submitted() (_ float64, err error) {
	c, err := b.newCrew(1, placedLoop)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	var all []float64
	for n := range 20 {
		// the one before may be ending still
		if _, err := c.ask("submit", "placed", "--quiet", "--no-lock"); err != nil {
			return 0, err
		}
		done := seconds(time.Now())
		began, err := c.next(n)
		if err != nil {
			return 0, err
		}
		all = append(all, max(began-done, 0))
	}
	return middle(all), nil
}

// carried compares a long run that a worker carries with the same that a command does, in the same database, by turns.
func (b *bench) carried() (_ float64, err error) {
	c, err := b.newCrew(1, shellLoop)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	steps := []string{"--max-steps", strconv.Itoa(transitions)}
	took := func(run string) (float64, error) {
		var s struct {
			Status   string  `json:"status"`
			Duration float64 `json:"duration_ms"`
		}
		// seldom: a look takes from the run what it measures
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
			text, err := c.ask("status", run, "--json")
			if err := errors.Join(err, json.Unmarshal([]byte(text), &s)); err != nil {
				return 0, err
			}
			if s.Status != "running" && s.Status != "queued" {
				return s.Duration, nil
			}
		}
		return 0, fmt.Errorf("run %s is %s after a minute", run, s.Status)
	}
	var here, there float64
	for range 3 {
		if _, err := c.ask(append([]string{"run", "shell", "--quiet"}, steps...)...); err != nil {
			return 0, err
		}
		alone, err := took("last")
		if err != nil {
			return 0, err
		}
		run, err := c.ask(append([]string{"submit", "shell", "--quiet"}, steps...)...)
		if err != nil {
			return 0, err
		}
		time.Sleep(500 * time.Millisecond)
		placed, err := took(run)
		if err != nil {
			return 0, err
		}
		here, there = here+alone, there+placed
	}
	return there / here, nil
}

// takenOver is how long a run of a crew takes to continue after something happened to the worker that carries it.
func (b *bench) takenOver(happens func(c *crew) error) (_ float64, err error) {
	c, err := b.newCrew(1, placedLoop)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	if err := os.WriteFile(filepath.Join(c.project, "hold"), nil, 0o600); err != nil {
		return 0, err
	}
	if _, err := c.ask("submit", "placed", "--quiet"); err != nil {
		return 0, err
	}
	if _, err := c.next(0); err != nil {
		return 0, err
	}
	if err := c.start(); err != nil {
		return 0, err
	}
	time.Sleep(time.Second) // the worker has been there for a while
	at := seconds(time.Now())
	if err := happens(c); err != nil {
		return 0, err
	}
	began, err := c.next(1)
	return began - at, err
}

func (b *bench) workerKilled() (float64, error) {
	return b.takenOver(func(c *crew) error {
		_ = c.workers[0].Process.Kill()
		_ = c.workers[0].Wait()
		return nil
	})
}

// childKilled kills the process that carries a run: the parent of its action.
func (b *bench) childKilled() (float64, error) {
	return b.takenOver(func(c *crew) error {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.began()[0].pid))
		if err != nil {
			return &missingError{what: "the system has no /proc/PID/stat"}
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		parent, err := strconv.Atoi(fields[1])
		return cmp.Or(err, syscall.Kill(parent, syscall.SIGKILL))
	})
}

// drained is how long a worker that carries a run takes to end after it was asked to.
func (b *bench) drained() (took float64, err error) {
	_, err = b.takenOver(func(c *crew) error {
		begin := time.Now()
		err := c.workers[0].Process.Signal(syscall.SIGTERM)
		_ = c.workers[0].Wait()
		took = since(begin)
		return err
	})
	return took, err
}

// withdrawn is how long stop takes for a run that is queued.
func (b *bench) withdrawn() (_ float64, err error) {
	c, err := b.newCrew(0, placedLoop)
	if err != nil {
		return 0, err
	}
	if _, err := c.ask("submit", "placed", "--quiet"); err != nil {
		return 0, err
	}
	return b.program(c.project, append([]string{"stop", "placed"}, c.flags...)...)
}

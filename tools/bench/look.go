package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// aliveLoop says one line and then nothing, for longer than any bench.
const aliveLoop = `name: alive
initial: a
states:
  a: {action: "echo up; sleep 600", next: end}
  end: {terminal: true}
`

// inDatabase is inArchive with the runs in SQLite.
func (b *bench) inDatabase(runs int, args ...string) (float64, error) {
	if b.database == "" {
		if _, err := b.inArchive(runs, "version"); err != nil {
			return 0, err
		}
		if _, err := b.program(b.archives[runs], "store", "copy", "dir", "sqlite:.loops/runs.db"); err != nil {
			return 0, err
		}
		b.database = b.archives[runs]
	}
	return b.program(b.database, append(args, "--store", "sqlite:.loops/runs.db")...)
}

// reported is the project of a run of 10,000 steps, made once.
func (b *bench) reported() (project string, err error) {
	if b.longRunDir != "" {
		return b.longRunDir, nil
	}
	if project, err = b.project(decisionLoop); err != nil {
		return "", err
	}
	if _, err := b.program(project, "run", "decision", "--max-steps", "10000", "--quiet"); err != nil {
		return "", err
	}
	b.longRunDir = project
	return project, nil
}

// report is the time of a report of that run.
func (b *bench) report() (float64, error) {
	project, err := b.reported()
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(filepath.Join(project, "page.html")); err != nil {
		return 0, err
	}
	return b.program(project, "report", "decision", "-o", "page.html")
}

// reportSize is the size of the page, in MB.
func (b *bench) reportSize() (float64, error) {
	if _, err := b.report(); err != nil {
		return 0, err
	}
	info, err := os.Stat(filepath.Join(b.longRunDir, "page.html"))
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

// attach is how long it takes until attach shows the first of a running run, from its start.
func (b *bench) attach() (seconds float64, err error) {
	project, err := b.project(aliveLoop)
	if err != nil {
		return 0, err
	}
	if _, err := b.program(project, "run", "alive", "-b", "--quiet"); err != nil {
		return 0, err
	}
	defer func() {
		_, stopped := b.program(project, "stop", "alive")
		err = errors.Join(err, stopped)
	}()
	cmd := b.command(project, "attach", "alive")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	n, err := out.Read(make([]byte, 1))
	seconds = since(begin)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if n == 0 {
		return 0, fmt.Errorf("attach shows nothing: %w", err)
	}
	return seconds, nil
}

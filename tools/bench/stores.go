package main

import (
	"context"
	"errors"
	"fmt"

	"loops/internal/testenv"
)

// store returns the flags that have runs recorded in one of the stores, in a fresh database of the project.
func (b *bench) store(name string) ([]string, error) {
	switch name {
	case "sqlite":
		return []string{"--store", "sqlite:.loops/runs.db"}, nil
	case "postgres":
		if b.postgres == nil {
			s, err := testenv.StartPostgres(context.Background(), "listen_addresses = '127.0.0.1'")
			if errors.Is(err, testenv.ErrNoPostgres) {
				return nil, &missingError{what: err.Error()}
			}
			if err != nil {
				return nil, err
			}
			b.postgres = s
		}
		return []string{"--store", fmt.Sprintf("postgres://loops@127.0.0.1:%d/postgres?sslmode=disable",
			b.postgres.Port)}, nil
	}
	return nil, nil
}

func (b *bench) close() error {
	if b.postgres == nil {
		return nil
	}
	return b.postgres.Remove()
}

// shellTransition compares one step of a long run with a spawn of the same bash in this process, half of them
// before and half after the run.
func (b *bench) shellTransition(store string) (float64, error) {
	flags, err := b.store(store)
	if err != nil {
		return 0, err
	}
	before, err1 := b.spawns("true", transitions/2)
	step, err2 := b.perStep(shellLoop, transitions, flags...)
	after, err3 := b.spawns("true", transitions/2)
	return step / ((before + after) / 2).Seconds(), errors.Join(err1, err2, err3)
}

// decision is the time of a transition without an action, where those of 50 ms are at risk together.
func (b *bench) decision(store string) (float64, error) {
	flags, err := b.store(store)
	if err != nil {
		return 0, err
	}
	return b.perStep(decisionLoop, decisions, append(flags, "--durability", "grouped")...)
}

// longRun is the memory of a run of very many decisions.
func (b *bench) longRun(n int) (float64, error) {
	return b.peak(decisionLoop, "--max-steps", fmt.Sprint(n), "--quiet")
}

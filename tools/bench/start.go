package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const starts = 20

// start is what the program takes to say its version, above a Go program that does nothing.
func (b *bench) start() (float64, error) {
	idle, err := b.idleProgram()
	if err != nil {
		return 0, err
	}
	before, err1 := spawnsOf(starts/2, idle)
	took, err2 := spawnsOf(starts, b.bin, "version")
	after, err3 := spawnsOf(starts/2, idle)
	return (took - (before+after)/2).Seconds(), errors.Join(err1, err2, err3)
}

// idleProgram builds the program that does nothing, the first time.
func (b *bench) idleProgram() (string, error) {
	if b.idle != "" {
		return b.idle, nil
	}
	dir := filepath.Join(b.dir, "idle")
	path := filepath.Join(dir, "idle")
	err := errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module idle\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644),
	)
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	b.idle = path
	return path, nil
}

// size is that of the program as make build makes it.
func (b *bench) size() (float64, error) {
	st, err := os.Stat(b.bin)
	if err != nil {
		return 0, err
	}
	return float64(st.Size()) / 1e6, nil
}

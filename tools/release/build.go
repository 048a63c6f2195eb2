package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// identify finds out which version this is. A clone with changes that are not committed is no release, but may
// be tried: its version says so.
func (r *release) identify(ctx context.Context) error {
	var err error
	if r.commit, err = git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.date = time.Unix(n, 0).UTC()
	if r.version == "" {
		if tag, err := git(ctx, "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
			r.version = tag
		} else {
			r.version = "0.0.0-" + r.date.Format("20060102150405") + "-" + r.commit[:12]
		}
		if changed, err := git(ctx, "status", "--porcelain", "--untracked-files=no"); err != nil {
			return err
		} else if changed != "" {
			r.version += ".dirty"
		}
	}
	r.version = strings.TrimPrefix(r.version, "v")
	return nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := output(ctx, nil, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// output runs a program and returns what it printed. What it said on standard error is part of the error.
func output(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said.Bytes())
	}
	return out.Bytes(), nil
}

// programs builds one for each platform. What names this machine or this moment is left out: paths (-trimpath),
// the build id of the linker and the state of the clone, which -X passes.
func (r *release) programs(ctx context.Context) error {
	const pkg = "loops/cmd/loops/cli."
	ld := fmt.Sprintf("-s -w -buildid= -X %sversion=%s -X %scommit=%s -X %sdate=%s", pkg, r.version, pkg, r.commit,
		pkg, r.date.Format(time.RFC3339))
	for _, t := range r.targets {
		env := []string{
			"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=",
			"GOWORK=off",
		}
		if _, err := output(ctx, env, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", ld,
			"-o", r.program(t), "./cmd/loops"); err != nil {
			return err
		}
	}
	return nil
}

// documents lets the program write its manual pages and completions. They are the same for all platforms, so a
// program of this machine writes them, which is built if it is not one of the release's.
func (r *release) documents(ctx context.Context) error {
	program := r.program(target{runtime.GOOS, runtime.GOARCH})
	if _, err := os.Stat(program); err != nil {
		program = filepath.Join(r.work, "own")
		if _, err := output(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-ldflags",
			"-X loops/cmd/loops/cli.version="+r.version, "-o", program, "./cmd/loops"); err != nil {
			return err
		}
	}
	man := filepath.Join(r.work, "man")
	if _, err := output(ctx, nil, program, "man", "-o", man); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if err := writeGzip(page+".gz", text); err != nil {
			return err
		}
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	dir := filepath.Join(r.work, "completions")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // of a release
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := output(ctx, nil, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "loops."+shell), text, 0o644); err != nil { //nolint:gosec // of a release
			return err
		}
	}
	return nil
}

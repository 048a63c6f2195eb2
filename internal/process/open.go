package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// openFails is how long a program that opens a file may take to say that it cannot.
const openFails = 2 * time.Second

// OpenFile opens a file with the program browser, or, where that is empty, with what the desktop opens it with.
// The program has the environment env and outlives this process.
func OpenFile(ctx context.Context, path, browser string, env []string) error {
	program := browser
	if program == "" {
		program = map[string]string{"darwin": "open"}[runtime.GOOS]
	}
	if program == "" {
		program = "xdg-open"
	}
	found, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("there is no program %s here; set BROWSER to one", program)
	}
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), found, path)
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case err := <-over:
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
	case <-time.After(openFails): // it shows the file as long as the user likes
	}
	return nil
}

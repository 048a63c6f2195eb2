package testenv

import (
	"flag"
	"testing"
)

var every = flag.Bool("every-cli", false, "drive every agent CLI, also where one stands for all")

// EachCLI runs test with each of the CLIs, at once; under the race detector with one, because they are other programs.
func EachCLI(t *testing.T, test func(t *testing.T, cli string)) {
	clis := AgentCLIs
	if Raced && !*every {
		clis = []string{"codex"}
	}
	for _, cli := range clis {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			test(t, cli)
		})
	}
}

// WithCLI runs test with one of the CLIs, where what is tested is the same with all of them; with each if
// -every-cli is set.
func WithCLI(t *testing.T, cli string, test func(t *testing.T, cli string)) {
	if *every {
		EachCLI(t, test)
		return
	}
	t.Run(cli, func(t *testing.T) { test(t, cli) })
}

// EveryCLI reports whether what takes long with a CLI is to be tried too: -every-cli is set.
func EveryCLI() bool { return *every }

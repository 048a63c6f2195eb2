// Command loops runs state machines written in YAML until they are done, and remembers every step.
package main

import (
	"os"

	"loops/cmd/loops/cli"
	"loops/internal/sandbox"
)

func main() {
	sandbox.Enter()
	os.Exit(cli.Main(os.Args[1:], cli.System()))
}

// Command loops runs state machines written in YAML until they are done, and remembers every step.
package main

import (
	"os"

	_ "modernc.org/sqlite" // the driver of persistence/sqlstore

	"loops/cmd/loops/cli"
	"loops/internal/sandbox"
)

func main() {
	sandbox.Enter()
	os.Exit(cli.Main(os.Args[1:], cli.System()))
}

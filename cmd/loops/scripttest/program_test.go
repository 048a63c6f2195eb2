// Package scripttest has the scripts of testdata/script, which use the real program as in a shell: with their records in
// files, in SQLite and in PostgreSQL.
package scripttest

import (
	"os"
	"testing"

	"loops/internal/programtest"
)

func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }

var (
	binary        = programtest.Binary
	must          = programtest.Must
	startPostgres = programtest.Postgres
	torture       = programtest.Torture
)

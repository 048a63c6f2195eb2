package sqlstore_test

import (
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"modernc.org/sqlite"

	"loops/internal/testenv"
	"loops/persistence/sqlstore"
)

const dieAtStatement = "LOOPS_TEST_MIGRATE"

// TestMigrationKilledAtEachStatement: a process that is killed while it brings a database up to date leaves the
// version before, and the next one brings it up to date.
func TestMigrationKilledAtEachStatement(t *testing.T) {
	// Not parallel: the test changes the migrations of the package.
	if at := os.Getenv(dieAtStatement); at != "" {
		dieIn(t, at)
		return
	}
	each(t, func(t *testing.T, location func(testing.TB) string) {
		all := sqlstore.MigrationStatements()
		for n := 1; n <= all+1; n = max(n+1, min(n+testenv.Some(6, 1), all)) { // the first and the last are among them
			at := location(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestMigrationKilledAtEachStatement$",
				"-test.count=1")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", dieAtStatement, n, at))
			out, err := cmd.CombinedOutput()
			if err == nil {
				if n <= all {
					t.Fatalf("it survived statement %d:\n%s", n, out)
				}
				continue
			}
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("statement %d: %v\n%s", n, err, out)
			}
			s := opened(t, at)
			var version int
			must(t, s.Ask(t.Context(), &version, `SELECT max(version) FROM schema_migrations`))
			if version == 0 {
				t.Errorf("statement %d: the database has no version", n)
			}
			must(t, create(t, s, elsewhere).Close(t.Context()))
			must(t, s.Close())
		}
	})
}

// dieIn opens a database as a process that is killed at a statement of the migrations.
func dieIn(t *testing.T, at string) {
	var n int
	number, location, _ := strings.Cut(at, " ")
	if _, err := fmt.Sscan(number, &n); err != nil {
		t.Fatal(err)
	}
	must(t, sqlite.RegisterScalarFunction("die", 0,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}))
	die := "SELECT die()"
	if strings.HasPrefix(location, "postgres") {
		die = "SELECT pg_terminate_backend(pg_backend_pid())"
	}
	sqlstore.BeforeMigrationStatement(n, die)
	s, err := sqlstore.Open(t.Context(), location)
	if err != nil { // the server ended its side; this side ends, too
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	must(t, s.Close())
}

package sqlstore_test

import (
	"testing"

	lib "modernc.org/sqlite/lib"

	"loops/persistence/sqlstore"
)

// TestCodes: the result codes of SQLite are those that the driver returns.
func TestCodes(t *testing.T) {
	t.Parallel()
	for name, code := range map[string][2]int{
		"busy": {sqlstore.CodeBusy, lib.SQLITE_BUSY}, "locked": {sqlstore.CodeLocked, lib.SQLITE_LOCKED},
		"readonly": {sqlstore.CodeReadOnly, lib.SQLITE_READONLY}, "ioerr": {sqlstore.CodeIOError, lib.SQLITE_IOERR},
		"corrupt": {sqlstore.CodeCorrupt, lib.SQLITE_CORRUPT}, "full": {sqlstore.CodeFull, lib.SQLITE_FULL},
		"cantopen":   {sqlstore.CodeCannotOpen, lib.SQLITE_CANTOPEN},
		"protocol":   {sqlstore.CodeProtocol, lib.SQLITE_PROTOCOL},
		"constraint": {sqlstore.CodeConstraint, lib.SQLITE_CONSTRAINT},
		"notadb":     {sqlstore.CodeNotADB, lib.SQLITE_NOTADB},
	} {
		if code[0] != code[1] {
			t.Errorf("%s is %d, want %d", name, code[0], code[1])
		}
	}
}

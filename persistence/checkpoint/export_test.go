package checkpoint

import (
	"bytes"
	"os"
	"testing"
)

// Newer makes a checkpoint one of a newer version, and returns the content of the file.
func Newer(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b[:len(b)-checkLen], []byte(`{"checkpoint":1`), []byte(`{"checkpoint":2`), 1)
	b = appendSum(b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

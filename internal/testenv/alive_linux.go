package testenv

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Alive returns the processes that have that variable, NAME=value, in their environment: pid and command line. It
// asks the kernel, so it finds processes that nothing else keeps track of.
func Alive(t testing.TB, variable string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it ended, or is not ours
		}
		for v := range bytes.SplitSeq(data, []byte{0}) {
			if string(v) != variable {
				continue
			}
			dir := filepath.Dir(file)
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && pid != os.Getpid() && len(line) > 0 {
				found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
			}
			break
		}
	}
	return found
}

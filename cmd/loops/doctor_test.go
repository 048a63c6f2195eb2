package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On a terminal doctor asks before it sends a prompt, and takes anything but a yes for a no.
func TestDoctorAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		sent   bool
	}{
		{"y\n", true},
		{"Yes\n", true},
		{"n\n", false},
		{"\n", false},
		{"why\n", false},
		{"\x04", false},
		{"\x03", false},
	} {
		t.Run(strings.TrimSpace(c.answer), func(t *testing.T) {
			t.Parallel()
			tools, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
			fake := "#!/bin/sh\n[ \"$1\" = --version ] && { echo 1.2.3; exit; }\necho asked >> '" + asked + "'\n" +
				`echo '{"type":"assistant","message":{"content":[{"type":"text","text":"ready"}]}}'` + "\n" +
				`echo '{"type":"result","subtype":"success","is_error":false,"result":"ready","usage":{"input_tokens":1,"output_tokens":1}}'` +
				"\n"
			must(t, os.WriteFile(filepath.Join(tools, "claude"), []byte(fake), 0o755))
			env := []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "TERM=xterm"}
			const question = "[y/N]"
			out := onTerminal(t, 40, 200, env, question, func(tty *os.File, _ *os.Process) {
				_, _ = tty.WriteString(c.answer)
			}, "doctor", "--host", "claude")
			if !strings.Contains(out, "Send one tiny prompt and one tiny question to claude?") {
				t.Errorf("it does not ask:\n%s", out)
			}
			_, err := os.Stat(asked)
			if sent := err == nil; sent != c.sent {
				t.Errorf("sent %v, want %v:\n%s", sent, c.sent, out)
			}
			if c.sent != strings.Contains(out, "login works") {
				t.Errorf("login:\n%s", out)
			}
		})
	}
}

package fsm

import "testing"

// TestPushRefused: which actions and which words of git suspend a run, and by what.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	const https, ssh = "fatal: Authentication failed for 'https://user@git.example.com/a.git/'",
		"git@git.example.com: Permission denied (publickey).\nfatal: Could not read from remote repository."
	for name, c := range map[string]struct{ action, stderr, by string }{
		"https": {"git push", https, "git:git.example.com"},
		"ssh":   {"git push -q origin main", ssh, "git:git.example.com"},
		"no terminal": {"git push", "fatal: could not read Username for 'https://git.example.com': terminal " +
			"prompts disabled", "git:git.example.com"},
		"403": {"git push", "fatal: unable to access 'https://git.example.com/a.git/': The " +
			"requested URL returned error: 403", "git:git.example.com"},
		"no server named": {"git push", "Permission denied (publickey).", "git:origin"},
		"after other lines": {
			"make\nlease=\ngit -C sub -c a.b=c push $lease origin HEAD\n", https,
			"git:git.example.com",
		},
		"after another":      {"git commit -qm x && GIT_SSH_COMMAND=x git push", https, "git:git.example.com"},
		"exec":               {"exec git push", https, "git:git.example.com"},
		"something follows":  {"git push; echo done", https, ""},
		"a test that pushes": {"make test", https, ""},
		"only printed":       {"echo git push", https, ""},
		"another command":    {"git pull", https, ""},
		"it was rejected": {
			"git push",
			" ! [rejected] main -> main (fetch first)\n" +
				"error: failed to push some refs to 'https://git.example.com/a.git'", "",
		},
		"it was not reached": {"git push", "fatal: unable to access 'https://git.example.com/a.git/': Could not " +
			"resolve host: git.example.com", ""},
		"nothing was said":    {"git push", "", ""},
		"a branch named push": {"git switch push", https, ""},
	} {
		if got := pushRefused(&State{Action: c.action}, &Result{ExitCode: 128, Stderr: c.stderr}); got != c.by {
			t.Errorf("%s: %q, want %q", name, got, c.by)
		}
	}
}

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxArg is the longest single argument that Linux takes, without its final NUL.
const maxArg = 128<<10 - 1

// commonEnv is what every host's environment has more: the names are little-loops', so that people's hooks and
// scripts find what they know.
func commonEnv(r Request) []string {
	env := []string{"LL_NON_INTERACTIVE=1", "LL_AUTOMATION=", "LL_AUTOMATION_PROFILE="}
	if r.Skip {
		env = append(env, "DANGEROUSLY_SKIP_PERMISSIONS=1")
	}
	return env
}

// checkWords refuses what would be read as a flag of the host, or could not be an argument at all.
func checkWords(name string, r Request) error {
	words := []struct{ what, value string }{
		{"model", r.Model},
		{"agent", r.Agent},
		{"effort", r.Effort},
		{"session", r.Session},
		{"tools", strings.Join(r.Tools, ",")},
	}
	for _, w := range words {
		switch {
		case strings.HasPrefix(w.value, "-"):
			return fmt.Errorf("%s: %s would take it as a flag, since it begins with a dash: %.60q", w.what, name,
				w.value)
		case strings.ContainsAny(w.value, "\x00\n"):
			return fmt.Errorf("%s is not one word: %.60q", w.what, w.value)
		case len(w.value) > maxArg:
			return fmt.Errorf("%s has %d bytes; at most %d can be handed to %s", w.what, len(w.value), maxArg, name)
		}
	}
	return nil
}

// scratchFile writes a file for the host alone and returns its absolute name.
func scratchFile(r Request, name, text string) (string, error) {
	if r.Scratch == "" {
		return "", fmt.Errorf("no folder for %s was given", name)
	}
	path, err := filepath.Abs(filepath.Join(r.Scratch, name))
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// ignored are the keys of a loop file that r has set and has nothing for.
func ignored(r Request, has Features) []string {
	var keys []string
	for _, k := range []struct {
		name      string
		set, does bool
	}{
		{"model", r.Model != "", has.Model},
		{"agent", r.Agent != "", has.Agent},
		{"tools", r.Tools != nil, has.Tools},
		{"effort", r.Effort != "", has.Effort},
		{"session_mode", r.Session != "", has.Session},
		{"permissions", r.Skip, has.Permissions},
	} {
		if k.set && !k.does {
			keys = append(keys, k.name)
		}
	}
	return keys
}

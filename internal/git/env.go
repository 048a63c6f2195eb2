package git

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// foreign are the variables by which git passes its repository on to what it starts. A hook has them, and loops
// in a hook: with them, git in a work tree would work on the repository around it.
var foreign = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE",
	"GIT_NO_REPLACE_OBJECTS",
	"GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX",
	"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
}

// Untied returns an environment without what ties git to a repository.
func Untied(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(foreign, name)
	})
}

// Ceiling is the variable with the folders that git does not look into for a repository when it has found none below.
const Ceiling = "GIT_CEILING_DIRECTORIES"

// Below returns the value of [Ceiling] with which git also stays below dir.
func Below(env []string, dir string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, Ceiling+"="); ok && value != "" {
			return value + ":" + dir
		}
	}
	return dir
}

// quiet are settings under which git asks no program for a signature, which may ask a person, for ever, and none for
// the files that changed.
var quiet = []string{"commit.gpgSign=false", "tag.gpgSign=false", "push.gpgSign=false", "core.fsmonitor=false"}

// Settings returns the variables of git that the program itself starts, as name and value: it asks for no
// password, opens no editor and signs nothing, and the bash that starts it reads no file first, prints nothing
// of its own, and is set as ever. For a run with a sandbox hooks is the folder of the hooks
// that no action can change, the only ones that it starts; "" = there is no sandbox. The variables are added to
// env, which may have settings for git already.
func Settings(env []string, hooks string) (vars [][2]string) {
	settings := quiet
	if hooks != "" {
		settings = slices.Concat(quiet, []string{"core.hooksPath=" + hooks, "safe.bareRepository=explicit"})
	}
	n := 0
	for _, kv := range env {
		if count, ok := strings.CutPrefix(kv, "GIT_CONFIG_COUNT="); ok {
			n, _ = strconv.Atoi(count) // git refuses one that is no number; ours takes its place
		}
	}
	vars = [][2]string{
		{"BASH_ENV", ""},
		{"SHELLOPTS", ""},
		{"BASHOPTS", ""},
		{"CDPATH", ""},
		{"GIT_TERMINAL_PROMPT", "0"},
		{"GIT_EDITOR", "true"},
		{"GIT_SEQUENCE_EDITOR", "true"},
		{"GIT_CONFIG_COUNT", strconv.Itoa(n + len(settings))},
	}
	for i, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		vars = append(vars, [2]string{fmt.Sprintf("GIT_CONFIG_KEY_%d", n+i), key},
			[2]string{fmt.Sprintf("GIT_CONFIG_VALUE_%d", n+i), value})
	}
	return vars
}

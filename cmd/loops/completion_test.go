package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bashTab does what bash does for the tab key: it calls the function that was registered for loops with the
// words of the line. The package bash-completion, of which the script asks for one function, need not be there.
const bashTab = `
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; }
source <(loops completion bash) || exit
COMP_TYPE=9 COMP_KEY=9 COLUMNS=80
enable -n compopt
while IFS= read -r line; do
	eval "COMP_WORDS=($line)"
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=${COMP_WORDS[*]} COMP_POINT=${#COMP_LINE} COMPREPLY=()
	function=$(complete -p loops | sed 's/.*-F \([^ ]*\).*/\1/')
	$function loops "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
	(IFS='|'; echo "$line: ${COMPREPLY[*]}")
done
`

// TestBashCompletes presses the tab key in a real bash.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bin, dir := binary(t), t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "fix.yaml"),
		[]byte("name: fix\ndescription: a 'quoted' $text\ninitial: a\ncontext: {retries: 3}\nstates:\n"+
			"  a: {action: \"true\", next: done}\n  done: {terminal: true}\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "other.yaml"),
		[]byte("name: other\ninitial: a\nstates:\n  a: {terminal: true}\n"), 0o644))
	// Bash would type what two of these begin with, and run it at the next key.
	for _, name := range []string{
		"$(touch run)1", "$(touch run)2", "`touch run`1", "`touch run`2", "a;touch run",
		"tab\tx", "line\nx",
	} {
		must(t, os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"),
			[]byte("name: x\ninitial: a\nstates:\n  a: {terminal: true}\n"), 0o644))
	}
	for _, name := range []string{"$(touch run).db", "fine.db"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "words.yaml"),
		[]byte("name: words\ninitial: a\ncontext: {$(k): 1, plain: 2}\nstates:\n  a: {next: $(s)}\n"+
			"  $(s): {next: done}\n  done: {terminal: true}\n"), 0o644))
	var asks []string
	var want strings.Builder
	for _, c := range [][2]string{
		{"loops run f", "fix"},
		{"loops run ''", "fix    (a 'quoted' $text)|other|words"},
		{"loops render words ''", "a     (the initial state)|done  (an end)"},
		{"loops run words --context ''", "plain="},
		{"loops status --store sqlite:", ".loops/|fine.db"},
		{"loops -C .loops render fix ''", "a     (true)|done  (an end)"},
		{"loops stop ''", ""},
		{"loops unp", "unpause"},
		{"loops graph fix --format m", "mermaid"},
		{"loops graph --format ''", "text|mermaid|dot|svg|html"},
		{"loops run fix --context ''", "retries="},
		{"loops run fix --host=cl", "claude"},
		{"loops nosuch ''", ""},
	} {
		asks = append(asks, c[0])
		want.WriteString(c[0] + ": " + c[1] + "\n")
	}
	cmd := exec.Command("bash", "--norc", "-c", bashTab)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(asks, "\n")+"\n")
	cmd.Env = append(cleanEnv(bin, dir), "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	if got := string(out); got != want.String() {
		t.Errorf("bash offers\n%s\nwant\n%s", got, want.String())
	}
}

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHostileCases: a file of tests that is no such thing is reported with file, line and column, as a bad file.
func TestHostileCases(t *testing.T) {
	t.Parallel()
	at := regexp.MustCompile(`\.loops/x\.test\.yaml:\d+:\d+: error: `)
	for name, text := range map[string]string{
		"empty":         "",
		"a list":        "- a\n- b\n",
		"a text":        "hello\n",
		"null":          "null\n",
		"binary":        "\x7fELF\x00\x01\x02\xff\xfe",
		"no UTF-8":      "cases:\n  a: {expect: {state: \"\xff\"}}\n",
		"not YAML":      "cases: {a: [\n",
		"tab":           "cases:\n\ta: 1\n",
		"two documents": "cases: {a: {expect: {outcome: completed}}}\n---\ncases: {}\n",
		"deep":          "cases: " + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "\n",
		"deep maps": "cases: {a: {context: " + strings.Repeat("{a: ", 5000) + "1" + strings.Repeat("}", 5000) +
			"}}\n",
		"aliases": "cases:\n  a: &a {context: {x: [1, 2, 3, 4]}}\n" +
			"  b: {context: {l: [*a, *a, *a, *a]}, expect: *a}\n",
		"itself":           "cases: &a {a: *a}\n",
		"huge":             "cases: {a: {expect: {outcom: \"" + strings.Repeat("x", 9<<20) + "\"}}}\n",
		"two of a name":    "cases:\n  a: {expect: {outcome: completed}}\n  a: {expect: {outcome: failed}}\n",
		"two keys":         "cases:\n  a: {expect: {outcome: completed}, expect: {outcome: failed}}\n",
		"cases of a list":  "cases: [1, 2]\n",
		"cases of none":    "cases: {}\n",
		"a case of a text": "cases: {a: b}\n",
		"answers of texts": "cases: {a: {answers: yes please, expect: {outcome: completed}}}\n",
		"answer of a list": "cases: {a: {answers: {one: [[1]]}, expect: {outcome: completed}}}\n",
		"exit code": "cases: {a: {answers: {one: {exit_code: 99999999999999999999}}, expect: {outcome: " +
			"completed}}}\n",
		"path of numbers": "cases: {a: {expect: {path: {x: 1}}}}\n",
		"cost":            "cases: {a: {expect: {max_cost_usd: much}}}\n",
		"files outside":   "cases: {a: {files: {../../x: y}, expect: {outcome: completed}}}\n",
		"files of a list": "cases: {a: {files: [1], expect: {outcome: completed}}}\n",
		"unknown key":     "cases: {a: {expect: {outcom: completed}}}\nmore: 1\n",
		"control":         "cases: {\"a\\e[31m\": {expect: {outcom: completed}}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, ".loops", "x.yaml"),
				[]byte("name: x\ninitial: one\nstates:\n  one: {action: 'true', next: done}\n"+
					"  done: {terminal: true}\n"), 0o644))
			must(t, os.WriteFile(filepath.Join(dir, ".loops", "x.test.yaml"), []byte(text), 0o644))
			cmd := exec.Command(binary(t), "test", "x")
			cmd.Dir, cmd.Env = dir, cleanEnv(binary(t), dir)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 3 || !at.Match(out) ||
				strings.Contains(string(out), "panic") || strings.Contains(string(out), "\x1b") || len(out) > 20000 {
				t.Errorf("exit code %d, %d bytes:\n%.600s", code, len(out), out)
			}
		})
	}
}

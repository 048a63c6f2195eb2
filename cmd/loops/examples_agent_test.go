package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An agent that fixes the package of the examples, and a judge that quotes a line of what it did. VERDICT and EVIDENCE
// are what the judge answers.
const exampleClaude = `#!/bin/bash
prompt=$(printf '%s ' "$@"; [ -t 0 ] || cat)
case $prompt in *stream-json*)
  dir=$(grep -o '/[^ ]*/pkg ' <<< "$prompt" | head -n 1)
  sed -i -e 's/"os"/"strings"/' -e '/total := 0/d' -e 's/i := 1;/i := 0;/' -e 's/%6d %d/%6d %s/' ${dir% }/wordcount.go
  echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Mended."}]}}'
  echo '{"type":"result","subtype":"success","is_error":false,"result":"Mended.","total_cost_usd":0.02,"usage":{"input_tokens":9,"output_tokens":3}}' ;;
*)
  echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.01,"usage":{"input_tokens":9,"output_tokens":3},"structured_output":{"verdict":"'$VERDICT'","confidence":1,"reason":"so it is","evidence":"'$EVIDENCE'"}}' ;;
esac
`

func TestExampleAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		verdict, evidence string
		exit              int
		want              string
	}{
		{name: "agent", verdict: "yes", evidence: `-\ttotal := 0`, want: "yes (so it is) -> done"},
		{name: "agent", verdict: "no", evidence: `-\ttotal := 0`, exit: 1, want: "no (so it is) -> failed"},
		{name: "agent", verdict: "yes", evidence: "nothing of the kind", exit: 1, want: "cannot_judge"},
	} {
		t.Run(c.verdict+" "+c.evidence, func(t *testing.T) {
			t.Parallel()
			d := newExampleDir(t)
			bin := t.TempDir()
			must(t, os.WriteFile(filepath.Join(bin, "claude"), []byte(exampleClaude), 0o755))
			d.env = append(d.env, "PATH="+bin+":"+os.Getenv("PATH"), "VERDICT="+c.verdict, "EVIDENCE="+c.evidence)
			exit, out := d.loops(t, "run", examples+"/"+c.name+".yaml")
			if exit != c.exit || !strings.Contains(out, c.want) {
				t.Fatalf("exits with %d, want %d and %q:\n%s", exit, c.exit, c.want, out)
			}
		})
	}
}

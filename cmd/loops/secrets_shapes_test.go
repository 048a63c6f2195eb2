package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// tokenShapes are the beginnings of tokens of twenty kinds, with the letters and the number of them that follow.
var tokenShapes = []struct {
	prefix, letters string
	count           int
}{
	{"sk-ant-api03-", alphanumeric, 60},
	{"sk-proj-", alphanumeric, 48},
	{"sk-", alphanumeric, 48},
	{"ghp_", alphanumeric, 36},
	{"gho_", alphanumeric, 36},
	{"github_pat_", alphanumeric, 60},
	{"glpat-", alphanumeric, 20},
	{"AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16},
	{"AIza", alphanumeric, 35},
	{"GOCSPX-", alphanumeric, 28},
	{"xoxb-", alphanumeric, 40},
	{"sk_live_", alphanumeric, 24},
	{"whsec_", alphanumeric, 32},
	{"npm_", alphanumeric, 36},
	{"pypi-", alphanumeric, 100},
	{"hf_", alphanumeric, 34},
	{"dop_v1_", "0123456789abcdef", 64},
	{"shpat_", "0123456789abcdef", 32},
	{"hvs.", alphanumeric, 24},
	{"gsk_", alphanumeric, 52},
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const shapesLoop = `name: leak
description: a test
initial: say
secrets: [NAMED]
states:
  say: {action: 'cat "$LIST" && cat "$LIST" >&2', capture: said, next: each}
  each: {for_each: {command: 'head -n 5 "$LIST"'}, action: 'echo "$LOOPS_ITEM"', capture: items, next: fails}
  fails: {action: 'echo "${captured.said.output}" | tail -n 3; tail -n 1 "$LIST" >&2; exit 1', on_yes: done, on_no: done, on_error: done}
  done: {terminal: true}
`

// secretsOfEachShape returns 200 tokens of 20 shapes and a named secret in each form in which programs print it, the
// named secret itself, and a text that has them all.
func secretsOfEachShape(t *testing.T) (secrets []string, named, text string) {
	t.Helper()
	r := rand.New(rand.NewPCG(39, 5))
	var list strings.Builder
	for n := range 200 {
		shape := tokenShapes[n%len(tokenShapes)]
		b := []byte(shape.prefix)
		for range shape.count {
			b = append(b, shape.letters[r.IntN(len(shape.letters))])
		}
		secrets = append(secrets, string(b))
		fmt.Fprintf(&list,
			[]string{
				"the key is %s.\n", "{\"key\": \"%s\", \"n\": 1}\n", "KEY=%s\n",
				"curl -H 'Authorization: Bearer %s'\n", "\"one\\n%s\\ttwo\"\n",
			}[n%5], b)
	}
	named = `p"a\ss<w> é/+` + alphanumeric
	quoted, err := json.Marshal(named)
	must(t, err)
	forms := []string{named, strings.Trim(string(quoted), `"`), url.QueryEscape(named), url.PathEscape(named)}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + named + "tail"))
		fmt.Fprintln(&list, text)
		forms = append(forms, text[8:60])
	}
	for _, form := range forms[:4] {
		fmt.Fprintf(&list, "it is %s!\n", form)
	}
	if len(secrets) != 200 || len(tokenShapes) != 20 {
		t.Fatalf("%d secrets of %d shapes", len(secrets), len(tokenShapes))
	}
	return append(secrets, forms...), named, list.String()
}

// 200 secrets of 20 shapes, and one with a name in each form in which programs print it, are in no file that
// loops writes but the one that keeps them, in no output of its commands, and on no page.
func TestSecretsOfEachShape(t *testing.T) {
	t.Parallel()
	secrets, named, list := secretsOfEachShape(t)
	dir, file := filepath.Join(t.TempDir(), "leaky"), filepath.Join(t.TempDir(), "list")
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/leak.yaml"), shapesLoop)
	writeText(t, file, list)
	seen := 0
	holds := func(where string, b []byte) {
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds %s", where, s)
			}
		}
		seen += bytes.Count(b, []byte("***("))
	}
	env := append(cleanEnv(binary(t), dir), "LIST="+file, "NAMED="+named)
	for _, line := range []string{
		"run leak", "run leak --json", "status leak", "status leak --json", "history leak --json", "events leak",
		"events leak --json", "logs leak --raw", "explain leak", "explain leak 1",
		"explain leak 2", "report leak --html", "receipt leak --json", "stats leak", "list --json",
		"doctor --secrets", "export leak -o bundle.tar.gz", "run -b leak", "attach leak",
	} {
		out, errs, _ := answer(t, dir, env, strings.Fields(line)...)
		holds("loops "+line, []byte(out+errs))
	}
	s := startServe(t, dir)
	id := strings.Trim(testenv.Loops(t, dir, env, "history", "leak", "--jq", ".[0].instance_id"), "\"\n ")
	run := "/api/v1/projects/leaky/runs/" + id
	for _, path := range []string{
		"/", "/p/leaky/runs/" + id, "/p/leaky/runs/" + id + "/report", "/api/v1/runs", run,
		run + "/events", run + "/explain", run + "/report", run + "/receipt",
	} {
		status, text := s.ask("GET", path, "", "")
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
		holds("page "+path, []byte(text))
	}
	bundle, err := os.Open(filepath.Join(dir, "bundle.tar.gz"))
	must(t, err)
	defer func() { _ = bundle.Close() }()
	unpacked, err := gzip.NewReader(bundle)
	must(t, err)
	text, err := io.ReadAll(unpacked)
	must(t, err)
	holds("the bundle", text)
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == ".sealed" {
			return err
		}
		b, err := os.ReadFile(path)
		holds(path, b)
		return err
	}))
	if seen < 1000 {
		t.Errorf("%d placeholders are where secrets were", seen)
	}
}

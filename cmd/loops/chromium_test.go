package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loops/internal/testenv"
)

// consoleLine is a message in the console of Chromium: an error, a refused request, or what a script says.
var consoleLine = regexp.MustCompile(`(?m)^.*:CONSOLE[:(].*$`)

// TestPagesInChromium opens the pages that loops writes in a browser: no console message, no request, no
// script. The loop and its output try to bring all three about.
func TestPagesInChromium(t *testing.T) {
	t.Parallel()
	browser := testenv.Command(t, "chromium")
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	attack := `<script>console.log("script")</script><img src=` + server.URL + `/img onerror=console.log(1)><link rel=stylesheet href=` + server.URL + `/css>`
	writeText(t, filepath.Join(dir, ".loops/page.yaml"), `name: page
description: a test
initial: attack
states:
  attack:
    action: |
      cat attack.html # `+attack+`
      cat attack.html >&2; exit 1
    on_yes: done
    on_no: done
  done: {terminal: true}
`)
	writeText(t, filepath.Join(dir, "attack.html"), attack+"\n</pre></table></svg></style><!-- ]]>"+attack+"\n")
	loops := func(args ...string) {
		t.Helper()
		cmd := exec.Command(binary(t), append([]string{"-C", dir}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("loops %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	loops("run", "page")
	loops("report", "page", "-o", "report.html")
	loops("graph", "page", "--format", "html", "-o", "graph.html")
	loops("graph", "page", "--by", "time", "--format", "svg", "-o", "graph.svg")
	for _, name := range []string{"report.html", "graph.html", "graph.svg"} {
		dom, console := chromium(t, browser, filepath.Join(dir, name))
		if len(console) > 0 {
			t.Errorf("%s: the console says %q", name, console)
		}
		if !strings.Contains(dom, "attack") || strings.Contains(dom, "<script") || strings.Contains(dom, "<img") {
			t.Errorf("%s became\n%s", name, dom)
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests were made", n)
	}

	// What the test looks for can be seen.
	writeText(t, filepath.Join(dir, "control.html"), "<!DOCTYPE html><p>control</p>"+attack)
	if _, console := chromium(t, browser, filepath.Join(dir, "control.html")); len(console) == 0 || requests.Load() == 0 {
		t.Errorf("a page that runs a script and loads a picture: console %q, %d requests", console, requests.Load())
	}
}

// chromium opens a file and returns what the page became and what the console says.
func chromium(t *testing.T, browser, file string) (dom string, console []string) {
	t.Helper()
	profile, err := os.MkdirTemp("", "chromium")
	must(t, err)
	defer os.RemoveAll(profile) //nolint:errcheck // a helper of the browser may still write there
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--user-data-dir="+profile, "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom", "file://"+file)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium %s: %v\n%s", file, err, errs.String())
	}
	return out.String(), consoleLine.FindAllString(errs.String(), -1)
}

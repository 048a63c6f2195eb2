package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"loops/internal/testenv"
)

// TestPagesInChromium opens the pages that loops writes in a browser: no console message, no request, no
// script. The loop and its output try to bring all three about.
func TestPagesInChromium(t *testing.T) {
	t.Parallel()
	window := newWindow(t, startChromium(t))
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	attack := `<script>console.log("script")</script><img src=` + server.URL +
		`/img onerror=console.log(1)><link rel=stylesheet href=` + server.URL + `/css>`
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
		dom, console := chromium(t, window, filepath.Join(dir, name))
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
	if _, console := chromium(t, window, filepath.Join(dir, "control.html")); len(console) == 0 ||
		requests.Load() == 0 {
		t.Errorf("a page that runs a script and loads a picture: console %q, %d requests", console, requests.Load())
	}
}

// chromium opens a file and returns what the page became and what the console says.
func chromium(t *testing.T, window context.Context, file string) (dom string, console []string) {
	t.Helper()
	var mu sync.Mutex
	listening, done := context.WithCancel(window)
	defer done()
	chromedp.ListenTarget(listening, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded: // a refused request
			console = append(console, e.Entry.Text)
		case *runtime.EventConsoleAPICalled:
			console = append(console, e.Type.String())
		case *runtime.EventExceptionThrown:
			console = append(console, e.ExceptionDetails.Text)
		}
	})
	ctx, cancel := context.WithTimeout(window, testenv.Patience)
	defer cancel()
	// Messages come in order, so those of the page are there before the answer to the last question.
	must(t, chromedp.Run(ctx, chromedp.Navigate("file://"+file),
		chromedp.Evaluate(`document.documentElement.outerHTML`, &dom)))
	mu.Lock()
	defer mu.Unlock()
	return dom, slices.Clone(console)
}

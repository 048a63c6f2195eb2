package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gdamore/tcell/v3/color"
	"github.com/gdamore/tcell/v3/vt"

	"loops/internal/needs"
)

// pictures is where TestPictures leaves what it makes, for the README: make pictures.
var pictures = flag.String("pictures", "", "folder for the pictures of the README")

// The loops of the pictures: one fixes what its tests find and is completed, one fails for a reason, one is running.
const (
	pictureFix = `name: fix
description: Fixes the cart until its tests pass
scope: [fix]
initial: test
max_steps: 20
states:
  test:
    description: run the tests of the cart
    action: n=$(cat fixed 2>/dev/null || echo 0); [ "$n" -ge 2 ] || { echo "$((2 - n)) tests failed in cart_test.go"; exit 1; }
    on_yes: review
    on_no: fix
  fix:
    description: change the code
    action: echo $(($(cat fixed 2>/dev/null || echo 0) + 1)) >fixed; echo "changed cart.go"; sleep 0.3
    next: test
  review: {description: look for leftovers, action: "! grep -rn TODO fixed", on_yes: done, on_no: fix}
  done: {terminal: true}
`
	pictureDeploy = `name: deploy
description: Ships what was tested
scope: [deploy]
initial: build
states:
  build: {action: echo built, next: smoke}
  smoke: {action: "echo 'GET /cart: 502 Bad Gateway' >&2; exit 1", on_yes: done, on_no: failed}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`
	// It stays at step 12, where its picture is taken.
	pictureMetric = `name: metric
description: Lowers the number of warnings
scope: [metric]
initial: measure
max_steps: 900
max_edge_revisits: 5000
states:
  measure: {description: count the warnings, action: "echo 41 warnings; sleep 0.1; exit 1", on_yes: done, on_no: improve}
  improve: {description: change one of them, action: "echo 'cart.go:12: unused parameter'; echo 'rewrote cart.go'; [ $LOOPS_STEP = 12 ] && sleep 100 || sleep 0.2", next: measure}
  done: {terminal: true}
`
)

// TestPictures makes the pictures of the README from real runs: the screen of watch, the drawing of a run, and its report.
func TestPictures(t *testing.T) {
	t.Parallel()
	out := *pictures
	if out == "" {
		out = t.TempDir()
	}
	dir, env := watchProject(t, "dir", pictureMetric)
	for name, text := range map[string]string{"fix": pictureFix, "deploy": pictureDeploy} {
		must(t, os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"), []byte(text), 0o644))
		cmd := exec.Command(binary(t), "run", "-q", name)
		cmd.Dir, cmd.Env = dir, env
		if said, err := cmd.CombinedOutput(); (err == nil) != (name == "fix") {
			t.Fatalf("loops run %s: %v\n%s", name, err, said)
		}
	}
	graph := loopsIn(t, dir, env, "graph", "fix", "--by", "visits", "--format", "svg")
	wellFormed(t, "graph.svg", graph, "test", "2×")
	must(t, os.WriteFile(filepath.Join(out, "graph.svg"), []byte(graph), 0o644))

	page := filepath.Join(dir, "report.html")
	loopsIn(t, dir, env, "report", "fix", "-o", page)
	png := filepath.Join(out, "report.png")
	profile := t.TempDir()
	cmd := exec.Command(needs.Command(t, "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--user-data-dir="+profile, "--window-size=1000,900", "--screenshot="+png, "file://"+page)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, said)
	}
	if b, err := os.ReadFile(png); err != nil || !bytes.HasPrefix(b, []byte("\x89PNG\r\n")) || len(b) < 10_000 || len(b) > 400<<10 {
		t.Errorf("report.png has %d bytes, %v", len(b), err)
	}

	pictureOfRun(t, dir, filepath.Join(out, "run.png"))

	w := startWatch(t, dir, append(env, "NO_COLOR=", "TERM=xterm-256color"), 32, 146, "metric")
	w.see("▸▶ metric-")
	w.see("Log metric-")
	w.see("state smoke said no")
	w.see("41 warnings")
	w.see("12   improve")
	screen := w.svg()
	wellFormed(t, "watch.svg", screen, "metric-", "deploy-", "41 warnings")
	must(t, os.WriteFile(filepath.Join(out, "watch.svg"), []byte(screen), 0o644))
	w.press("q")
	w.end(0)
}

// pictureOfRun takes a picture of the page of a run in loops serve.
func pictureOfRun(t *testing.T, dir, png string) {
	t.Helper()
	chromium := startChromium(t)
	s := startServe(t, dir)
	b := s.page(t, chromium, "/?loop=fix")
	b.do(chromedp.EmulateViewport(1280, 960))
	b.click(`td.id a`)
	b.sees(`document.querySelector("#graph svg") !== null && document.getElementById("live").textContent === "live"`)
	var picture []byte
	b.do(chromedp.CaptureScreenshot(&picture))
	must(t, os.WriteFile(png, picture, 0o644))
	if len(picture) < 10_000 || len(picture) > 400<<10 {
		t.Errorf("%s has %d bytes", png, len(picture))
	}
}

func wellFormed(t *testing.T, name, svg string, holds ...string) {
	t.Helper()
	if !strings.HasPrefix(svg, "<svg") && !strings.HasPrefix(svg, "<?xml") || !strings.Contains(svg, "</svg>") {
		t.Errorf("%s is no drawing: %.200s", name, svg)
	}
	for _, text := range holds {
		if !strings.Contains(svg, text) {
			t.Errorf("%s has no %q", name, text)
		}
	}
}

// svg is what the terminal shows, as a picture.
func (w *watching) svg() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	size, err := w.screen.WindowSize()
	must(w.t, err)
	const wide, high, pad = 8, 18, 10
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">`+"\n",
		int(size.Width)*wide+2*pad, int(size.Height)*high+2*pad)
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#16181d"/>` + "\n")
	for y := range size.Height {
		for x := 0; x < int(size.Width); {
			c := w.screen.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
			style := inkOf(c.S)
			text := ""
			from := x
			for ; x < int(size.Width); x++ { // one piece of text for all that looks alike
				c := w.screen.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
				if inkOf(c.S) != style {
					break
				}
				if c.C == "" {
					c.C = " "
				}
				text += c.C
			}
			if style.reverse {
				fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#d8dbe2"/>`+"\n", pad+from*wide, pad+int(y)*high, (x-from)*wide, high)
			}
			if strings.TrimSpace(text) == "" {
				continue
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs" xml:space="preserve"%s>%s</text>`+"\n",
				pad+from*wide, pad+int(y)*high+13, (x-from)*wide, style.attributes(), html.EscapeString(text))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// An ink is how text looks.
type ink struct {
	colour             color.Color
	bold, dim, reverse bool
}

func inkOf(s vt.Style) ink {
	if s == nil {
		return ink{}
	}
	a := s.Attr()
	return ink{s.Fg(), a&vt.Bold != 0, a&vt.Dim != 0, a&vt.Reverse != 0}
}

func (i ink) attributes() string {
	fill := map[color.Color]string{color.Maroon: "#ff6b6b", color.Green: "#7bd88f", color.Olive: "#f2c55c", color.Teal: "#5ad4e6"}[i.colour]
	switch {
	case i.reverse:
		fill = "#16181d"
	case fill == "" && i.dim:
		fill = "#8a909c"
	case fill == "":
		fill = "#d8dbe2"
	}
	out := ` fill="` + fill + `"`
	if i.bold {
		out += ` font-weight="bold"`
	}
	return out
}

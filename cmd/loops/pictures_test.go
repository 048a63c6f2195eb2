package main_test

import (
	"bytes"
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

	"loops/internal/testenv"
)

// TestPictures makes the pictures of the README from real runs: the screen of watch, the drawing of a run, and
// its report.
func TestPictures(t *testing.T) {
	t.Parallel()
	out := *testenv.Pictures
	if out == "" {
		out = t.TempDir()
	}
	// One loop fixes what its tests find and is completed, one fails for a reason, one is running.
	loop := func(name string) string { return readText(t, filepath.Join("testdata/pictures", name+".yaml")) }
	dir, env := watchProject(t, "dir", loop("metric"))
	for _, name := range []string{"fix", "deploy"} {
		writeText(t, filepath.Join(dir, ".loops", name+".yaml"), loop(name))
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
	var picture []byte
	must(t, chromedp.Run(newWindow(t, startChromium(t)), chromedp.EmulateViewport(1000, 900),
		chromedp.Navigate("file://"+page), chromedp.CaptureScreenshot(&picture)))
	must(t, os.WriteFile(png, picture, 0o644))
	if !bytes.HasPrefix(picture, []byte("\x89PNG\r\n")) || len(picture) < 10_000 || len(picture) > 400<<10 {
		t.Errorf("report.png has %d bytes", len(picture))
	}

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
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
			`font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">`+
			"\n",
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
				fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#d8dbe2"/>`+"\n", pad+from*wide,
					pad+int(y)*high, (x-from)*wide, high)
			}
			if strings.TrimSpace(text) == "" {
				continue
			}
			fmt.Fprintf(&b,
				`<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs" xml:space="preserve"%s>%s</text>`+
					"\n",
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
	fill := map[color.Color]string{
		color.Maroon: "#ff6b6b", color.Green: "#7bd88f", color.Olive: "#f2c55c",
		color.Teal: "#5ad4e6",
	}[i.colour]
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

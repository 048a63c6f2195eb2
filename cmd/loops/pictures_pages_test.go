package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"loops/internal/testenv"
)

// TestPicturesOfPages makes pictures of all pages, as wide as a phone, a tablet and a screen. No page is wider
// than its window, and axe-core finds nothing serious on any.
func TestPicturesOfPages(t *testing.T) {
	t.Parallel()
	out := *testenv.Pictures
	if out == "" {
		out = t.TempDir()
	}
	must(t, os.MkdirAll(filepath.Join(out, "pages"), 0o755))
	f := folder{t, serveDir(t)}
	must(t, os.MkdirAll(filepath.Join(f.dir, ".loops"), 0o755))
	add := func(name, text string) { writeText(t, filepath.Join(f.dir, ".loops", name+".yaml"), text) }
	for _, name := range []string{"fix", "deploy", "metric"} {
		add(name, readText(t, filepath.Join("testdata/pictures", name+".yaml")))
	}
	add("ship", shipLoop)
	add("nightly", "name: nightly\ndescription: Looks for updates\nschedule: {cron: \"0 3 * * *\", timezone: "+
		"Europe/Berlin}\ninitial: look\nstates:\n  look: {action: echo none, next: done}\n  done: {terminal: true}\n")
	f.start("run", "deploy").Exit()
	if p := f.start("run", "fix"); p.Exit() != 0 {
		t.Fatalf("loops run fix: %s", p.Said())
	}
	metric := f.start("run", "metric")
	t.Cleanup(func() { metric.Exit() }) // the server ends it
	s := startServe(t, f.dir, "--edit")
	fixed, ship := strings.TrimSpace(f.output("status", "fix", "--jq", ".instance_id")),
		s.post("/runs", `{"loop": "ship"}`)["instance_id"].(string)
	s.until(ship, `"waiting"`)
	failed := strings.TrimSpace(f.output("status", "deploy", "--jq", ".instance_id"))
	running := strings.TrimSpace(f.output("status", "metric", "--jq", ".instance_id"))
	s.until(running, `"step": 12,`)

	axe, err := os.ReadFile("../../internal/testenv/testdata/node_modules/axe-core/axe.min.js")
	if err != nil {
		testenv.Skip(t, "axe-core: npm --prefix internal/testenv/testdata run setup")
	}
	b := s.page(t, startChromium(t), "/")
	of := func(run string) string { return "/p/shop/runs/" + run }
	for name, path := range map[string]string{
		"runs": "/", "no-runs": "/?q=none", "loops": "/loops", "schedule": "/schedule", "queue": "/queue",
		"workers": "/workers", "cost": "/cost", "doctor": "/doctor",
		"loop": "/p/shop/loop?loop=ship", "new": "/p/shop/new", "edit": "/p/shop/edit?loop=ship",
		"start": "/p/shop/start?loop=ship&dry=1", "effective": "/p/shop/loop?loop=ship&view=effective",
		"run": of(fixed), "run-failed": of(failed), "run-running": of(running), "run-asks": of(ship),
		"steps": of(fixed) + "?tab=steps", "step": of(fixed) + "?step=1", "logs": of(fixed) + "?tab=logs",
		"context": of(ship) + "?tab=context", "definition": of(fixed) + "?tab=definition",
		"events": of(fixed) + "?tab=events", "files": of(fixed) + "?tab=files", "related": of(fixed) + "?tab=related",
		"fork": of(fixed) + "/fork", "resume": of(failed) + "/resume",
		"compare": "/p/shop/compare?a=" + fixed + "&b=" + failed, "missing": "/nothing",
	} {
		for i, width := range []int64{390, 800, 1440} {
			b.do(chromedp.EmulateViewport(width, 900))
			if i == 0 || *testenv.Pictures != "" {
				b.open(path)
			}
			var wide int64
			b.do(chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide))
			if wide > width {
				t.Errorf("%s is %d pixels wide in a window of %d", path, wide, width)
			}
			if *testenv.Pictures != "" {
				b.picture(filepath.Join(out, "pages", fmt.Sprintf("%s-%d.png", name, width)))
			}
		}
		b.accessible(string(axe), path)
	}

	b.do(chromedp.EmulateViewport(1280, 960))
	b.open(of(fixed))
	b.sees(`document.querySelector("#graph svg") !== null && document.getElementById("live").textContent === "live"`)
	b.picture(filepath.Join(out, "run.png"))
}

// accessible has axe-core look at the page, light and dark. It finds nothing serious.
func (b *browser) accessible(axe, path string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(axe, nil))
	// only they depend on it
	for scheme, rules := range map[string]string{
		"light": "",
		"dark":  `, runOnly: ["color-contrast", "link-in-text-block"]`,
	} {
		b.do(emulation.SetEmulatedMedia().WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		var found []struct {
			ID, Impact, Help string
			Nodes            []struct{ HTML, FailureSummary string }
		}
		b.do(chromedp.Evaluate(`axe.run({resultTypes: ["violations"]`+rules+
			`}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical"))`, &found,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		for _, v := range found {
			b.t.Errorf("%s, %s: %s (%s): %s\n%+v", path, scheme, v.ID, v.Impact, v.Help, v.Nodes[0])
		}
	}
	b.do(emulation.SetEmulatedMedia()) // as it was
}

// picture takes a picture of what the window shows.
func (b *browser) picture(png string) {
	b.t.Helper()
	b.sees(
		`document.fonts.status === "loaded" &&
			document.getAnimations().every((a) => a.playState !== "running" ||
				a.effect.getTiming().iterations === Infinity)`)
	var image []byte
	b.do(chromedp.CaptureScreenshot(&image))
	must(b.t, os.WriteFile(png, image, 0o644))
	if len(image) < 5_000 || len(image) > 400<<10 {
		b.t.Errorf("%s has %d bytes", png, len(image))
	}
}

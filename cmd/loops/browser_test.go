package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"loops/internal/testenv"
)

const shipLoop = `name: ship
description: Asks before it ships
labels: [shop]
initial: look
states:
  look: {action: "printf '\\033[32mok\\033[0m\\n'; echo careful >&2; [ \"$LOOPS_CONTEXT_MOOD\" != bad ]",
    capture: seen, on_yes: ask, on_no: done}
  ask:
    ask: {question: 'Ship it?', choices: [good, bad]}
    route: {good: done, bad: held}
  done: {terminal: true}
  held: {terminal: true, failure: true}
context: {mood: fine, place: a}
scope: ['${context.place}']
`

// carefulLoop asks for a choice that is to be confirmed.
const carefulLoop = `name: careful
description: Asks twice before it deploys
initial: ask
scope: [careful]
states:
  ask:
    ask: {question: 'Deploy it?', choices: [deploy, wait], confirm: [deploy]}
    route: {deploy: done, wait: held}
  done: {terminal: true}
  held: {terminal: true, failure: true}
`

// tickLoop has as many steps as a page must be able to scroll through, and does nothing in them.
const tickLoop = `name: long
initial: tick
max_steps: 100000
max_edge_revisits: 1000000
states:
  tick: {next: tock}
  tock: {next: tick}
  done: {terminal: true}
`

// listLoop is a list of which one item fails.
const listLoop = `name: list
description: Works through a list
initial: convert
scope: [list]
states:
  convert:
    for_each: [a, b]
    on_item_failure: continue
    action: 'echo "converting $LOOPS_ITEM"; [ $LOOPS_ITEM = a ] || { echo no such font >&2; exit 3; }'
    on_yes: done
    on_no: broken
    on_error: broken
  done: {terminal: true}
  broken: {terminal: true, failure: true}
`

// A browser is Chromium with one page of a server. It belongs to one goroutine.
type browser struct {
	t   *testing.T
	ctx context.Context
	s   *webServer
}

// A sharedBrowser is the browser of all tests of the package.
type sharedBrowser struct {
	profile string
	ctx     context.Context
	stop    func()
}

var theBrowser sharedBrowser

var browserStarts = sync.OnceValue(func() error {
	return testenv.OnLastingThread(func() (err error) {
		b := &theBrowser
		if b.profile, err = os.MkdirTemp("", "chromium"); err != nil {
			return err
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox,
			chromedp.UserDataDir(b.profile), chromedp.Flag("disable-quic", true),
			// else it writes settings and a cache of its own to the home of the user
			chromedp.Env("HOME="+b.profile),
			// else most pages have a process of their own
			chromedp.Flag("disable-features",
				"site-per-process,Translate,BackForwardCache,SpareRendererForSitePerProcess"),
			// else a live page is painted 60 times a second
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-gpu", true),
			chromedp.Flag("force-prefers-reduced-motion", true),
			chromedp.WSURLReadTimeout(testenv.Patience))
		allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
		var cancelBrowser func()
		b.ctx, cancelBrowser = chromedp.NewContext(allocator)
		b.stop = func() { cancelBrowser(); cancel() }
		return chromedp.Run(b.ctx)
	})
})

// end ends the browser, if a test had it started.
func (b *sharedBrowser) end() {
	if b.stop != nil {
		b.stop()
	}
	if b.profile != "" {
		// it may still write there
		testenv.Within(testenv.Patience, func() bool { return os.RemoveAll(b.profile) == nil })
	}
}

// startChromium returns the browser of the package, which the first call starts. Each page of it has cookies of
// its own.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	testenv.Command(t, "chromium")
	if err := browserStarts(); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return theBrowser.ctx
}

// page opens a page of a server, in a window that shares no cookies with the others.
func (s *webServer) page(t *testing.T, chromium context.Context, path string) *browser {
	t.Helper()
	b := &browser{t, newWindow(t, chromium), s}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.open(path)
	return b
}

// newWindow returns a window without cookies, which the end of the test closes.
func newWindow(t *testing.T, chromium context.Context) context.Context {
	t.Helper()
	direct := cdp.WithExecutor(chromium, chromedp.FromContext(chromium).Browser)
	cookies, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(direct)
	must(t, err)
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(cookies).WithNewWindow(true).Do(direct)
	must(t, err)
	window, closed := chromedp.NewContext(chromium, chromedp.WithTargetID(id))
	t.Cleanup(closed)
	must(t, chromedp.Run(window)) // the window lives as long as the context of its first call
	return window
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.run(actions...); err != nil {
		b.t.Fatalf("%v\n%s", err, b.text())
	}
}

// run has the page do something within [testenv.Patience].
func (b *browser) run(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, testenv.Patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// open goes to a page. The token is in each address, as in the one that is printed.
func (b *browser) open(path string) {
	b.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	b.do(chromedp.Navigate(b.s.base + path + sep + "token=" + b.s.token))
}

// text is what the page says now.
func (b *browser) text() (text string) {
	_ = b.run(chromedp.Evaluate(`document.body.innerText`, &text)) // it is for a message
	return text
}

// sees waits until an expression of JavaScript is true, and returns how long that took.
func (b *browser) sees(expression string) time.Duration {
	b.t.Helper()
	begun := time.Now()
	var ok bool
	if !testenv.Within(testenv.Patience, func() bool {
		return b.run(chromedp.Evaluate(expression, &ok)) == nil && ok
	}) {
		b.t.Fatalf("the page does not come to %s:\n%s", expression, b.text())
	}
	return time.Since(begun)
}

// click clicks the middle of what a selector means, once it is shown there and nothing lies over it. It looks
// and clicks in one step of the page: a live page may replace or move what it is to click in between.
func (b *browser) click(selector string) {
	b.t.Helper()
	click := fmt.Sprintf(`(() => {
		const e = document.querySelector(%q)
		if (!e || !e.checkVisibility()) return "it is not shown"
		e.scrollIntoView({block: "center", behavior: "instant"})
		const r = e.getClientRects()[0], at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)
		if (!at || !e.contains(at)) return "over it lies " + at?.outerHTML.slice(0, 200)
		e.click()
		return ""
	})()`, selector)
	gesture := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithUserGesture(true) }
	said := ""
	if !testenv.Within(testenv.Patience, func() bool {
		err := b.run(chromedp.Evaluate(click, &said, gesture))
		return err == nil && said == ""
	}) {
		b.t.Fatalf("%s cannot be clicked: %s\n%s", selector, said, b.text())
	}
}

// statusIs is true when the page of a run shows that status.
func statusIs(word string) string {
	return fmt.Sprintf(`document.querySelector("h1 .status")?.textContent === %q`, word)
}

// browserProject is a project with the loops of these tests, and a server of it.
func browserProject(t *testing.T) *webServer {
	t.Helper()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	for name, text := range map[string]string{
		"count": countLoop, "ship": shipLoop, "long": tickLoop,
		"list": listLoop, "careful": carefulLoop,
	} {
		writeText(t, filepath.Join(dir, ".loops", name+".yaml"), text)
	}
	return startServe(t, dir, "--edit")
}

// TestPagesInABrowser does in Chromium what users do: it starts, answers, forks and scrolls, by mouse and by keyboard.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	chromium := startChromium(t)
	s := browserProject(t)
	started := 0
	start := func(t *testing.T) string { // of a run that has a place for itself, and asks
		t.Helper()
		started++
		run, _ := s.post("/runs",
			fmt.Sprintf(`{"loop": "ship", "field": {"place": "p%d"}}`, started))["instance_id"].(string)
		s.until(run, `"waiting"`)
		return run
	}

	t.Run("a run is started from the form, after a dry run, and seen to end", func(t *testing.T) {
		b := s.page(t, chromium, "/p/shop/start?loop=count")
		b.do(chromedp.SendKeys(`[name="field.goal"]`, "2", chromedp.ByQuery))
		b.click(`button[name=dry]`)
		b.sees(`document.getElementById("walk")?.innerText.includes("It would end in done")`)
		b.click(`button.go`)
		b.sees(`location.pathname.includes("/runs/count-")`)
		b.sees(statusIs("completed"))
		b.sees(`[...document.querySelectorAll("#graph text")].some((t) => t.textContent.includes("no 2×"))`)
		b.sees(`document.querySelectorAll("#timeline rect").length >= 2`)
	})

	t.Run("a run whose process is killed shows that", func(t *testing.T) {
		run := start(t)
		b := s.page(t, chromium, "/p/shop/runs/"+run)
		b.sees(statusIs("asks"))
		b.sees(`document.getElementById("live").textContent === "live"`)
		var now struct {
			PID int `json:"pid"`
		}
		must(t, json.Unmarshal([]byte(s.until(run, `"alive": true`)), &now))
		must(t, syscall.Kill(now.PID, syscall.SIGKILL))
		t.Logf("shown after %v", b.sees(statusIs("killed")))
		b.sees(`document.querySelector(".lead").textContent.includes("is gone")`)
		// it stands there, and has not left it
		b.sees(`[...document.querySelectorAll("#graph .now.other text")].some((t) => t.textContent.includes("ask"))`)
	})

	t.Run("a question is answered on a telephone", func(t *testing.T) {
		run := start(t)
		b := s.page(t, chromium, "/")
		b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
		b.open("/?waits=person")
		b.sees(`document.documentElement.scrollWidth <= 390`)
		b.click(`a[href$="` + run + `"]`)
		b.sees(
			`document.documentElement.scrollWidth <= 390 &&
				document.querySelector("#ask button").getBoundingClientRect().bottom < 844`)
		b.click(`button[value=good]`)
		b.sees(statusIs("completed"))
	})

	t.Run("a choice that is to be confirmed needs a second tap", func(t *testing.T) {
		run, _ := s.post("/runs", `{"loop": "careful"}`)["instance_id"].(string)
		s.until(run, `"waiting"`)
		if status, text := s.ask("POST", "/api/v1/projects/shop/runs/"+run+"/answer", "application/json",
			`{"choice": "deploy"}`); status != http.StatusBadRequest || !strings.Contains(text, "to be confirmed") {
			t.Errorf("an answer of a program that does not confirm it: %d %s", status, text)
		}
		if status, text := s.ask("POST", "/api/v1/projects/shop/runs/"+run+"/answer", "application/json",
			`{"choice": "deploy", "confirm": "wait"}`); status != http.StatusBadRequest ||
			!strings.Contains(text, "expected the choice again") {
			t.Errorf("an answer of a program that confirms another one: %d %s", status, text)
		}
		b := s.page(t, chromium, "/")
		b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
		b.open("/p/shop/runs/" + run)
		b.sees(
			`!document.querySelector("#ask button[name=confirm]").checkVisibility() &&
				document.querySelector("#ask button[value=wait]").checkVisibility()`)
		b.click(`#ask summary`)
		b.sees(
			`document.documentElement.scrollWidth <= 390 &&
				document.querySelector("#ask button[name=confirm]").getBoundingClientRect().height >= 40`)
		b.click(`#ask button[name=confirm]`)
		b.sees(statusIs("completed"))
	})

	t.Run("a link of a notification answers on a telephone with the second tap", func(t *testing.T) {
		file := s.linksTo("ada")("ada")
		run := start(t)
		links := s.links(file)
		must(t, os.Remove(filepath.Join(s.dir, ".loops/config.yaml")))
		b := s.page(t, chromium, "/")
		b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
		b.open(links["good"])
		b.sees(
			`document.documentElement.scrollWidth <= 390 &&
				document.querySelector("#ask button").getBoundingClientRect().bottom < 844`)
		b.sees(`document.querySelector("#ask button").getBoundingClientRect().height >= 40`)
		b.click(`#ask button`)
		b.sees(
			`document.querySelector("[role=status].lead")?.
				textContent.includes("The question was answered: good by ada (by a link)")`)
		b.sees(`document.documentElement.scrollWidth <= 390 && !document.querySelector("#ask button")`)
		b.open(links["bad"])
		b.sees(`document.querySelector("[role=status].lead")?.
				textContent.includes("The question was answered: good")`)
		b.open("/p/shop/runs/" + run)
		b.sees(statusIs("completed"))
	})

	t.Run("a step is forked with another value", func(t *testing.T) {
		run := start(t)
		b := s.page(t, chromium, "/p/shop/runs/"+run+"?tab=steps")
		b.click(`#steps a[href*="step=1"]`)
		b.sees(
			`document.querySelector("#step .out .f2")?.textContent === "ok" &&
				document.getElementById("step").innerText.includes("captured.seen")`)
		b.click(`.fork summary`)
		b.sees(`document.querySelector('[name="field.mood"]').value === "fine"`)
		b.do(chromedp.SetValue(`[name="field.mood"]`, "bad", chromedp.ByQuery),
			chromedp.SetValue(`[name="field.place"]`, "else", chromedp.ByQuery))
		b.click(`.fork button`)
		b.sees(`location.pathname.includes("/runs/ship-") && !location.pathname.endsWith("` + run + `")`)
		b.sees(statusIs("completed"))
		b.click(`#tabs a[href$="tab=related"]`)
		b.sees(`document.getElementById("related")?.innerText.includes("` + run + `, step 1")`)
		b.open("/p/shop/runs/" + run + "?tab=related")
		b.click(`#related a[href*="/compare?"]`)
		b.sees(
			`document.querySelector("pre.table")?.innerText.includes("a fork of") &&
				document.querySelector("pre.table").innerText.includes("mood")`)
	})

	t.Run("a run is forked and resumed from forms that have its values", func(t *testing.T) {
		run := start(t)
		s.post("/runs/"+run+"/stop", `{}`)
		s.until(run, `"stopped"`)
		b := s.page(t, chromium, "/p/shop/runs/"+run)
		b.click(`#acts summary`)
		b.click(`#acts a[href$="/resume"]`)
		b.sees(
			`document.querySelector('[name="field.mood"]')?.value === "fine" &&
				[...document.querySelector("[name=from]").options].some((o) => o.value === "held")`)
		b.do(chromedp.SetValue(`[name="field.mood"]`, "better", chromedp.ByQuery),
			chromedp.SendKeys(`[name=limits]`, "steps=7", chromedp.ByQuery))
		b.click(`button.go`)
		b.sees(`location.pathname.endsWith("/runs/` + run + `")`)
		b.sees(statusIs("asks"))
		b.open("/p/shop/runs/" + run + "?tab=context")
		b.sees(`document.getElementById("memory").innerText.includes("better")`)
		b.sees(`document.getElementById("head").innerText.includes("57")`) // of 50 steps
		b.open("/p/shop/runs/" + run + "/fork?at=1")
		b.sees(`document.querySelector('[name="field.mood"]')?.value === "fine"`) // before that step
		b.do(chromedp.SetValue(`[name="field.mood"]`, "bad", chromedp.ByQuery),
			chromedp.SetValue(`[name="field.place"]`, "yonder", chromedp.ByQuery))
		b.click(`button.go`)
		b.sees(`location.pathname.includes("/runs/ship-") && !location.pathname.endsWith("` + run + `")`)
		b.sees(statusIs("completed"))
	})

	t.Run("a loop is changed, after its mistakes were shown, and not over another's change", func(t *testing.T) {
		path := filepath.Join(s.dir, ".loops/count.yaml")
		was := readText(t, path)
		b := s.page(t, chromium, "/p/shop/loop?loop=count")
		var blocked []string
		chromedp.ListenTarget(b.ctx, func(e any) {
			if e, ok := e.(*log.EventEntryAdded); ok && strings.Contains(e.Entry.Text, "Content Security Policy") {
				blocked = append(blocked, e.Entry.Text)
			}
		})
		b.do(log.Enable())
		b.click(`a[href*="/edit?"]`)
		b.sees(
			`getComputedStyle(document.querySelector(".cm-gutters")).position !== "static" ||
				getComputedStyle(document.querySelector(".cm-scroller")).display === "flex"`)
		focus := chromedp.Evaluate(`document.querySelector(".cm-content").focus()`, nil)
		b.do(focus, chromedp.KeyEvent(kb.Home, chromedp.KeyModifiers(input.ModifierCtrl)),
			chromedp.KeyEvent(kb.End, chromedp.KeyModifiers(input.ModifierCtrl)))
		b.do(chromedp.KeyEvent("max_st"))
		b.sees(
			`[...document.querySelectorAll(".cm-tooltip-autocomplete li")].some(
				(o) => o.textContent.startsWith("max_steps"))`)
		// KeyEvent types a line end even where the page took the key
		enter := input.DispatchKeyEvent(input.KeyRawDown).WithKey("Enter").WithCode("Enter").
			WithWindowsVirtualKeyCode(13)
		// a list that just opened takes no key
		b.do(chromedp.Sleep(200*time.Millisecond), enter, chromedp.KeyEvent("many"), enter)
		b.sees(`!!document.querySelector(".cm-lint-marker-error") && !!document.querySelector(".cm-lintRange-error")`)
		b.click(`#edit button.go`)
		b.sees(`document.querySelector("[role=alert]")?.textContent.includes("1 mistake")`)
		if now := readText(t, path); now != was {
			t.Errorf("a text with a mistake was saved: %q", now)
		}
		b.sees(`document.querySelector(".judged pre").textContent.includes("max_steps: many")`)
		b.do(focus, chromedp.KeyEvent(kb.End, chromedp.KeyModifiers(input.ModifierCtrl)),
			chromedp.KeyEvent(kb.Backspace))
		for range "many" {
			b.do(chromedp.KeyEvent(kb.Backspace))
		}
		b.do(chromedp.KeyEvent("77"), enter)
		writeText(t, path, was+"# meanwhile\n")
		b.do(chromedp.KeyEvent("s", chromedp.KeyModifiers(input.ModifierCtrl)))
		b.sees(`document.querySelector("[role=alert]")?.textContent.includes("was changed meanwhile")`)
		if now := readText(t, path); now != was+"# meanwhile\n" {
			t.Errorf("a change of another was lost: %q", now)
		}
		writeText(t, path, was)
		b.do(focus, chromedp.KeyEvent("s", chromedp.KeyModifiers(input.ModifierCtrl)))
		b.sees(
			`location.pathname.endsWith("/loop") &&
				document.querySelector(".log").textContent.includes("max_steps: 77")`)
		if len(blocked) > 0 {
			t.Errorf("the policy of the page blocked something: %s", blocked)
		}

		b.do(emulation.SetScriptExecutionDisabled(true)) // the same with the text area alone
		b.open("/p/shop/edit?loop=count")
		b.do(chromedp.SetValue(`#text`, was, chromedp.ByQuery))
		b.click(`#edit button.go`)
		b.do(chromedp.WaitVisible(`a[href*="/edit?"]`, chromedp.ByQuery))
		if now := readText(t, path); now != was {
			t.Errorf("without a script the file becomes %q", now)
		}
	})

	t.Run("of two browsers one answer wins", func(t *testing.T) {
		run := start(t)
		first, second := s.page(t, chromium, "/p/shop/runs/"+run), s.page(t, chromium, "/p/shop/runs/"+run)
		// it still shows the question
		second.do(chromedp.Evaluate(`document.getElementById("ask").removeAttribute("data-swap")`, nil))
		first.click(`button[value=good]`)
		first.sees(statusIs("completed"))
		second.click(`button[value=bad]`)
		second.sees(`document.body.innerText.includes("was answered first by ")`)
		second.open("/p/shop/runs/" + run)
		second.sees(statusIs("completed"))
	})

	t.Run("everything can be done with the keyboard", func(t *testing.T) {
		run := start(t)
		b := s.page(t, chromium, "/?q="+run)
		press := func(until, key string) {
			t.Helper()
			for range 60 {
				var there bool
				b.do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate("!!("+until+")", &there))
				if there {
					b.do(chromedp.KeyEvent(key))
					return
				}
			}
			t.Fatalf("the tab key does not come to %s\n%s", until, b.text())
		}
		press(`document.activeElement.href?.endsWith("/runs/`+run+`")`, kb.Enter)
		b.sees(statusIs("asks"))
		press(
			`document.activeElement.textContent === "Extend" &&
				getComputedStyle(document.activeElement).outlineStyle === "solid"`,
			kb.Enter)
		b.sees(`document.querySelector("[name=limits]").checkVisibility()`)
		press(`document.activeElement.href?.endsWith("tab=logs")`, kb.Enter)
		b.sees(`document.getElementById("log")?.innerText.includes("careful")`)
		b.open("/p/shop/runs/" + run)
		press(`document.activeElement.value === "good"`, kb.Enter)
		b.sees(statusIs("completed"))
	})

	t.Run("a run of 100,000 steps is scrolled through", func(t *testing.T) {
		steps := testenv.Some(20_000, 100_000)
		cmd := exec.Command(binary(t), "-C", s.dir, "run", "-q", "--no-lock", "-n", strconv.Itoa(steps), "long")
		if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil ||
			!strings.Contains(string(out), fmt.Sprintf("%d steps", steps)) {
			t.Fatalf("loops run long: %v\n%s", err, out)
		}
		b := s.page(t, chromium, "/?loop=long")
		begun := time.Now()
		b.click(`td.id a`)
		b.sees(`document.querySelector("#graph svg") !== null`)
		var size, painted int
		b.do(chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].decodedBodySize`, &size))
		b.sees(`performance.getEntriesByName("first-contentful-paint").length > 0`)
		b.do(chromedp.Evaluate(
			`Math.round(performance.getEntriesByName("first-contentful-paint")[0].startTime -
				performance.getEntriesByType("navigation")[0].responseStart)`,
			&painted))
		t.Logf("the first page has %d bytes, was painted %d ms after the server began to answer, and was "+
			"there after %v", size, painted, time.Since(begun))
		if size > 300<<10 {
			t.Errorf("the page has %d bytes", size)
		}
		b.sees(
			`document.querySelector("#tabs a[href$='tab=steps']") !== null &&
				(document.querySelector("[data-again]") === null)`)
		b.click(`#tabs a[href$="tab=steps"]`)
		b.sees(`document.querySelector("#steps tbody tr a")?.textContent === "` + strconv.Itoa(steps) + `"`)
		b.do(chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight / 2)`, nil))
		b.sees(fmt.Sprintf(
			`[...document.querySelectorAll("#older tr a")].some((a) => Math.abs(Number(a.textContent) - %d) < %d)`,
			steps/2, min(2500, steps/20)))
		b.do(chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight)`, nil))
		b.sees(
			`scrollTo(0, document.body.scrollHeight),
				[...document.querySelectorAll("#older tr a")].some((a) => a.textContent === "1")`)
		b.sees(`document.querySelectorAll("#older tr").length < 3000`) // rows that were scrolled past are removed
	})

	t.Run("the page reconnects when the server was started again", func(t *testing.T) {
		s := browserProject(t)
		b := s.page(t, chromium, "/")
		b.sees(`document.getElementById("live").textContent === "live"`)
		must(t, s.cmd.Process.Signal(syscall.SIGTERM))
		must(t, s.cmd.Wait())
		b.sees(`document.getElementById("live").textContent === "not connected"`)
		b.s = startServe(t, s.dir, "--listen", strings.TrimPrefix(s.base, "http://"))
		b.sees(`document.getElementById("live").textContent.includes("started again")`)
		b.open("/")
		b.sees(`document.getElementById("live").textContent === "live"`)
	})

	t.Run("a list is a table of its items, of which those that failed are chosen", func(t *testing.T) {
		run, _ := s.post("/runs", `{"loop": "list"}`)["instance_id"].(string)
		s.until(run, `"failed"`)
		b := s.page(t, chromium, "/p/shop/runs/"+run+"?step=1")
		b.sees(
			`document.querySelectorAll(".items tbody tr").length === 2 &&
				document.querySelector(".fatal .state").textContent === "convert"`)
		b.click(`#which a:last-child`)
		b.sees(
			`document.querySelectorAll(".items tbody tr").length === 1 &&
				document.querySelector(".items .bad").textContent === "error" &&
				document.querySelector(".items").innerText.includes("exit 3: no such font")`)
		b.click(`#step details.do summary`)
		b.click(`#step details.do[open] button`)
		b.sees(`location.pathname.includes("/runs/list-") && !location.pathname.endsWith("` + run + `")`)
		b.sees(statusIs("failed"))
		b.open("/p/shop/runs/" + run + "?tab=related")
		b.sees(`document.getElementById("related").innerText.includes("from step 1")`)
	})

	t.Run("the editor takes the place of the text", func(t *testing.T) {
		b := s.page(t, chromium, "/p/shop/edit?loop=ship")
		b.sees(`document.querySelector(".cm-editor") !== null && !document.getElementById("text").checkVisibility()`)
	})
}

package main_test

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTour does on a phone what a user does who has never seen the program: takes the tour in an empty project,
// answers its question so that it breaks, reads why, forks it with the hint, and sees it complete. Nothing but
// buttons and links of the pages is used.
func TestTour(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(dir, 0o755))
	s := startServe(t, dir)
	b := s.page(t, startChromium(t), "/")
	b.do(chromedp.EmulateViewport(390, 844))
	b.open("/")
	b.click(`.empty a`) // No runs yet. Start a loop
	b.sees(`document.querySelector("h1").textContent === "Loops"`)
	b.click(`.empty button`) // Take the tour
	b.sees(`document.querySelector("h1").textContent === "Start tour"`)
	b.click(`form.sheet button.go`)
	b.sees(`document.querySelector("#timeline .lane") !== null`) // it is seen to loop
	b.sees(`document.querySelector(".question .text")?.textContent.includes("Ship it, or break something first?")`)
	b.click(`.question button[value="break"]`)
	b.sees(statusIs("failed"))
	b.sees(
		`document.querySelector(".lead").textContent === 'state ship said no (exit 1: "the door is locked; fork this run with the hint sesame")'`)
	b.click(`#acts a[href$="/fork"]`)
	b.sees(`document.querySelector("h1").textContent.startsWith("New run from a step of tour-")`)
	b.do(chromedp.SetValue(`input[name="field.hint"]`, "sesame", chromedp.ByQuery))
	b.click(`form.sheet button.go`)
	b.sees(statusIs("completed"))
	b.click(`#tabs a[href$="tab=related"]`)
	b.sees(`document.querySelector("#related h2").textContent === "It began from"`)
}

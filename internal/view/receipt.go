package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// Receipt returns the receipt of a run as programs read it.
func Receipt(r *engine.RunReceipt) api.RunReceipt {
	return api.RunReceipt{Instance: string(r.Run.ID), Loop: r.Run.Loop, Signature: r.Signed, Receipt: r.Receipt}
}

// A ReceiptLine is a line of a receipt: what it is about, and what it says.
type ReceiptLine struct{ Name, Text string }

// ReceiptLines returns a receipt as people read it; of a run that has none a line that says so.
func ReceiptLines(r *engine.RunReceipt) []ReceiptLine {
	c := r.Receipt
	if c == nil {
		return []ReceiptLine{{"receipt", "-"}}
	}
	tree := orDash(c.Tree)
	if c.Tree != "" && !c.Kept {
		tree += " (no ref keeps it)"
	}
	spent := humanize.Count(c.Prompts, "prompt")
	if c.Prompts > 0 {
		spent += fmt.Sprintf(", %s, $%.4f", humanize.Count(int(c.Tokens), "token"), c.CostUSD)
	}
	if c.Unpriced > 0 {
		spent += fmt.Sprintf(" and an unknown cost (%s)", humanize.Count(c.Unpriced, "prompt"))
		if c.MostUSD > 0 {
			spent += fmt.Sprintf(", at most $%.4f in all", c.MostUSD)
		}
	}
	signed := map[string]string{
		engine.SignedNot: "-", engine.SignedForged: "not of this receipt: it was changed",
		engine.SignedUnknown:  "by " + c.Key + ", which is not accepted here",
		engine.SignedAccepted: "by " + c.Key,
	}[r.Signed]
	lines := []ReceiptLine{
		{"run", c.Run},
		{"loop", c.Loop + ", sha256 " + c.Definition},
		{"completed", c.Completed},
		{"tree", tree},
		{"spent", spent},
		{"guard", orDash(c.Guard)},
		{"sandbox", orDash(c.Sandbox)},
		{"signed", signed},
	}
	for _, check := range c.Checks {
		lines = append(lines, ReceiptLine{"check", inspect.CheckText(check)})
	}
	if len(c.Checks) == 0 {
		lines = append(lines, ReceiptLine{"check", "- (nothing was checked after the last prompt)"})
	}
	return lines
}

// PrintReceipt shows the receipt of a run.
func PrintReceipt(page *Page, r *engine.RunReceipt, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, Receipt(r))
	}
	for _, line := range ReceiptLines(r) {
		terminal.Say(page.Out, "%-10s %s\n", line.Name,
			terminal.Block(strings.ReplaceAll(line.Text, "\n", "\n           ")))
	}
	return nil
}

// PrintVerification shows what the checks of a receipt came to when they were repeated.
func PrintVerification(page *Page, v *engine.Verification, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, api.Verified{
			Instance: string(v.Run.ID), Loop: v.Run.Loop, Same: v.Same(), Tree: v.Receipt.Tree,
			Unenforced: append([]string{}, v.Unenforced...),
			Checks: each(v.Checks, func(r engine.Repeated) api.RepeatedCheck {
				return api.RepeatedCheck{
					Was: r.CheckResult, Now: r.Now, Why: api.Text(r.Why), Same: r.Same(),
					SameOutput: r.Now != nil && r.Now.Output == r.Output,
				}
			}),
		})
	}
	for _, missing := range v.Unenforced {
		terminal.Say(page.Out, "not enforced on this machine: %s\n", terminal.Block(missing))
	}
	for _, r := range v.Checks {
		text := fmt.Sprintf("%s (step %s): ", inspect.CheckPlace(r.CheckResult), r.Step)
		switch {
		case r.Now == nil:
			text += "not repeated: " + r.Why
		case !r.Same():
			text += fmt.Sprintf("different: %s (exit code %d), and the receipt has %s (exit code %d)", r.Now.Verdict,
				r.Now.ExitCode, r.Verdict, r.ExitCode)
		case r.Now.Output != r.Output:
			text += fmt.Sprintf("same: %s (exit code %d); the output has another hash", r.Verdict, r.ExitCode)
		default:
			text += fmt.Sprintf("same: %s (exit code %d), with the same output", r.Verdict, r.ExitCode)
		}
		terminal.Say(page.Out, "%s\n", terminal.Block(text))
	}
	if v.Same() {
		terminal.Say(page.Out, "same\n")
	}
	return nil
}

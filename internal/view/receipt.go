package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
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
	}
	signed := map[string]string{
		engine.SignedNot: "-", engine.SignedForged: "not of this receipt: it was changed", engine.SignedUnknown: "by " + c.Key + ", which is not accepted here",
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
		lines = append(lines, ReceiptLine{"check", checkText(check)})
	}
	if len(c.Checks) == 0 {
		lines = append(lines, ReceiptLine{"check", "- (nothing was checked after the last prompt)"})
	}
	return lines
}

// checkText says what decided in a step.
func checkText(c fsm.CheckResult) string {
	text := fmt.Sprintf("%s (step %s): %s by %s", c.Path, c.Step, c.Verdict, engine.JudgedBy(c))
	if c.Command != "" {
		text += fmt.Sprintf(", exit code %d, output sha256 %s", c.ExitCode, orDash(c.Output))
	}
	if len(c.Files) > 0 {
		text += ", with " + strings.Join(c.Files, ", ") + " as the run began"
	}
	if c.Command != "" {
		text += "\n" + strings.TrimRight(c.Command, "\n")
	}
	return text
}

// PrintReceipt shows the receipt of a run.
func PrintReceipt(page *Page, r *engine.RunReceipt, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, Receipt(r))
	}
	for _, line := range ReceiptLines(r) {
		terminal.Say(page.Out, "%-10s %s\n", line.Name, terminal.Block(strings.ReplaceAll(line.Text, "\n", "\n           ")))
	}
	return nil
}

package view

import (
	"fmt"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// mostPlaces is how many places with secrets a text names; of more it says how many there are.
const mostPlaces = 6

// SecretsText names the kinds of secrets that were found, how often and where.
func SecretsText(p *project.Project, found []engine.FoundSecret) string {
	var parts []string
	for i, f := range found {
		if i == mostPlaces && len(found) > mostPlaces+1 {
			parts = append(parts, fmt.Sprintf("and in %d more places", len(found)-i))
			break
		}
		where := "its " + f.Where
		if strings.HasPrefix(f.Where, "/") {
			where = p.Short(f.Where)
		}
		parts = append(parts, fmt.Sprintf("%s (%s) in %s", f.Kind, humanize.Count(f.Count, "time"), where))
	}
	return strings.Join(parts, ", ")
}

// PrintScrubbed shows what scrub found and replaced, or would replace.
func PrintScrubbed(page *Page, p *project.Project, all []engine.Scrubbed, dryRun, asJSON bool) error {
	if asJSON {
		return terminal.WriteJSON(page.Out, each(all, func(s engine.Scrubbed) api.Scrubbed {
			return api.Scrubbed{
				Instance: string(s.Run.ID), Loop: s.Run.Loop, DryRun: dryRun,
				Found: each(s.Found, func(f engine.FoundSecret) api.FoundSecret {
					return api.FoundSecret{Where: f.Where, Kind: f.Kind, Count: f.Count}
				}),
				Left: each(s.Left, func(f engine.LeftFile) api.LeftFile {
					return api.LeftFile{File: f.Path, Why: f.Why}
				}),
			}
		}))
	}
	for _, s := range all {
		switch {
		case len(s.Found) == 0:
			terminal.Say(page.Out, "Found no secret in run %s.\n", s.Run.ID)
		case dryRun:
			terminal.Say(page.Out, "Would scrub run %s: %s\n", s.Run.ID, SecretsText(p, s.Found))
		default:
			terminal.Say(page.Out, "Scrubbed run %s: %s\n", s.Run.ID, SecretsText(p, s.Found))
		}
		for _, f := range s.Left {
			terminal.Say(page.Err, "loops: %s of run %s was left as it is: %s\n", p.Short(f.Path), s.Run.ID, f.Why)
		}
	}
	if len(all) == 0 {
		terminal.SayLine(page.Out, "Found no secret.")
	}
	return nil
}

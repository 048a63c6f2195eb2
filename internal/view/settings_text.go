package view

import (
	"cmp"
	"fmt"
	"strconv"

	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence"
)

// PrintSettings writes a line for each setting; origin adds where its value comes from, and the files there are.
func PrintSettings(page *Page, p *project.Project, settings []Setting, origin bool) {
	var table [][]string
	for _, s := range settings {
		row := []string{s.Key, humanize.Cut(humanize.PlainLine(s.Text), 60)}
		if origin {
			row = append(row, s.From.Text)
		}
		table = append(table, row)
	}
	terminal.WriteTable(page.Out, table)
	if !origin {
		return
	}
	terminal.Say(page.Out, "\nFiles; a later one wins:\n")
	table = nil
	for _, f := range ConfigFiles(p) {
		state := "not there"
		if f.Exists {
			state = "read"
		}
		table = append(table, []string{"  " + state, f.Whose, p.Short(f.Path)})
	}
	terminal.WriteTable(page.Out, table)
}

var fromDefault = Origin{Kind: "default", Text: "default"}

// Settings returns settings, the files that they are of, and what is wrong there.
func Settings(p *project.Project, settings []Setting, wrong, warnings []config.Problem) api.Settings {
	return api.Settings{
		Files: each(ConfigFiles(p), ConfigFile.Object), Settings: each(settings, Setting.Object),
		Mistakes: each(wrong, mistake), Warnings: each(warnings, mistake),
	}
}

func mistake(p config.Problem) api.Mistake {
	return api.Mistake{File: p.File, Line: api.Int(p.Line), Column: api.Int(p.Col), Message: p.Text}
}

// SettingsOf are all there are, with the values that hold. outside returns what the command line or the
// environment sets a key to.
func SettingsOf(p *project.Project, c *config.Config, outside func(key string) (value any, from Origin, ok bool)) (
	all []Setting,
) {
	for _, k := range config.Keys() {
		switch k.Form {
		case config.FormNotify:
			all = append(all, NotifySettings(p, c)...)
			continue
		case config.FormEvents:
			all = append(all, EventSettings(p, c)...)
			continue
		case config.FormHosts:
			all = append(all, HostSettings(p, c)...)
			continue
		case config.FormWebhooks:
			all = append(all, WebhookSettings(p, c)...)
			continue
		case config.FormSecrets:
			all = append(all, SecretSettings(p, c)...)
			continue
		case config.FormTypes:
			all = append(all, TypeSettings(p, c)...)
			continue
		}
		s := Setting{Key: k.Name, Value: k.Value(c), From: fromDefault}
		if _, ok := c.At[k.Name]; ok {
			s.From = FromFile(p, c, k.Name)
		}
		if value, from, ok := outside(k.Name); ok {
			s.Value, s.From = value, from
		}
		switch text, _ := s.Value.(string); {
		case s.Value == nil && s.From.Kind != "default": // a file cleared what a lower one set
			s.Text = "(none)"
		case s.Value == nil:
			s.Text = "(" + cmp.Or(k.Default, "none") + ")"
			if k.Form == config.FormWord || k.Form == config.FormDuration || k.Name == "store" {
				s.Value = terminal.OrNull(k.Default)
			}
		case k.Name == "store":
			s.Text = persistence.Redacted(text)
			s.Value = s.Text
		default:
			s.Text = amountText(s.Value)
		}
		all = append(all, s)
	}
	return all
}

func amountText(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"loops/internal/humanize"
)

// TemplateFilter returns the filter of a template of text/template. Besides the functions of that package it
// has join, json, pluck, tablerow, tablerender, timeago, timefmt and truncate, which do what those of gh do.
func TemplateFilter(text string) (Filter, error) {
	t, err := template.New("--template").Funcs(functions(&strings.Builder{})).Parse(text)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, v any, to io.Writer) error {
		var rows strings.Builder
		if err := t.Funcs(functions(&rows)).Execute(to, v); err != nil {
			return err
		}
		_, err := io.WriteString(to, table(&rows)) // rows that no tablerender wrote
		return err
	}, nil
}

func functions(rows *strings.Builder) template.FuncMap {
	return template.FuncMap{
		"join": func(between string, list []any) string {
			words := make([]string, len(list))
			for i, v := range list {
				words[i] = word(v)
			}
			return strings.Join(words, between)
		},
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
		"pluck": func(key string, list []any) []any {
			values := make([]any, len(list))
			for i, v := range list {
				if m, ok := v.(map[string]any); ok {
					values[i] = m[key]
				}
			}
			return values
		},
		"tablerow": func(cells ...any) string {
			for i, v := range cells {
				if i > 0 {
					rows.WriteByte('\t')
				}
				rows.WriteString(strings.NewReplacer("\t", " ", "\n", " ").Replace(word(v)))
			}
			rows.WriteByte('\n')
			return ""
		},
		"tablerender": func() string { return table(rows) },
		"timeago": func(v any) (string, error) {
			at, err := stamp(v)
			if err != nil || at.IsZero() {
				return "", err
			}
			return humanize.Ago(time.Since(at)), nil
		},
		"timefmt": func(layout string, v any) (string, error) {
			at, err := stamp(v)
			if err != nil || at.IsZero() {
				return "", err
			}
			return at.Local().Format(layout), nil
		},
		"truncate": func(columns int, v any) string { return humanize.Cut(word(v), columns) },
	}
}

// table lays rows out, and forgets them.
func table(rows *strings.Builder) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	_, _ = io.WriteString(w, rows.String()) // a strings.Builder never fails
	_ = w.Flush()
	rows.Reset()
	return b.String()
}

// word is a value in a line; nothing where there is none.
func word(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// stamp reads a time of JSON; zero where there is none.
func stamp(v any) (time.Time, error) {
	if v == nil {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, word(v))
}

package diagram

import (
	"html/template"
	"strings"
)

// HTML returns a page with the graph, what its colours mean and a table of the states. It needs nothing else: it runs no
// script and loads nothing, and its policy says so to the browser.
func (g *Graph) HTML() string {
	type way struct {
		Label, To string
		Taken     int
	}
	type row struct {
		Name, Does, Amount, Notes string
		Ways                      []way
	}
	var rows []row
	next := g.next()
	for i, n := range g.Nodes {
		notes := n.marks()
		switch {
		case n.Initial:
			notes = append([]string{"begins here"}, notes...)
		case n.Failure:
			notes = append([]string{"ends here, failed"}, notes...)
		case n.Terminal:
			notes = append([]string{"ends here"}, notes...)
		}
		for _, why := range n.Entered {
			notes = append(notes, "entered from anywhere: "+why)
		}
		r := row{Name: printable(n.Name), Does: printable(n.Does), Amount: n.Amount, Notes: strings.Join(notes, "; ")}
		for _, k := range next[i] {
			e := g.Edges[k]
			r.Ways = append(r.Ways, way{printable(strings.Join(e.Labels, ", ")), printable(g.Nodes[e.To].Name), e.Taken})
		}
		rows = append(rows, r)
	}
	var b strings.Builder
	err := page.Execute(&b, map[string]any{
		"Heading": g.heading(), "By": g.By, "Rows": rows, "Policy": Policy, "Legend": Legend(),
		"SVG": template.HTML(g.SVG()), //nolint:gosec // every text in it is escaped
	})
	if err != nil {
		panic(err) // a template of ours on values of ours
	}
	return b.String()
}

// Policy is the content security policy of the pages: no script, nothing from elsewhere.
const Policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

// A Colour is one step of the colours of a measured graph.
type Colour struct{ Fill, Ink template.CSS }

// Legend returns the colours of a measured graph, from little to much.
func Legend() []Colour {
	out := make([]Colour, heats)
	for k := range out {
		out[k] = Colour{template.CSS(heatFills[k]), template.CSS(heatInks[k])}
	}
	return out
}

var page = template.Must(template.New("graph").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>{{.Heading}}</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem;color:#111;background:#fff}
.graph{overflow:auto;border:1px solid #ccc;margin:1rem 0}
table{border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.25rem .8rem .25rem 0;border-bottom:1px solid #ddd;overflow-wrap:anywhere}
td.n{white-space:nowrap}
code{font:13px ui-monospace,Menlo,Consolas,monospace}
.legend span{padding:.1rem .7rem;border:1px solid #555}
</style>
</head>
<body>
<h1>{{.Heading}}</h1>
{{- if .By}}
<p class="legend">Colours: least {{range .Legend}}<span style="background:{{.Fill}};color:{{.Ink}}">&nbsp;</span>{{end}} most; white is none.</p>
{{- end}}
<p>A red frame is a failure; a broken frame is a state that no run can come to, or that is not known yet; a broken line is taken when something goes wrong.</p>
<div class="graph">
{{.SVG}}</div>
<table>
<thead><tr><th>State</th><th>Does</th>{{if .By}}<th>{{.By}}</th>{{end}}<th>Leads to</th><th></th></tr></thead>
<tbody>
{{- range .Rows}}
<tr><td>{{.Name}}</td><td><code>{{.Does}}</code></td>{{if $.By}}<td class="n">{{.Amount}}</td>{{end}}<td>
{{- range .Ways}}<div>{{with .Label}}{{.}} {{end}}&rarr; {{.To}}{{if .Taken}} ({{.Taken}}&times;){{end}}</div>{{end}}</td><td>{{.Notes}}</td></tr>
{{- end}}
</tbody>
</table>
</body>
</html>
`))

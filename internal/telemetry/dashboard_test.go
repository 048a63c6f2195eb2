package telemetry

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDashboard: each query of the dashboard asks for metrics and labels that there are, and each metric has a query.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/contrib/grafana/loops.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Definition string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	check := func(where, query string) {
		for _, wrong := range wrongQuery(query, asked) {
			t.Errorf("%s: %s: %s", where, query, wrong)
		}
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		check("variables", v.Definition)
	}
	for _, m := range Metrics {
		if !asked[m.Name] {
			t.Errorf("no query asks for %s", m.Name)
		}
	}
	for _, wrong := range []string{
		"loops_runs_total", "sum by (verdict) (loops_steps_total)",
		`loops_queue_length{loop="x"}`, "loops_steps_total_bucket",
	} {
		if wrongQuery(wrong, map[string]bool{}) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

var (
	queryMetric = regexp.MustCompile(`\bloops_[a-z_]+`)
	queryLabel  = regexp.MustCompile(`([a-z_]+)=~?"`)
	queryBy     = regexp.MustCompile(`by \(([a-z_, ]+)\)`)
)

// wrongQuery returns what is wrong with a query of one metric, which it notes in asked.
func wrongQuery(query string, asked map[string]bool) (wrong []string) {
	for _, name := range queryMetric.FindAllString(query, -1) {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		i := slices.IndexFunc(Metrics, func(m Metric) bool {
			return m.Name == name || m.Name == base && m.Kind == Histogram
		})
		if i < 0 {
			wrong = append(wrong, "there is no metric "+name)
			continue
		}
		m := Metrics[i]
		asked[m.Name] = true
		labels := append([]string{"project"}, m.Labels...)
		if m.Kind == Histogram {
			labels = append(labels, "le")
		}
		var used []string
		for _, found := range queryLabel.FindAllStringSubmatch(query, -1) {
			used = append(used, found[1])
		}
		for _, found := range queryBy.FindAllStringSubmatch(query, -1) {
			used = append(used, strings.Split(found[1], ", ")...)
		}
		for _, label := range used {
			if !slices.Contains(labels, label) {
				wrong = append(wrong, name+" has no label "+label)
			}
		}
	}
	return wrong
}

// TestMetricsPage: docs/observe.md has the table of metrics as it is.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Metrics {
		labels := "-"
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		if row := "| `" + m.Name + "` | " + string(m.Kind) + " | " + labels + " | " + m.Help +
			" |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/observe.md has no row %s", row)
		}
	}
}

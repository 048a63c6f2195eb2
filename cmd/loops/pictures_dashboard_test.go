package main_test

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

// A sample is what /metrics answered at a time: values by series.
type sample struct {
	at     time.Time
	values map[string]float64
}

// A panel is one of the dashboard.
type panel struct {
	Title, Type string
	GridPos     struct{ X, Y, W, H float64 }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ Expr, LegendFormat string }
}

// TestPicturesDashboard draws the dashboard of Grafana, by its panels and their queries, from what a server answers at
// /metrics while runs are made. Each panel has a line.
func TestPicturesDashboard(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/config.yaml"), "serve: {metrics: true}\n")
	for name, states := range map[string]string{
		"fix": `  ask: {action_type: prompt, action: 'mend it', host: claude, next: test}
  test: {action: 'sleep 0.0$((RANDOM % 9)); test $((RANDOM % 3)) != 0 || exit 2',
    retry: {times: 3, backoff: 30ms}, on_yes: done, on_no: ask, on_error: ask}`,
		"deploy": `  build: {action: 'sleep 0.1', next: wait}
  wait: {wait: {for: 50ms}, next: check}
  check: {action: 'test $((RANDOM % 3)) != 0', on_yes: done, on_no: bad}
  bad: {terminal: true, failure: true}`,
		"slow": `  a: {action: 'exec sleep 600', next: done}`,
	} {
		writeText(t, filepath.Join(dir, ".loops", name+".yaml"),
			"name: "+name+"\ndescription: a test\nscope: ["+name+"]\nmax_steps: 40\ninitial: "+
				strings.TrimSpace(strings.SplitN(states, ":", 2)[0])+"\nstates:\n"+states+
				"\n  done: {terminal: true}\n")
	}
	bin := t.TempDir()
	writeText(t, filepath.Join(bin, "claude"), `#!/bin/bash
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"sonnet"}' '{"type":"assistant","message":{"content":[{"type":"text","text":"done"}]}}' \
  '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","total_cost_usd":0.0'$((RANDOM % 9))',"usage":{"input_tokens":1'$((RANDOM % 999))',"output_tokens":'$((RANDOM % 999))',"cache_read_input_tokens":5'$((RANDOM % 999))'}}'
`)
	must(t, os.Chmod(filepath.Join(bin, "claude"), 0o755))
	s := startServe(t, dir)
	var samples []sample
	scrape := func() {
		before := ""
		if len(samples) > 0 {
			before = fmt.Sprint(samples[len(samples)-1].values)
		}
		testenv.Wait(t, "other metrics", func() bool {
			status, text := s.metrics("")
			if status != 200 {
				t.Fatalf("%d %s", status, text)
			}
			now := sample{time.Now(), map[string]float64{}}
			for line := range strings.Lines(text) {
				if series, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok &&
					!strings.HasPrefix(line, "#") {
					now.values[series+"}"], _ = strconv.ParseFloat(value, 64)
				}
			}
			if fmt.Sprint(now.values) == before {
				return false
			}
			samples = append(samples, now)
			return true
		})
	}
	begin := func(args ...string) *exec.Cmd {
		cmd := exec.Command(binary(t), append([]string{"-C", dir}, args...)...)
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	scrape()
	slow := begin("run", "-q", "slow")
	rounds := 3
	if *testenv.Pictures != "" {
		rounds = 24
	}
	for i := range rounds {
		switch i {
		case rounds / 3:
			_ = slow.Process.Kill()
			_ = slow.Wait()
			begin("resume", "-q", "slow")
		case rounds * 2 / 3:
			begin("run", "-q", "slow", "--queue")
		}
		for _, name := range []string{"fix", "deploy", "fix"} {
			cmd := exec.Command(binary(t), "-C", dir, "run", "-q", name)
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			_ = cmd.Run() // some fail
		}
		scrape()
	}
	var board struct{ Panels []panel }
	must(t, json.Unmarshal([]byte(readText(t, "../../docs/contrib/grafana/loops.json")), &board))
	svg := drawDashboard(t, board.Panels, samples)
	wellFormed(t, "dashboard.svg", svg, "Runs that ended", "completed", "prompt median", "sonnet", "process died",
		"running 1")
	if out := *testenv.Pictures; out != "" {
		must(t, os.WriteFile(filepath.Join(out, "dashboard.svg"), []byte(svg), 0o644))
	}
}

var (
	panelQuery = regexp.MustCompile(
		`^(?:(\d+) \* )?(?:histogram_quantile\(([\d.]+), )?sum(?: by \(([a-z_, ]+)\))?\s?\((?:(rate|increase)\()?(loops_[a-z_]+)\{[^}]*\}(?:\[([^\]]+)\]\))?\)\)?$`)
	seriesLabel = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
	legendLabel = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
)

// lines evaluates a query of the dashboard at each sample: a value for each set of labels; NaN = none.
func lines(t *testing.T, query, legend string, samples []sample) map[string][]float64 {
	t.Helper()
	m := panelQuery.FindStringSubmatch(query)
	if m == nil {
		t.Fatalf("the picture cannot be drawn with the query %s", query)
	}
	factor, by, window := 1.0, strings.Split(m[3], ", "), 4
	if m[1] != "" {
		factor, _ = strconv.ParseFloat(m[1], 64)
	}
	if m[6] == "1h" {
		window = len(samples)
	}
	all := map[string][]float64{}
	for i, now := range samples {
		from := samples[max(0, i-window)]
		sums, buckets := map[string]float64{}, map[string]map[float64]float64{}
		for series, v := range now.values {
			if !strings.HasPrefix(series, m[5]+"{") {
				continue
			}
			labels := map[string]string{}
			for _, l := range seriesLabel.FindAllStringSubmatch(series, -1) {
				labels[l[1]] = l[2]
			}
			name := legendLabel.ReplaceAllStringFunc(legend, func(part string) string {
				return labels[strings.Trim(part, "{}")]
			})
			if m[4] != "" {
				v -= from.values[series]
			}
			if seconds := now.at.Sub(from.at).Seconds(); m[4] == "rate" && seconds > 0 {
				v /= seconds
			}
			sums[name] += v * factor
			if slices.Contains(by, "le") {
				le, _ := strconv.ParseFloat(labels["le"], 64) // +Inf too
				if buckets[name] == nil {
					buckets[name] = map[float64]float64{}
				}
				buckets[name][le] += v
			}
		}
		for name, v := range sums {
			if m[2] != "" {
				q, _ := strconv.ParseFloat(m[2], 64)
				v = quantile(q, buckets[name])
			}
			for len(all[name]) < i {
				all[name] = append(all[name], math.NaN())
			}
			all[name] = append(all[name], v)
		}
	}
	return all
}

// quantile is histogram_quantile of Prometheus.
func quantile(q float64, buckets map[float64]float64) float64 {
	bounds := slices.Sorted(maps.Keys(buckets))
	total := buckets[math.Inf(1)]
	if total <= 0 {
		return math.NaN()
	}
	low, below := 0.0, 0.0
	for _, le := range bounds {
		n := buckets[le]
		if n >= q*total {
			if math.IsInf(le, 1) {
				return low
			}
			return low + (le-low)*(q*total-below)/max(n-below, 1e-9)
		}
		low, below = le, n
	}
	return low
}

// drawDashboard draws panels.
func drawDashboard(t *testing.T, panels []panel, samples []sample) string {
	t.Helper()
	const wide, high, gap = 46.0, 22.0, 4.0
	colours := []string{"#73bf69", "#f2cc0c", "#5794f2", "#ff9830", "#f2495c", "#b877d9", "#8ab8ff"}
	var b strings.Builder
	bottom := 0.0
	for _, p := range panels {
		bottom = max(bottom, p.GridPos.Y+p.GridPos.H)
	}
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
			`font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="11">`+
			"\n", 24*wide+gap, bottom*high+gap)
	b.WriteString(`<rect width="100%" height="100%" fill="#111217"/>` + "\n")
	span := samples[len(samples)-1].at.Sub(samples[0].at).Seconds()
	for _, p := range panels {
		x, y, w, h := p.GridPos.X*wide+gap, p.GridPos.Y*high+gap, p.GridPos.W*wide-gap, p.GridPos.H*high-gap
		fmt.Fprintf(&b,
			`<g transform="translate(%.0f %.0f)">`+
				`<rect width="%.0f" height="%.0f" rx="3" fill="#181b1f" stroke="#2c3036"/>`+
				`<text x="10" y="18" fill="#ccccdc" font-weight="600">%s</text>`+
				"\n", x, y, w, h, html.EscapeString(p.Title))
		all := map[string][]float64{}
		for _, target := range p.Targets {
			maps.Copy(all, lines(t, target.Expr, target.LegendFormat, samples))
		}
		names := slices.Sorted(maps.Keys(all))
		most := 0.0
		for _, name := range names {
			for _, v := range all[name] {
				if !math.IsNaN(v) {
					most = max(most, v)
				}
			}
		}
		if len(names) == 0 && p.Type != "stat" {
			t.Errorf("the panel %s has no line", p.Title)
		}
		if p.Type == "stat" {
			for i, name := range append(names, map[bool]string{true: "0"}[len(names) == 0]) {
				if value := all[name]; name != "" && value != nil {
					name += " " + strconv.FormatFloat(value[len(value)-1], 'f', -1, 64)
				}
				fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" fill="%s" font-size="22" text-anchor="middle">%s</text>`+
					"\n", w/2, h/2+8+float64(i)*24, colours[i%len(colours)], html.EscapeString(name))
			}
			b.WriteString("</g>\n")
			continue
		}
		left, top, right, foot := 52.0, 30.0, w-10, h-26
		for i := range 3 {
			v := most * float64(i) / 2
			at := foot - (foot-top)*float64(i)/2
			fmt.Fprintf(&b,
				`<path d="M%.0f %.1fH%.0f" stroke="#2c3036"/>`+
					`<text x="%.0f" y="%.1f" fill="#8e8ea0" text-anchor="end">%s</text>`+
					"\n", left, at, right, left-6, at+4, axisText(v, p.FieldConfig.Defaults.Unit))
		}
		legend := left
		for i, name := range names {
			var path strings.Builder
			pen := "M"
			for k, v := range all[name] {
				if math.IsNaN(v) {
					pen = "M"
					continue
				}
				fmt.Fprintf(&path, "%s%.1f %.1f", pen,
					left+(right-left)*samples[k].at.Sub(samples[0].at).Seconds()/max(span, 1e-9),
					foot-(foot-top)*v/max(most, 1e-9))
				pen = "L"
			}
			colour := colours[i%len(colours)]
			fmt.Fprintf(&b,
				`<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+
					`<rect x="%.0f" y="%.0f" width="10" height="3" fill="%s"/>`+
					`<text x="%.0f" y="%.0f" fill="#ccccdc">%s</text>`+
					"\n",
				path.String(), colour, legend, h-13, colour, legend+14, h-8, html.EscapeString(name))
			legend += 26 + 6.2*float64(len(name))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// axisText returns a value with its unit.
func axisText(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'g', 3, 64)
	switch {
	case unit == "s" && v > 0 && v < 1:
		return strconv.FormatFloat(v*1000, 'g', 3, 64) + " ms"
	case unit == "s":
		return text + " s"
	case unit == "currencyUSD":
		return "$" + text
	case v >= 1000:
		return strconv.FormatFloat(v/1000, 'g', 3, 64) + "k"
	}
	return text
}

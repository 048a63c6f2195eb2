package fsm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loops/fsm/value"
)

// verdict is what the items came to together.
func (r *round) verdict() string {
	switch good := r.done - r.failed; {
	case good == len(r.items):
		return "yes"
	case good > 0:
		return ItemsPartial
	}
	return "no"
}

// mostOutput is how long the list of results may be that a capture holds whole, in bytes.
const mostOutput = 1 << 20

// result makes the result of the state, and what it captures.
func (r *round) result(ctx context.Context) (Result, *value.Map, error) {
	e, m := r.e, r.e.mem
	res := Result{Stdout: fmt.Sprintf("%d of %d items are done, %d of them failed", r.done, len(r.items), r.failed)}
	if r.st.Capture == "" {
		return res, nil, nil
	}
	var failed []string
	for i, verdict := range r.ends {
		if verdict != "" && verdict != "yes" {
			failed = append(failed, r.keys[i])
		}
	}
	list, err := r.list(ctx)
	if err != nil {
		return res, nil, err
	}
	rec := value.NewMap("output", list, "failed", strings.Join(failed, "\n"), "items", int64(len(r.items)), "done", int64(r.done))
	dir, _ := m.Context.Value("run_dir").(string)
	if dir != "" && (len(list) > mostOutput || e.keep[r.st.Capture]) {
		name := strings.TrimRight(dir, "/") + "/" + fmt.Sprintf("items-%s%d-%s.json", strings.ReplaceAll(strings.TrimPrefix(e.outer+"/", "/"), "/", "-"), m.Step, VarName(r.st.Name))
		if err := e.cfg.Files.WriteFile(name, []byte(list)); err != nil {
			return res, nil, err
		}
		rec.Set("file", name)
	}
	if len(list) > mostOutput {
		cut := max(strings.LastIndex(list[:mostOutput], "\n"), 1)
		rec.Set("output", strings.TrimSuffix(list[:cut], ",")+"\n]")
		rec.Set("truncated", true)
		rec.Set("bytes", int64(len(list)))
	}
	return res, rec, nil
}

// list is the JSON list of the results, in the order of the items, one a line.
func (r *round) list(ctx context.Context) (string, error) {
	entries, verdicts := make([]string, len(r.items)), make([]string, len(r.items))
	for i, text := range r.entries {
		entries[i] = text
	}
	for ev, err := range r.e.history(ctx) {
		if err != nil {
			return "", fmt.Errorf("the history of the run cannot be read: %w", err)
		}
		switch {
		case !r.own(ev):
		case ev.Kind == EventStateEnter && ev.Get("resumed") == nil:
			clear(entries)
		case ev.Kind == EventItemsStart:
			again := againOf(ev)
			for i, verdict := range verdicts {
				if again.takes(verdict) {
					entries[i], verdicts[i] = "", ""
				}
			}
		case ev.Kind == EventItemEnd:
			if i, ok := r.indexOf(ev); ok && entries[i] == "" {
				entries[i] = r.entry(ev)
				verdicts[i], _ = ev.Get("verdict").(string)
			}
		}
	}
	entries = slices.DeleteFunc(entries, func(text string) bool { return text == "" })
	if len(entries) == 0 {
		return "[]", nil
	}
	return "[\n" + strings.Join(entries, ",\n") + "\n]", nil
}

// entry is the result of one item as JSON.
func (r *round) entry(ev Event) string {
	i, _ := r.indexOf(ev)
	m := value.NewMap("item", r.items[i], "key", r.keys[i])
	for _, key := range []string{"verdict", "exit_code", "duration_ms", "output", "output_file", "error"} {
		if v := ev.Get(key); v != nil {
			if key == "output_file" {
				key = "file"
			}
			m.Set(key, v)
		} else if key == "output" {
			m.Set(key, "")
		}
	}
	return string(value.AppendJSON(nil, m))
}

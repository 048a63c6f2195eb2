package lint

import (
	"strconv"
	"strings"

	"loops/internal/humanize"
)

// seeded are the context keys that every run has.
var seeded = []string{
	"run_dir", "input_hash", "max_steps", "max_iterations", "include", "readiness_threshold", "outcome_threshold",
	"design_tokens_context",
	"design_guidance_context",
	"_baseline", "_tamper_guard", "_prepatch_check",
}

// contextNames returns the keys of the context that a run has, and in file order those of them that this loop names.
func (c *checker) contextNames() (known map[string]bool, names []string) {
	l := c.l
	known = map[string]bool{"": true}
	add := func(name string) {
		if !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	for _, k := range l.Context.Keys() {
		add(k)
	}
	if l.InputKey == "" {
		add("input")
	}
	add(l.InputKey)
	for _, k := range l.RequiredInputs {
		add(k)
	}
	for _, p := range l.Parameters {
		add(p.Name)
	}
	for _, s := range c.states {
		for _, a := range s.Set {
			add(a.Key)
		}
	}
	for _, k := range seeded {
		known[k] = true
	}
	return known, names
}

// contextRules warn of ${context.NAME} that nothing in the file gives a value.
func (c *checker) contextRules() {
	known, names := c.contextNames()
	hints := map[string]string{}
	for i, s := range c.states {
		for _, t := range c.texts[i] {
			for _, r := range t.refs {
				name, _, _ := strings.Cut(r.Path, ".")
				if r.Namespace != "context" || guarded(r) || known[name] || strings.Contains(name, ":") || isTorn(r) {
					continue
				}
				hint, ok := hints[name]
				if !ok {
					hint = c.didYouMean(name, names)
					hints[name] = hint
				}
				c.gather("unknown-context", name, s.Name, spot{r.Offset, t.path},
					"nothing in the loop %s gives context.%s a value%s; add it to context, or to required_inputs if "+
						"the user gives it", humanize.Quote(c.l.Name), humanize.Clip(name), hint)
			}
		}
	}
}

// progressRules warn of files that count as progress although the loop itself writes them.
func (c *checker) progressRules() {
	if c.l.Stall == nil {
		return
	}
	excluded := map[string]bool{}
	for _, p := range c.l.Stall.ExcludePaths {
		excluded[p] = true
	}
	budget := 50_000_000 // bytes of actions to look through
	for i, p := range c.l.Stall.ProgressPaths {
		name := p
		if isTemplate(name) && strings.HasPrefix(name, "${") {
			if _, after, found := strings.Cut(name, "}/"); found {
				name = after
			}
		}
		if excluded[p] || name == "" {
			continue
		}
		for _, s := range c.states {
			if budget -= len(s.Action); budget < 0 {
				return
			}
			if n := strings.Index(s.Action, name); n >= 0 {
				at := valueAt("circuit", "repeated_failure", "progress_paths", strconv.Itoa(i))
				c.warnf("progress-path", at, "the action of %s%s names %s, so if it writes the file each turn looks "+
					"like progress and the detector never fires; move it to exclude_paths",
					humanize.Quote(s.Name), c.seen(spot{n, []string{"states", s.Name, "action"}}, at),
					humanize.Quote(name))
			}
		}
	}
}

package simtest

import (
	"slices"
	"strings"
)

// clone copies what [Shrink] takes apart.
func (d *Definition) clone() *Definition {
	c := &Definition{}
	for _, l := range d.Loops {
		own := &Loop{Name: l.Name, Keys: slices.Clone(l.Keys)}
		for _, s := range l.States {
			own.States = append(own.States, s.clone())
		}
		c.Loops = append(c.Loops, own)
	}
	return c
}

func (s *State) clone() *State {
	c := &State{Name: s.Name, Keys: slices.Clone(s.Keys)}
	for _, b := range s.Branches {
		c.Branches = append(c.Branches, b.clone())
	}
	return c
}

// Shrink returns the smallest definition and the fewest disturbances that it finds with which a run still
// fails, as fails says. A definition that cannot be loaded does not fail.
func Shrink(d *Definition, plan []Disturbance, fails func(*Definition, []Disturbance) bool) (*Definition,
	[]Disturbance,
) {
	for smaller := true; smaller; {
		smaller = false
		for i := len(plan) - 1; i >= 0; i-- {
			if less := slices.Delete(slices.Clone(plan), i, i+1); fails(d, less) {
				plan, smaller = less, true
			}
		}
		for i := 0; ; i++ {
			less, more := d.without(i)
			if !more {
				break
			}
			if less != nil && fails(less, plan) {
				d, smaller = less, true
				i--
			}
		}
	}
	return d, plan
}

// without returns the definition without its nth part, and whether there is such a part: nil where it cannot be
// left out.
func (d *Definition) without(n int) (less *Definition, more bool) {
	less = d.clone()
	next := func() bool {
		n--
		return n == -1
	}
	for i, l := range less.Loops {
		if i > 0 && next() {
			if strings.Contains(less.Text(), "loop: "+l.Name) {
				return nil, true
			}
			less.Loops = slices.Delete(less.Loops, i, i+1)
			return less, true
		}
		for k := range l.Keys {
			if next() {
				l.Keys = slices.Delete(l.Keys, k, k+1)
				return less, true
			}
		}
		for k, s := range l.States {
			if k > 0 && next() {
				l.States = slices.Delete(l.States, k, k+1)
				l.lead(s.Name, "done")
				return less, true
			}
			if s.without(next) {
				return less, true
			}
		}
	}
	return nil, false
}

// without takes the part out that next names, if it is one of this state.
func (s *State) without(next func() bool) bool {
	for k, key := range s.Keys {
		if !fixed(key) && next() {
			s.Keys = slices.Delete(s.Keys, k, k+1)
			return true
		}
	}
	for k, key := range s.Keys {
		if name, _, _ := strings.Cut(key, ":"); (strings.HasPrefix(name, "on_") || name == "next") &&
			!strings.HasSuffix(key, ": done") && !fixed(key) && next() {
			s.Keys[k] = name + ": done"
			return true
		}
	}
	for k, b := range s.Branches {
		if len(s.Branches) > 1 && next() {
			s.Branches = slices.Delete(s.Branches, k, k+1)
			return true
		}
		if b.without(next) {
			return true
		}
	}
	return false
}

// fixed reports whether a key stays: without it the way of the run would depend on what ends first.
func fixed(key string) bool {
	return strings.HasPrefix(key, "on_branch_failure:") || strings.HasPrefix(key, "on_item_failure:") ||
		strings.HasPrefix(key, "join:")
}

// lead has what led to a state lead to another one.
func (l *Loop) lead(from, to string) {
	change := func(keys []string) {
		for i, k := range keys {
			if rest, ok := strings.CutSuffix(k, ": "+from); ok {
				keys[i] = rest + ": " + to
			}
		}
	}
	change(l.Keys)
	for _, s := range l.States {
		change(s.Keys)
	}
}

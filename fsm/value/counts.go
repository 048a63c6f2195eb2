package value

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
)

// Counts are whole numbers by name. They never change: With and Without return others, which share most of
// their memory with these, and Changes between two such values takes time for what changed, however many there
// are. The zero value has none. Any number of goroutines may use them. Counts that are equal by == have the
// same names and numbers; Changes compares others.
//
// Counts are a treap whose priorities are hashes of the names. So equal counts have the same shape, however
// they were made.
type Counts struct{ root *count }

type count struct {
	name        string
	n, size     int
	priority    uint64
	left, right *count
}

// CountsOf returns the counts of a map.
func CountsOf(m map[string]int) Counts {
	var c Counts
	for name, n := range m {
		c = c.With(name, n)
	}
	return c
}

// Len returns how many names there are.
func (c Counts) Len() int { return c.root.len() }

// Get returns the count of a name, 0 if there is none.
func (c Counts) Get(name string) int {
	for t := c.root; t != nil; {
		switch cmp.Compare(name, t.name) {
		case 0:
			return t.n
		case -1:
			t = t.left
		default:
			t = t.right
		}
	}
	return 0
}

// With returns the counts with another one of a name.
func (c Counts) With(name string, n int) Counts {
	return Counts{c.root.with(name, n, priority(name))}
}

// Without returns the counts without a name.
func (c Counts) Without(name string) Counts { return Counts{c.root.without(name)} }

// All returns the names and their counts, in the order of the names.
func (c Counts) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) { c.root.each(yield) }
}

// String returns the counts as fmt prints a map.
func (c Counts) String() string { return fmt.Sprint(maps.Collect(c.All())) }

// Changes passes to each, in their order, the names of c whose count was another one before, or that had none,
// and the names that are gone.
func (c Counts) Changes(before Counts, each func(name string, n int, gone bool)) {
	changes(c.root, before.root, each)
}

// priority is FNV-1a, with its bits mixed: names mostly differ in their last bytes.
func priority(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func (t *count) len() int {
	if t == nil {
		return 0
	}
	return t.size
}

// above reports whether a node is nearer to the root than another of a different name.
func above(p uint64, name string, t *count) bool {
	return p > t.priority || p == t.priority && name < t.name
}

// joined returns a copy of a node with these children.
func (t *count) joined(left, right *count) *count {
	return &count{t.name, t.n, left.len() + right.len() + 1, t.priority, left, right}
}

func (t *count) with(name string, n int, p uint64) *count {
	switch {
	case t == nil:
		return &count{name: name, n: n, size: 1, priority: p}
	case name == t.name && n == t.n:
		return t
	case name == t.name:
		c := *t
		c.n = n
		return &c
	case above(p, name, t):
		left, right := t.split(name)
		return &count{name, n, t.size + 1, p, left, right}
	case name < t.name:
		if left := t.left.with(name, n, p); left != t.left {
			return t.joined(left, t.right)
		}
		return t
	}
	if right := t.right.with(name, n, p); right != t.right {
		return t.joined(t.left, right)
	}
	return t
}

func (t *count) without(name string) *count {
	switch {
	case t == nil:
		return nil
	case name == t.name:
		return merge(t.left, t.right)
	case name < t.name:
		if left := t.left.without(name); left != t.left {
			return t.joined(left, t.right)
		}
		return t
	}
	if right := t.right.without(name); right != t.right {
		return t.joined(t.left, right)
	}
	return t
}

// split returns what is before a name that is not there, and what is after it.
func (t *count) split(name string) (before, behind *count) {
	switch {
	case t == nil:
		return nil, nil
	case t.name < name:
		left, right := t.right.split(name)
		if right == nil {
			return t, nil
		}
		return t.joined(t.left, left), right
	}
	left, right := t.left.split(name)
	if left == nil {
		return nil, t
	}
	return left, t.joined(right, t.right)
}

// merge joins two, of which all names of one are before all of the other.
func merge(before, behind *count) *count {
	switch {
	case before == nil:
		return behind
	case behind == nil:
		return before
	case above(before.priority, before.name, behind):
		return before.joined(before.left, merge(before.right, behind))
	}
	return behind.joined(merge(before, behind.left), behind.right)
}

func (t *count) each(yield func(string, int) bool) bool {
	return t == nil || t.left.each(yield) && yield(t.name, t.n) && t.right.each(yield)
}

// changes returns how many pairs of nodes it looked at.
func changes(now, before *count, each func(name string, n int, gone bool)) (looked int) {
	switch {
	case now == before:
		return 0
	case now == nil:
		before.each(func(name string, _ int) bool { each(name, 0, true); return true })
		return before.size
	case before == nil:
		now.each(func(name string, n int) bool { each(name, n, false); return true })
		return now.size
	case now.name == before.name:
		looked = changes(now.left, before.left, each)
		if now.n != before.n {
			each(now.name, now.n, false)
		}
		return 1 + looked + changes(now.right, before.right, each)
	case above(now.priority, now.name, before):
		left, right := before.split(now.name)
		looked = changes(now.left, left, each)
		each(now.name, now.n, false)
		return 1 + looked + changes(now.right, right, each)
	}
	left, right := now.split(before.name)
	looked = changes(left, before.left, each)
	each(before.name, 0, true)
	return 1 + looked + changes(right, before.right, each)
}

package fsm

import (
	"slices"
	"strconv"
	"strings"
)

// An Address leads to a step of a run, or to a branch or an item of one. Users read and type it: 3 is step 3 of
// the run, 3/2 step 2 of the sub-loop that step 3 ran, 2/lint/1 step 1 of the branch lint of step 2, 2/#4/1
// step 1 of item 4, and 2/lint the branch itself. The address of a question has the number of the question in
// the run after it: 2/lint/1:4.
type Address struct {
	Hops     []Hop
	Question int // 0 = it is not that of a question
}

// A Hop is one step of an address, and the branch or the item that the address goes into from there.
type Hop struct {
	Step   int
	Branch string // "" = none: the next hop is in the sub-loop of the step
}

// String returns the address as users read it. [ParseAddress] reads it.
func (a Address) String() string {
	var b strings.Builder
	for i, h := range a.Hops {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(strconv.Itoa(h.Step))
		if h.Branch != "" {
			b.WriteString("/" + h.Branch)
		}
	}
	if a.Question > 0 {
		b.WriteString(":" + strconv.Itoa(a.Question))
	}
	return b.String()
}

// Recorded returns the address as events, commands and actions have it, /2+lint/1:4. It never changes: an answer on
// record is found by it.
func (a Address) Recorded() string {
	var b strings.Builder
	for _, h := range a.Hops {
		b.WriteString("/" + strconv.Itoa(h.Step))
		if h.Branch != "" {
			b.WriteString(branchSign + h.Branch)
		}
	}
	if a.Question > 0 {
		b.WriteString(":" + strconv.Itoa(a.Question))
	}
	return b.String()
}

// RecordedAddress returns the address of a question as it is recorded, whatever form of it a user typed; a text
// that is none as it is.
func RecordedAddress(text string) string {
	if a, ok := ParseAddress(text); ok {
		return a.Recorded()
	}
	return text
}

// ShownAddress returns a recorded address as users read it.
func ShownAddress(recorded string) string {
	if a, ok := ParseAddress(recorded); ok {
		return a.String()
	}
	return recorded
}

// ParseAddress reads an address as [Address.String] returns it, as earlier versions showed those of sub-loops
// (3.2), and as the address of a question is recorded (/2+lint/1:4). It reports false for anything else.
func ParseAddress(text string) (Address, bool) {
	var a Address
	text, question, asked := strings.Cut(text, ":")
	if asked {
		n, err := strconv.Atoi(question)
		if err != nil || n < 1 {
			return Address{}, false
		}
		a.Question = n
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "/"), "/") {
		steps, branch, into := strings.Cut(part, branchSign)
		if !into && isBranchPart(part) {
			steps, branch, into = "", part, true
		}
		if part == "" {
			return Address{}, false
		}
		if steps != "" {
			for step := range strings.SplitSeq(steps, ".") {
				n, err := strconv.Atoi(step)
				if err != nil || n < 1 {
					return Address{}, false
				}
				a.Hops = append(a.Hops, Hop{Step: n})
			}
		}
		if !into {
			continue
		}
		last := len(a.Hops) - 1
		if last < 0 || a.Hops[last].Branch != "" || !isBranchPart(branch) {
			return Address{}, false
		}
		a.Hops[last].Branch = branch
	}
	return a, len(a.Hops) > 0
}

// isBranchPart reports whether a part of an address is the name of a branch or of an item: neither begins with a digit.
func isBranchPart(part string) bool {
	if strings.HasPrefix(part, itemSign) {
		return ItemOf(part) > 0
	}
	return part != "" && part[0] != '.' && (part[0] < '0' || part[0] > '9') && !strings.ContainsAny(part, ".:+ \t\n")
}

// Step reports whether the address is that of a step, and not of a branch or an item.
func (a Address) Step() bool { return len(a.Hops) > 0 && a.Hops[len(a.Hops)-1].Branch == "" }

// Task returns the address of the sub-loop, branch or item that the address is in, or of the branch or the item that it
// is; one without hops is that of the run.
func (a Address) Task() Address {
	if a.Step() {
		a.Hops = a.Hops[:len(a.Hops)-1]
	}
	a.Question = 0
	return a
}

// Covers reports whether other is the step that a names, or a step inside the branch or the item that a names.
// A hop of a that names no branch means each of the step's branches and items: 2/1 is step 1 of each. So does
// item #4 each of its tries.
func (a Address) Covers(other Address) bool {
	return a.Contains(other) && (!a.Step() || len(a.Hops) == len(other.Hops) && other.Step())
}

// Contains reports whether other is what a names, or inside it, by the same rules as Covers.
func (a Address) Contains(other Address) bool {
	if len(a.Hops) > len(other.Hops) {
		return false
	}
	for i, h := range a.Hops {
		if o := other.Hops[i]; h.Step != o.Step || h.Branch != "" && !sameBranch(h.Branch, o.Branch) {
			return false
		}
	}
	return true
}

// sameBranch reports whether name, of an address, means a branch or an item.
func sameBranch(name, branch string) bool {
	item, tried := itemTry(name)
	return name == branch || item > 0 && tried == 1 && ItemOf(branch) == item
}

// Equal reports whether two addresses are the same.
func (a Address) Equal(other Address) bool {
	return a.Question == other.Question && slices.Equal(a.Hops, other.Hops)
}

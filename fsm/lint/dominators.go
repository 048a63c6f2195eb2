package lint

// A domTree answers whether every way from the root to a state leads through another one.
type domTree struct {
	enter, leave []int // times of a walk over the tree; 0 = no way leads there
}

// dominators computes the tree by the algorithm of Lengauer and Tarjan, without its last refinement: it takes
// O(e log n). Nothing here recurses, because a loop may be a chain of thousands of states.
func dominators(next [][]int, root int) *domTree {
	n := len(next)
	number := make([]int, n) // of the depth-first walk, from 1; 0 = not reached
	var order []int          // states by number-1
	parent := make([]int, n) // in the walk, numbers
	pred := make([][]int, n)
	type step struct{ state, child int }
	number[root] = 1
	order = append(order, root)
	for stack := []step{{root, 0}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		if top.child == len(next[top.state]) {
			stack = stack[:len(stack)-1]
			continue
		}
		to := next[top.state][top.child]
		top.child++
		pred[to] = append(pred[to], top.state)
		if number[to] == 0 {
			order = append(order, to)
			number[to] = len(order)
			parent[len(order)-1] = number[top.state] - 1
			stack = append(stack, step{to, 0})
		}
	}
	// From here on states are their positions in order.
	m := len(order)
	semi, idom, ancestor, label := make([]int, m), make([]int, m), make([]int, m), make([]int, m)
	bucket := make([][]int, m)
	for i := range m {
		semi[i], label[i], ancestor[i] = i, i, -1
	}
	var trail []int
	eval := func(v int) int {
		if ancestor[v] < 0 {
			return v
		}
		trail = trail[:0]
		for u := v; ancestor[ancestor[u]] >= 0; u = ancestor[u] {
			trail = append(trail, u)
		}
		for k := len(trail) - 1; k >= 0; k-- {
			u := trail[k]
			if a := ancestor[u]; semi[label[a]] < semi[label[u]] {
				label[u] = label[a]
			}
			ancestor[u] = ancestor[ancestor[u]]
		}
		return label[v]
	}
	for w := m - 1; w > 0; w-- {
		for _, p := range pred[order[w]] {
			if u := eval(number[p] - 1); semi[u] < semi[w] {
				semi[w] = semi[u]
			}
		}
		bucket[semi[w]] = append(bucket[semi[w]], w)
		ancestor[w] = parent[w]
		for _, v := range bucket[parent[w]] {
			if u := eval(v); semi[u] < semi[v] {
				idom[v] = u
			} else {
				idom[v] = parent[w]
			}
		}
		bucket[parent[w]] = bucket[parent[w]][:0]
	}
	children := make([][]int, m)
	for w := 1; w < m; w++ {
		if idom[w] != semi[w] {
			idom[w] = idom[idom[w]]
		}
		children[idom[w]] = append(children[idom[w]], w)
	}
	t := &domTree{enter: make([]int, n), leave: make([]int, n)}
	clock := 1
	t.enter[order[0]] = clock
	for stack := []step{{0, 0}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		clock++
		if top.child == len(children[top.state]) {
			t.leave[order[top.state]] = clock
			stack = stack[:len(stack)-1]
			continue
		}
		w := children[top.state][top.child]
		top.child++
		t.enter[order[w]] = clock
		stack = append(stack, step{w, 0})
	}
	return t
}

// over reports whether every way to s leads through d. A state no way leads to is dominated by all.
func (t *domTree) over(d, s int) bool {
	if t.enter[s] == 0 {
		return true
	}
	return t.enter[d] != 0 && t.enter[d] <= t.enter[s] && t.leave[s] <= t.leave[d]
}

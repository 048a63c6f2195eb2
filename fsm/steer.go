package fsm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// varLeft is the variable in which actions and prompts find what the budgets leave.
const varLeft = "LOOPS_BUDGET_LEFT"

// A remainder is how much is left of a kind of limit, by the budget that leaves least.
type remainder struct {
	BudgetLine
	left float64
}

// remainders returns what the budgets that hold here leave, in the order of [Budget.Lines]; nil = there are none.
// steer returns those whose limits are told to agents.
func (e *Executor) remainders(steer bool) (list []remainder) {
	e.limits(func(l *limit) bool {
		if l.Name == ceilingName || steer && l.silent {
			return true
		}
		r := remainder{l.BudgetLine, max(0, l.Most-l.Spent-l.inFlight())}
		i := slices.IndexFunc(list, func(x remainder) bool { return x.Name == r.Name })
		switch {
		case i < 0:
			list = append(list, r)
		case r.Unknown || !list[i].Unknown && r.left < list[i].left:
			list[i] = r
		}
		return true
	})
	order := []string{"cost_usd", "tokens", "wall", "steps", "prompts"}
	slices.SortFunc(list, func(a, b remainder) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	return list
}

// lostInAdding is more of a millionth than what is lost in adding up costs.
const lostInAdding = 1e-3

// leftVars returns [varLeft] for an action: cost_usd=1.25 tokens=40000 prompts=3. It is empty where there is no budget.
func (e *Executor) leftVars() []Var {
	list := e.remainders(false)
	if list == nil {
		return nil
	}
	var words []string
	for _, r := range list {
		text := "unknown"
		if !r.Unknown {
			text = strconv.FormatFloat(math.Floor(r.left*1e6+lostInAdding)/1e6, 'f', -1, 64)
		}
		words = append(words, r.Name+"="+text)
	}
	return []Var{{varLeft, strings.Join(words, " ")}}
}

// steps of a budget from which on a prompt is told the rest, and what it is asked to do.
var steps = []struct {
	used float64
	ask  string
}{
	{0.95, "Stop now: leave the files in a state that works, and say what is not done."},
	{0.80, "Finish what you have begun, and begin nothing new."},
	{0.50, "Take the shortest way to the end."},
}

// steer adds to a prompt what the budgets leave, once half of one is used, and returns the line; "" = nothing is added.
// A text that begins with a slash is a command of the agent, whose arguments nothing is added to.
func (e *Executor) steer(a *Action) string {
	a.Vars = append(a.Vars, e.leftVars()...)
	used, left := 0.0, []string{}
	for _, r := range e.remainders(true) {
		used = max(used, (r.Most-r.left)/r.Most+1e-9) // 0.95 may be a little less
		left = append(left, r.text())
	}
	for _, s := range steps {
		if used >= s.used && !strings.HasPrefix(strings.TrimSpace(a.Text), "/") {
			line := fmt.Sprintf("%d %% of the budget is used. Left: %s.", int(math.Floor(used*100)),
				strings.Join(left, ", "))
			a.Text += "\n\n(" + line + " " + s.ask + ")\n"
			return line
		}
	}
	return ""
}

// text is how much is left, for people and agents.
func (r remainder) text() string {
	switch r.Name {
	case "cost_usd":
		return fmt.Sprintf("$%.2f of $%s", math.Floor(r.left*100+1e-6)/100, amount(r.Most))
	case "wall":
		return fmt.Sprintf("%s of %s", time.Duration(r.left)*time.Second, time.Duration(r.Most)*time.Second)
	}
	return fmt.Sprintf("%s of %s %s", amount(math.Floor(r.left)), amount(r.Most), r.Name)
}

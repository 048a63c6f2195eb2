package diagram

import "math"

// A Measure is what a run did, to be shown in the graph of its loop.
type Measure struct {
	By      string            // "outcome", "visits", "time" or "cost"
	States  map[string]Amount // by state
	Order   []string          // the keys of States, as the run came to them
	Taken   []Step            // the transitions the run took, each once
	Failed  string            // the state in which the run ended badly; "" if it did not
	Current string            // the state the run is in; "" = none
}

// An Amount is how much of something, and how to say it.
type Amount struct {
	Value float64
	Text  string
	Tone  Tone
}

// A Tone is how a state came out when it was left last.
type Tone string

// The tones of states that a run came to. They are classes of a picture.
const (
	Good  Tone = "good"
	Fell  Tone = "bad"
	Other Tone = "other" // neither
)

// A Step is a way that a run took, and how often.
type Step struct {
	From, To string
	Times    int
}

// heats is the number of colours.
const heats = 5

// toneFills are the colours of tones in drawings that bring their own style.
var toneFills = []struct {
	tone Tone
	fill string
}{{Good, "#cdebd6"}, {Fell, "#f8d0d2"}, {Other, "#e3e6eb"}}

// Measure shows in a graph what a run did. States and transitions that the graph lacks are added: the loop may have
// been another one then, or not be known at all.
func (g *Graph) Measure(m Measure) {
	if g.index == nil {
		g.index = map[string]int{}
	}
	g.By = m.By
	known := len(g.Nodes)
	most := 0.0
	for _, name := range m.Order {
		n := &g.Nodes[g.node(name)]
		n.Value, n.Amount, n.Tone = m.States[name].Value, m.States[name].Text, m.States[name].Tone
		if n.Tone != "" && n.Failure {
			n.Tone = Fell
		}
		n.Unreachable = false
		most = max(most, n.Value)
	}
	if m.Failed != "" {
		g.Nodes[g.node(m.Failed)].Failed = true
	}
	if m.Current != "" {
		g.Nodes[g.node(m.Current)].Current = true
	}
	for _, s := range m.Taken {
		g.taken(s)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Unknown = known > 0 && i >= known
		if n.Value > 0 {
			// The root makes a state that took a little differ from one that took nothing.
			n.Heat = min(heats, 1+int(math.Sqrt(n.Value/most)*heats*0.999))
		}
	}
}

func (g *Graph) taken(s Step) {
	from, to := g.node(s.From), g.node(s.To)
	for k := range g.Edges {
		if e := &g.Edges[k]; e.From == from && e.To == to {
			e.Taken += s.Times
			return
		}
	}
	g.Edges = append(g.Edges, Edge{From: from, To: to, Taken: s.Times})
}

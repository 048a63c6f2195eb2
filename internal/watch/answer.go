package watch

import (
	"fmt"
	"strconv"
	"strings"

	"loops/fsm"
)

// An answering is the answer that a user types: which question of the run, its choice, and its fields one by
// one. The questions are those that the run asked when the user began, so that nothing that it asks meanwhile
// is answered.
type answering struct {
	run    string
	asks   []*fsm.OpenQuestion
	chosen *fsm.OpenQuestion // nil = the user has yet to say which
	choice string            // "" = it has yet to be typed
	sure   bool              // it was confirmed, or needs not be
	fields map[string]string
	field  int // of the question, that is typed next
}

// beginAnswer has a user answer the questions of a run.
func (m *Model) beginAnswer(r *Run) {
	m.answer = answering{run: r.ID, asks: r.Questions, fields: map[string]string{}}
	if len(r.Questions) == 1 {
		m.answer.chosen = r.Questions[0]
	}
	m.mode, m.input, m.pages = answeringMode, "", pages{title: r.ID, text: m.answer.text()}
}

// text is what is asked, as a page.
func (a *answering) text() string {
	var b strings.Builder
	if a.chosen == nil {
		for i, q := range a.asks {
			fmt.Fprintf(&b, "%d  %s\n", i+1, heading(q))
			for line := range strings.SplitSeq(strings.TrimSpace(q.Question), "\n") {
				b.WriteString("   " + line + "\n")
			}
		}
		return b.String()
	}
	q := a.chosen
	b.WriteString(heading(q) + "\n\n" + strings.TrimSpace(q.Question) + "\n")
	if q.Show != "" {
		b.WriteString("\n")
		for line := range strings.SplitSeq(strings.TrimRight(q.Show, "\n"), "\n") {
			b.WriteString("| " + line + "\n")
		}
	}
	b.WriteString("\n")
	for i, c := range q.Choices {
		mark := ""
		if a.choice != "" && a.choice == c {
			mark = "  (chosen)"
		}
		fmt.Fprintf(&b, "%d %s%s\n", i+1, c, mark)
	}
	for _, f := range q.Fields {
		fmt.Fprintf(&b, "%s (%s): %s\n", f.Name, f.Type, a.fields[f.Name])
	}
	return b.String()
}

// heading names a question: its state, the branch or item that asks it, its address, and who is asked.
func heading(q *fsm.OpenQuestion) string {
	text := q.Wait.State
	if q.Path != "" && q.Path != q.Wait.State {
		text += " in " + q.Path
	}
	text += " asks (question " + fsm.ShownAddress(q.Address) + ")"
	if len(q.Who) > 0 {
		text += ": " + strings.Join(q.Who, ", ")
	}
	return text
}

// prompt is what is typed now, and what Enter does.
func (a *answering) prompt() (label, means string) {
	switch {
	case a.chosen == nil:
		return "question: ", "1 to " + strconv.Itoa(len(a.asks)) + "   Enter chooses, Esc leaves"
	case a.choice == "":
		does := "answers"
		if len(a.chosen.Fields) > 0 {
			does = "chooses"
		}
		return "answer: ", printable(a.chosen.Numbered()) + "   Enter " + does + ", Esc leaves"
	}
	if !a.sure {
		return a.choice + ", sure? ", "y or n   Enter goes on, Esc leaves"
	}
	f := a.chosen.Fields[a.field]
	return f.Name + ": ", f.Type + ", may be empty   Enter goes on, Esc leaves"
}

// typed takes what was typed, and returns the command once the answer is complete.
func (m *Model) typed(text string) Command {
	a := &m.answer
	wrong := func(why string) Command {
		m.pages.text = a.text() + "\n" + why + "\n"
		m.pages.from = 1 << 20 // its end
		return Command{}
	}
	switch {
	case a.chosen == nil:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > len(a.asks) {
			return wrong(fmt.Sprintf("%q is no number of a question.", text))
		}
		a.chosen = a.asks[n-1]
	case a.choice == "":
		if text == "" {
			return Command{}
		}
		choice, err := a.chosen.Chosen(text)
		if err != nil {
			return wrong(err.Error())
		}
		a.choice, a.sure = choice, !a.chosen.Confirms(choice)
	case !a.sure:
		if text != "y" && text != "yes" {
			a.choice = ""
			return wrong("Nothing was answered.")
		}
		a.sure = true
	default:
		if f := a.chosen.Fields[a.field]; text != "" {
			if _, err := a.chosen.Fill(map[string]string{f.Name: text}); err != nil {
				return wrong(err.Error())
			}
			a.fields[f.Name] = text
		}
		a.field++
	}
	if a.chosen == nil || a.choice == "" || !a.sure || a.field < len(a.chosen.Fields) {
		m.pages.text, m.pages.from = a.text(), 0
		return Command{}
	}
	m.mode = normal
	return Command{Verb: Answer, Run: a.run, Text: a.choice, Question: a.chosen.Address, Fields: a.fields}
}

package report

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"loops/internal/diagram"
)

// The ends of a run, as far as these forms tell them apart.
const (
	Good   = iota // it did what it was to do
	Failed        // it came to a failure terminal
	Broken        // it ended in any other way: an error, a cap, a timeout, a signal
	Going         // it has not ended
)

// A Run is what is known of a run as a whole.
type Run struct {
	ID, Loop string
	End      int    // Good, Failed, Broken or Going
	EndedBy  string // in a word, for programs: max_steps; "" = it is not known
	Text     string // how it ended, for people: one line
	Reason   string // why it ended so, or has not ended; "" = that is not known
	Begun    time.Time
	Took     time.Duration
	Facts    [][2]string    // more about it, for people
	Graph    *diagram.Graph // of the loop, with the visits
	Notes    []string       // what is damaged, or left out
	Next     string         // the command that continues with it; "" = none
}

// JUnit writes a run as a test suite in which each state of its loops is a test: one that the run did not come
// to was skipped. The state that the run was in last has the failure, or the error, of a run that did not end
// well; how an action in between ended is no failure, because the loop said where to go then.
func (r *Suite) JUnit(w io.Writer, run Run) error {
	r.close(0)
	b := bufio.NewWriter(w)
	cases, failures, errors, skipped := 0, 0, 0, 0
	var body strings.Builder
	if run.End != Good {
		failures, errors = 0, 1
		if run.End == Failed {
			failures, errors = 1, 0
		}
	}
	seen := map[string]bool{}
	told := run.End == Good
	for _, v := range r.states {
		cases++
		if v.depth == 0 {
			seen[v.state] = true
		}
		bad := v == r.end && !told
		told = told || bad
		v.junit(&body, run, bad)
	}
	if run.Graph != nil {
		for _, n := range run.Graph.Nodes {
			if n.Terminal || n.Template || seen[n.Name] {
				continue
			}
			cases++
			skipped++
			fmt.Fprintf(&body,
				"    <testcase name=%s classname=%s time=\"0\">\n      <skipped message=\"the run did not come to "+
					"this state\"/>\n    </testcase>\n", attr(n.Name), attr(run.Loop))
		}
	}
	if !told { // it ended before it came to a state
		cases++
		fmt.Fprintf(&body, "    <testcase name=%s classname=%s time=\"0\">\n", attr(run.Loop), attr(run.Loop))
		failure(&body, run, "")
		body.WriteString("    </testcase>\n")
	}
	counts := fmt.Sprintf("tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=%s", cases, failures,
		errors, skipped, seconds(run.Took))
	fmt.Fprintf(b, "%s<testsuites name=%s %s>\n  <testsuite name=%s %s", xml.Header, attr(run.Loop), counts,
		attr(run.Loop), counts)
	if !run.Begun.IsZero() {
		fmt.Fprintf(b, " timestamp=\"%s\"", run.Begun.UTC().Format("2006-01-02T15:04:05"))
	}
	fmt.Fprint(b, ">\n    <properties>\n")
	property := func(name, value string) {
		fmt.Fprintf(b, "      <property name=%s value=%s/>\n", attr(name), attr(value))
	}
	property("run", run.ID)
	property("ended", run.Text)
	if run.EndedBy != "" {
		property("terminated_by", run.EndedBy)
	}
	for _, f := range run.Facts {
		property(strings.ToLower(f[0]), f[1])
	}
	for _, n := range run.Notes {
		property("note", n)
	}
	if r.missing > 0 {
		property("note", fmt.Sprintf("%d visits of states beyond the first %d are left out", r.missing, mostCases))
	}
	fmt.Fprint(b, "    </properties>\n")
	fmt.Fprint(b, body.String())
	fmt.Fprint(b, "  </testsuite>\n</testsuites>\n")
	return b.Flush()
}

func (v *visited) junit(b *strings.Builder, run Run, bad bool) {
	fmt.Fprintf(b, "    <testcase name=%s classname=%s time=%s>\n", attr(v.state), attr(v.loop), seconds(v.spent))
	out := v.said()
	if bad {
		failure(b, run, v.how()+out)
	}
	fmt.Fprintf(b, "      <system-out>%s</system-out>\n    </testcase>\n", content(v.how()+out))
}

// how says in a line the result of the last visit.
func (v *visited) how() string {
	var said []string
	if s := v.last; s != nil {
		for _, f := range [][2]string{{"exit code ", s.Exit}, {"verdict ", s.Verdict}, {"on to ", s.To}} {
			if f[1] != "" {
				said = append(said, f[0]+line(f[1], 200))
			}
		}
	}
	visit := fmt.Sprintf("visit %d", v.visits)
	if v.last != nil && v.last.apart != "" {
		visit += " (" + v.last.apart + ")"
	}
	return strings.Join(append([]string{visit}, said...), ", ") + "\n"
}

// failure writes why the run did not end well. Its message is the reason, where there is one: that is what
// services show in lists.
func failure(b *strings.Builder, run Run, more string) {
	element := "error"
	if run.End == Failed {
		element = "failure"
	}
	kind := cmp.Or(run.EndedBy, "interrupted") // a process that was killed said nothing
	if run.End == Going {
		kind = "running"
	}
	said := run.Text + "\n"
	if run.Reason != "" {
		said += run.Reason + "\n"
	}
	if run.Next != "" {
		said += "Next: " + run.Next + "\n"
	}
	fmt.Fprintf(b, "      <%s message=%s type=%s>%s</%[1]s>\n", element,
		attr(line(cmp.Or(run.Reason, run.Text), 300)), attr(kind), content(said+more))
}

func seconds(d time.Duration) string { return fmt.Sprintf(`"%.3f"`, d.Seconds()) }

// attr is a quoted value of an attribute.
func attr(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(line(s, 2_000))) // a Builder never fails
	return `"` + b.String() + `"`
}

// content is the text of an element, whose lines stay lines.
func content(s string) string {
	var b strings.Builder
	for part := range strings.SplitAfterSeq(plain(s), "\n") {
		text, end := strings.CutSuffix(part, "\n")
		_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// A Case is a test of a loop.
type Case struct {
	Class, Name string
	Took        time.Duration
	Failure     string // "" = it passed
	Said        string
}

// Cases writes tests of loops as a JUnit report.
func Cases(w io.Writer, name string, cases []Case, took time.Duration) error {
	failed := 0
	var body strings.Builder
	for _, c := range cases {
		fmt.Fprintf(&body, "    <testcase name=%s classname=%s time=%s>\n", attr(c.Name), attr(c.Class),
			seconds(c.Took))
		if c.Failure != "" {
			failed++
			first, _, _ := strings.Cut(c.Failure, "\n")
			fmt.Fprintf(&body, "      <failure message=%s>%s</failure>\n", attr(first), content(c.Failure))
		}
		fmt.Fprintf(&body, "      <system-out>%s</system-out>\n    </testcase>\n", content(c.Said))
	}
	counts := fmt.Sprintf("tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"0\" time=%s", len(cases), failed,
		seconds(took))
	_, err := fmt.Fprintf(w, "%s<testsuites name=%s %s>\n  <testsuite name=%s %s>\n%s  </testsuite>\n</testsuites>\n",
		xml.Header, attr(name), counts, attr(name), counts, body.String())
	return err
}

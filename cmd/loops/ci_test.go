package main_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	jobCommand = regexp.MustCompile(`^\s*::([\w-]+)( [^:]*)?::(.*)`)
	lineEnd    = regexp.MustCompile(`\r\n|\r|\n`)
)

// scriptJob reads the log of a job as the runner of GitHub Actions does, and writes the commands that it would obey.
func scriptJob(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: job FILE OUT")
	}
	var out strings.Builder
	off := "" // what turns commands on again
	for _, line := range lineEnd.Split(ts.ReadFile(args[0]), -1) {
		m := jobCommand.FindStringSubmatch(line)
		switch {
		case off != "":
			if strings.TrimSpace(line) == "::"+off+"::" {
				off = ""
			}
		case m != nil && m[1] == "stop-commands":
			off = m[3]
		case m != nil:
			text, _, _ := strings.Cut(m[3], " (")
			fmt.Fprintf(&out, "%s %s\n", m[1], text)
		case strings.Contains(line, "##["): // the older form, which may be anywhere in a line
			fmt.Fprintf(&out, "older: %s\n", line)
		}
	}
	if off != "" {
		out.WriteString("commands are off at the end\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o644))
}

// scriptSuites writes what a service reads of files with JUnit XML.
func scriptSuites(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: suites FILE... OUT")
	}
	type problem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
	}
	var out strings.Builder
	for _, file := range args[:len(args)-1] {
		var doc struct {
			Suite struct {
				Name     string `xml:"name,attr"`
				Tests    int    `xml:"tests,attr"`
				Failures int    `xml:"failures,attr"`
				Errors   int    `xml:"errors,attr"`
				Skipped  int    `xml:"skipped,attr"`
				Cases    []struct {
					Name    string   `xml:"name,attr"`
					Class   string   `xml:"classname,attr"`
					Failure *problem `xml:"failure"`
					Error   *problem `xml:"error"`
					Skipped *problem `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		ts.Check(xml.Unmarshal([]byte(ts.ReadFile(file)), &doc))
		s := doc.Suite
		fmt.Fprintf(&out, "%s: %d tests, %d failures, %d errors, %d skipped\n", s.Name, s.Tests, s.Failures, s.Errors,
			s.Skipped)
		for _, c := range s.Cases {
			for kind, p := range map[string]*problem{"failure": c.Failure, "error": c.Error, "skipped": c.Skipped} {
				if p != nil {
					text, _, _ := strings.Cut(p.Message, " (")
					fmt.Fprintf(&out, "  %s/%s %s %s: %s\n", c.Class, c.Name, kind, p.Type, text)
				}
			}
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[len(args)-1]), []byte(out.String()), 0o644))
}

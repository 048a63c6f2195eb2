package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/view"
)

// What the SARIF 2.1.0 schema requires of the parts that are written here.
func TestSarifIsComplete(t *testing.T) {
	t.Parallel()
	var problems []fsm.Problem
	for _, r := range view.RuleList() {
		problems = append(problems,
			fsm.Problem{
				Pos: fsm.Pos{File: "/p/a b%.yaml", Line: 3, Col: 1}, Severity: r.Severity, Rule: r.Name,
				Path: "states.a", Message: "x",
			})
	}
	problems = append(problems, fsm.Problem{Severity: fsm.SeverityError, Rule: "a-rule-without-page", Message: "y"},
		fsm.Problem{
			Pos: fsm.Pos{File: "/elsewhere/ü.yaml", Line: 1}, Severity: fsm.SeverityWarning, Rule: "yaml",
			Message: "z",
		})
	r := newFindings([]CheckedFile{
		{name: "a", file: "/p/a b%.yaml", Problems: problems},
		{name: "b", Failure: errors.New("gone")},
	}, nil, nil, false, unexplained)
	var doc struct {
		Version string
		Schema  string `json:"$schema"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID                                string
						ShortDescription, FullDescription struct{ Text string }
						Help                              struct{ Text string }
						DefaultConfiguration              struct{ Level string }
					}
				}
			}
			Invocations []struct{ ExecutionSuccessful *bool }
			Results     []struct {
				RuleID    string
				RuleIndex *int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           *struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(value.AppendJSON(nil, r.forServices("/p", "1.0").SARIF()), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "2.1.0" || doc.Schema == "" || len(doc.Runs) != 1 {
		t.Fatalf("version %q, %d runs", doc.Version, len(doc.Runs))
	}
	run := doc.Runs[0]
	if run.Tool.Driver.Name != "loops" || len(run.Invocations) != 1 ||
		run.Invocations[0].ExecutionSuccessful == nil || *run.Invocations[0].ExecutionSuccessful {
		t.Errorf("tool %q, invocations %+v", run.Tool.Driver.Name, run.Invocations)
	}
	ids := map[string]bool{}
	for _, rule := range run.Tool.Driver.Rules {
		if ids[rule.ID] {
			t.Errorf("the rule %s is there twice", rule.ID)
		}
		ids[rule.ID] = true
		if rule.ID == "a-rule-without-page" {
			continue
		}
		level := rule.DefaultConfiguration.Level
		if rule.ShortDescription.Text == "" || rule.FullDescription.Text == "" ||
			!strings.Contains(rule.Help.Text, rule.ID) || level != "error" && level != "warning" {
			t.Errorf("the rule %s is not complete: %+v", rule.ID, rule)
		}
	}
	if len(run.Results) != len(problems)+1 {
		t.Errorf("%d results for %d problems and a failure", len(run.Results), len(problems))
	}
	for _, res := range run.Results {
		if res.RuleIndex == nil || *res.RuleIndex < 0 || *res.RuleIndex >= len(run.Tool.Driver.Rules) ||
			run.Tool.Driver.Rules[*res.RuleIndex].ID != res.RuleID {
			t.Errorf("the result of %s does not lead to its rule: %v", res.RuleID, res.RuleIndex)
		}
		if res.Message.Text == "" || res.Level != "error" && res.Level != "warning" {
			t.Errorf("result %+v", res)
		}
		for _, l := range res.Locations {
			at := l.PhysicalLocation
			if at.ArtifactLocation.URI != "a%20b%25.yaml" &&
				at.ArtifactLocation.URI != "file:///elsewhere/%C3%BC.yaml" {
				t.Errorf("the file is %q", at.ArtifactLocation.URI)
			}
			if (at.ArtifactLocation.URIBaseID == "%SRCROOT%") != !strings.HasPrefix(at.ArtifactLocation.URI, "file:") {
				t.Errorf("%q is relative to %q", at.ArtifactLocation.URI, at.ArtifactLocation.URIBaseID)
			}
			if at.Region == nil || at.Region.StartLine < 1 || at.Region.StartColumn < 1 {
				t.Errorf("region %+v", at.Region)
			}
		}
	}
}

func TestGitHubCommands(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := newFindings([]CheckedFile{{name: "a", Problems: []fsm.Problem{
		{
			Pos: fsm.Pos{File: "/p/a,b:100%.yaml", Line: 2, Col: 3}, Severity: fsm.SeverityWarning, Rule: "r",
			Message: "100%: one,\r\ntwo",
		},
		{Severity: fsm.SeverityError, Rule: "nowhere", Message: "::error::x"},
	}}}, nil, nil, false, unexplained).forServices("/p", "1.0").GitHub(&out)
	if err != nil {
		t.Fatal(err)
	}
	want := "::error title=nowhere::::error::x\n::warning file=a%2Cb%3A100%25.yaml,line=2,col=3,title=r::100%25: " +
		"one,%0D%0Atwo\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func unexplained(err error) (text string, missing bool) { return err.Error(), false }

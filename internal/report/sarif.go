package report

import (
	"net/url"

	"loops/fsm"
	"loops/fsm/lint"
)

// SARIF returns the problems in SARIF 2.1.0, the format of code scanning services. Files are relative to the
// root, which is %SRCROOT%; columns count characters.
func (p Problems) SARIF() any {
	known := newSarifRules(p.Rules, p.Help)
	run := sarifRun{
		Columns: "unicodeCodePoints", Bases: map[string]sarifFile{"%SRCROOT%": {URI: fileURI(p.Root) + "/"}},
		Invocations: []sarifInvocation{{p.Complete}},
	}
	for _, pr := range p.List {
		run.Results = append(run.Results, known.result(p.Root, pr))
	}
	run.Tool.Driver = sarifDriver{"loops", p.Version, known.list}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Columns     string               `json:"columnKind"`
		Bases       map[string]sarifFile `json:"originalUriBaseIds"`
		Invocations []sarifInvocation    `json:"invocations"`
		Results     []sarifResult        `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifInvocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID      string      `json:"id"`
		Short   *sarifText  `json:"shortDescription,omitempty"`
		Full    *sarifText  `json:"fullDescription,omitempty"`
		Help    *sarifText  `json:"help,omitempty"`
		Default *sarifLevel `json:"defaultConfiguration,omitempty"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Index     int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact sarifFile    `json:"artifactLocation"`
			Region   *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
		Logical []sarifName `json:"logicalLocations,omitempty"`
	}
	sarifFile struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
	sarifName struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// sarifRules are the rules that results refer to, by their place in the list.
type sarifRules struct {
	list  []sarifRule
	place map[string]int
}

func newSarifRules(rules []lint.Rule, help func(lint.Rule) string) *sarifRules {
	known := &sarifRules{place: map[string]int{}}
	for _, rule := range rules {
		known.add(sarifRule{
			rule.Name, &sarifText{rule.Summary}, &sarifText{rule.Why}, &sarifText{help(rule)},
			&sarifLevel{string(rule.Severity)},
		})
	}
	return known
}

func (r *sarifRules) add(rule sarifRule) int {
	r.place[rule.ID] = len(r.list)
	r.list = append(r.list, rule)
	return r.place[rule.ID]
}

// index returns the place of a rule, and enters one that has no page.
func (r *sarifRules) index(name string) int {
	if i, ok := r.place[name]; ok {
		return i
	}
	return r.add(sarifRule{ID: name})
}

func (r *sarifRules) result(root string, pr fsm.Problem) sarifResult {
	result := sarifResult{
		Rule: pr.Rule, Index: r.index(pr.Rule), Level: string(pr.Severity),
		Message: sarifText{pr.Message},
	}
	if pr.Pos.File != "" {
		var at sarifLocation
		if at.Physical.Artifact = artifact(root, pr.Pos.File); pr.Pos.Line > 0 {
			at.Physical.Region = &sarifRegion{pr.Pos.Line, max(1, pr.Pos.Col)}
		}
		if pr.Path != "" {
			at.Logical = []sarifName{{pr.Path}}
		}
		result.Locations = []sarifLocation{at}
	}
	return result
}

// artifact names a file, relative to root where it is inside.
func artifact(root string, file string) sarifFile {
	if path := inside(root, file); path != file {
		return sarifFile{(&url.URL{Path: relativePath(path)}).EscapedPath(), "%SRCROOT%"}
	}
	return sarifFile{URI: fileURI(file)}
}

package report

import (
	"net/url"

	"loops/fsm"
	"loops/fsm/lint"
)

// SARIF returns the problems in SARIF 2.1.0, the format of code scanning services. Files are relative to the root, which is
// %SRCROOT%; columns count characters.
func (p Problems) SARIF() *fsm.Map {
	known := newSarifRules(p.Rules, p.Help)
	results := []any{}
	for _, pr := range p.List {
		results = append(results, sarifResult(p.Root, known, pr))
	}
	driver := fsm.NewMap("name", "loops", "version", p.Version, "rules", known.list)
	run := fsm.NewMap(
		"tool", fsm.NewMap("driver", driver),
		"columnKind", "unicodeCodePoints",
		"originalUriBaseIds", fsm.NewMap("%SRCROOT%", fsm.NewMap("uri", fileURI(p.Root)+"/")),
		"invocations", []any{fsm.NewMap("executionSuccessful", p.Complete)},
		"results", results,
	)
	return fsm.NewMap("$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", []any{run})
}

// sarifRules are the rules that results refer to, by their place in the list.
type sarifRules struct {
	list  []any
	place map[string]int
}

func newSarifRules(rules []lint.Rule, help func(lint.Rule) string) *sarifRules {
	known := &sarifRules{place: map[string]int{}}
	for _, rule := range rules {
		known.add(rule.Name, fsm.NewMap(
			"id", rule.Name,
			"shortDescription", fsm.NewMap("text", rule.Summary),
			"fullDescription", fsm.NewMap("text", rule.Why),
			"help", fsm.NewMap("text", help(rule)),
			"defaultConfiguration", fsm.NewMap("level", string(rule.Severity)),
		))
	}
	return known
}

func (r *sarifRules) add(name string, rule *fsm.Map) int {
	r.place[name] = len(r.list)
	r.list = append(r.list, rule)
	return r.place[name]
}

// index returns the place of a rule, and enters one that has no page.
func (r *sarifRules) index(name string) int {
	if i, ok := r.place[name]; ok {
		return i
	}
	return r.add(name, fsm.NewMap("id", name))
}

func sarifResult(root string, known *sarifRules, pr fsm.Problem) any {
	result := fsm.NewMap(
		"ruleId", pr.Rule, "ruleIndex", int64(known.index(pr.Rule)), "level", string(pr.Severity), "message", fsm.NewMap("text", pr.Message),
	)
	if pr.Pos.File != "" {
		place := fsm.NewMap("artifactLocation", artifact(root, pr.Pos.File))
		if pr.Pos.Line > 0 {
			place.Set("region", fsm.NewMap("startLine", int64(pr.Pos.Line), "startColumn", int64(max(1, pr.Pos.Col))))
		}
		location := fsm.NewMap("physicalLocation", place)
		if pr.Path != "" {
			location.Set("logicalLocations", []any{fsm.NewMap("fullyQualifiedName", pr.Path)})
		}
		result.Set("locations", []any{location})
	}
	return result
}

// artifact names a file, relative to root where it is inside.
func artifact(root string, file string) *fsm.Map {
	if path := inside(root, file); path != file {
		return fsm.NewMap("uri", (&url.URL{Path: relativePath(path)}).EscapedPath(), "uriBaseId", "%SRCROOT%")
	}
	return fsm.NewMap("uri", fileURI(file))
}

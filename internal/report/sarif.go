package report

import (
	"net/url"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/value"
)

// SARIF returns the problems in SARIF 2.1.0, the format of code scanning services. Files are relative to the
// root, which is %SRCROOT%; columns count characters.
func (p Problems) SARIF() *value.Map {
	known := newSarifRules(p.Rules, p.Help)
	results := []any{}
	for _, pr := range p.List {
		results = append(results, sarifResult(p.Root, known, pr))
	}
	driver := value.NewMap("name", "loops", "version", p.Version, "rules", known.list)
	run := value.NewMap(
		"tool", value.NewMap("driver", driver),
		"columnKind", "unicodeCodePoints",
		"originalUriBaseIds", value.NewMap("%SRCROOT%", value.NewMap("uri", fileURI(p.Root)+"/")),
		"invocations", []any{value.NewMap("executionSuccessful", p.Complete)},
		"results", results,
	)
	return value.NewMap("$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", []any{run})
}

// sarifRules are the rules that results refer to, by their place in the list.
type sarifRules struct {
	list  []any
	place map[string]int
}

func newSarifRules(rules []lint.Rule, help func(lint.Rule) string) *sarifRules {
	known := &sarifRules{place: map[string]int{}}
	for _, rule := range rules {
		known.add(rule.Name, value.NewMap(
			"id", rule.Name,
			"shortDescription", value.NewMap("text", rule.Summary),
			"fullDescription", value.NewMap("text", rule.Why),
			"help", value.NewMap("text", help(rule)),
			"defaultConfiguration", value.NewMap("level", string(rule.Severity)),
		))
	}
	return known
}

func (r *sarifRules) add(name string, rule *value.Map) int {
	r.place[name] = len(r.list)
	r.list = append(r.list, rule)
	return r.place[name]
}

// index returns the place of a rule, and enters one that has no page.
func (r *sarifRules) index(name string) int {
	if i, ok := r.place[name]; ok {
		return i
	}
	return r.add(name, value.NewMap("id", name))
}

func sarifResult(root string, known *sarifRules, pr fsm.Problem) any {
	result := value.NewMap(
		"ruleId", pr.Rule, "ruleIndex", int64(known.index(pr.Rule)), "level", string(pr.Severity), "message", value.NewMap("text", pr.Message),
	)
	if pr.Pos.File != "" {
		place := value.NewMap("artifactLocation", artifact(root, pr.Pos.File))
		if pr.Pos.Line > 0 {
			place.Set("region", value.NewMap("startLine", int64(pr.Pos.Line), "startColumn", int64(max(1, pr.Pos.Col))))
		}
		location := value.NewMap("physicalLocation", place)
		if pr.Path != "" {
			location.Set("logicalLocations", []any{value.NewMap("fullyQualifiedName", pr.Path)})
		}
		result.Set("locations", []any{location})
	}
	return result
}

// artifact names a file, relative to root where it is inside.
func artifact(root string, file string) *value.Map {
	if path := inside(root, file); path != file {
		return value.NewMap("uri", (&url.URL{Path: relativePath(path)}).EscapedPath(), "uriBaseId", "%SRCROOT%")
	}
	return value.NewMap("uri", fileURI(file))
}

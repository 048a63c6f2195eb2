package cli

import (
	"net/url"
	"path/filepath"
	"strings"

	"loops/fsm"
)

// sarifReport writes what was found in SARIF 2.1.0, the format of code scanning services. Files are relative to the
// project directory, which is %SRCROOT%; columns count characters.
func sarifReport(root string, r report) *fsm.Map {
	known := newSarifRules()
	results := []any{}
	complete := true
	for _, c := range r.files {
		if c.failure != nil {
			complete = false
			results = append(results, sarifResult(root, known, failureProblem(c)))
		}
	}
	for _, pr := range r.problems {
		results = append(results, sarifResult(root, known, pr))
	}
	driver := fsm.NewMap("name", "loops", "version", buildVersion(), "rules", known.list)
	run := fsm.NewMap(
		"tool", fsm.NewMap("driver", driver),
		"columnKind", "unicodeCodePoints",
		"originalUriBaseIds", fsm.NewMap("%SRCROOT%", fsm.NewMap("uri", fileURI(root)+"/")),
		"invocations", []any{fsm.NewMap("executionSuccessful", complete)},
		"results", results,
	)
	return fsm.NewMap("$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", []any{run})
}

// sarifRules are the rules that results refer to, by their place in the list.
type sarifRules struct {
	list  []any
	place map[string]int
}

func newSarifRules() *sarifRules {
	known := &sarifRules{place: map[string]int{}}
	for _, rule := range rules() {
		help := ruleText(rule)
		known.add(rule.Name, fsm.NewMap(
			"id", rule.Name,
			"shortDescription", fsm.NewMap("text", rule.Summary),
			"fullDescription", fsm.NewMap("text", rule.Why),
			"help", fsm.NewMap("text", help),
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

// relativePath keeps a path whose first part has a colon from being taken for a scheme.
func relativePath(path string) string {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ":") {
		return "./" + path
	}
	return path
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

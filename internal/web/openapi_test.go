package web

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// TestOpenAPI holds docs/openapi.json to what is served, and the routes of the API to the document: each is in
// it, and nothing else is.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "../../docs/openapi.json", string(text))
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var said, served []string
	for path, methods := range doc.Paths {
		for method := range methods {
			said = append(said, strings.ToUpper(method)+" "+path)
		}
	}
	s, _ := newServer(t, &Access{})
	for _, one := range s.routes() {
		if _, path, _ := strings.Cut(one.pattern, " "); strings.HasPrefix(path, "/api/") {
			served = append(served, one.pattern)
		} else if one.tells != nil {
			t.Errorf("%s is no part of the API", one.pattern)
		}
	}
	slices.Sort(said)
	slices.Sort(served)
	if !slices.Equal(said, served) {
		t.Errorf("the document has\n%s\nthe server answers\n%s", strings.Join(said, "\n"), strings.Join(served, "\n"))
	}
	for _, part := range strings.Split(string(text), `"#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(part, `"`); doc.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

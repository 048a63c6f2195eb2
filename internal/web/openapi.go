package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"loops/internal/api"
	"loops/internal/auth"
	"loops/internal/humanize"
)

const eventStream = "text/event-stream"

// An operation is what the document of the API says of a route.
type operation struct {
	says   string
	query  []parameter
	body   string // of [api.Requests]; "" = none
	answer string // of [api.Answers]; "" = it is no object
	kind   string // of an answer that is no object
}

// A parameter is in the query, and may be absent.
type parameter struct {
	name, about string
	kind        string   // string or integer
	words       []string // the values that it takes; nil = any
	pattern     string   // that its values match; "" = any
}

var placeOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([a-z]+)\}`) })

// OpenAPI returns the document of the API: OpenAPI 3.1, made of its routes and of the Go types of its objects.
func OpenAPI() ([]byte, error) {
	type object = map[string]any
	paths, schemas := object{}, object{}
	use := func(all []api.Output, prefix, name string) (object, error) {
		// keys are added to answers; a request with one that is not known is refused
		text, err := api.Component(all, name, prefix != "")
		schemas[prefix+name] = text
		return object{"$ref": "#/components/schemas/" + prefix + name}, err
	}
	refused, err := use(api.Answers, "", "error")
	if err != nil {
		return nil, err
	}
	for _, one := range new(Server).routes() {
		o := one.tells
		if o == nil {
			continue
		}
		method, path, _ := strings.Cut(one.pattern, " ")
		var parameters []object
		for _, m := range placeOf().FindAllStringSubmatch(path, -1) {
			parameters = append(parameters,
				object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		for _, p := range o.query {
			parameters = append(parameters,
				object{"name": p.name, "in": "query", "description": p.about, "schema": p.schema()})
		}
		content := object{o.kind: object{}}
		if o.answer != "" {
			ref, err := use(api.Answers, "", o.answer)
			if err != nil {
				return nil, err
			}
			content = object{"application/json": object{"schema": ref}}
		}
		op := object{
			"summary": o.says, "operationId": strings.ToLower(method) +
				strings.NewReplacer("/api/v1/", "_", "/", "_", "{", "", "}", "", ".", "_", "-", "_").Replace(path),
			"description": "For users with the role " + one.least.String() + ".",
			"responses": object{
				"200": object{"description": "It was done.", "content": content},
				"default": object{
					"description": "It was not done.",
					"content":     object{"application/json": object{"schema": refused}},
				},
			},
		}
		if len(parameters) > 0 {
			op["parameters"] = parameters
		}
		if o.body != "" {
			ref, err := use(api.Requests, "ask-", o.body)
			if err != nil {
				return nil, err
			}
			op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref}}}
		}
		at, _ := paths[path].(object)
		if at == nil {
			at = object{}
			paths[path] = at
		}
		at[strings.ToLower(method)] = op
	}
	text, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "loops serve", "version": fmt.Sprint(api.Version),
			"description": "Runs and loops of projects. Keys are added; none is removed, and none changes its type.",
		},
		"security": []object{{"token": []string{}}, {"password": []string{}}},
		"paths":    paths,
		"components": object{"schemas": schemas, "securitySchemes": object{
			"token": object{
				"type": "http", "scheme": "bearer",
				"description": "The token in the address that loops serve prints; its user is an " +
					auth.Author.String() + ".",
			},
			"password": object{"type": "http", "scheme": "basic", "description": "A user of the file of --auth."},
		}},
	}, "", " ")
	return append(text, '\n'), err
}

func (p parameter) schema() map[string]any {
	s := map[string]any{"type": p.kind}
	if p.words != nil {
		s["enum"] = p.words
	}
	if p.pattern != "" {
		s["pattern"] = p.pattern
	}
	return s
}

// wrongQuery returns what is wrong with the query of a request: a name that the operation does not have, one
// that is there twice, or a value that is none of it. projects are the names of those that are served.
func (o *operation) wrongQuery(given url.Values, projects []string) error {
	names := make([]string, len(o.query))
	for i, p := range o.query {
		names[i] = p.name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(names, name)
		if i < 0 {
			return api.UnknownName("parameter", name, names)
		}
		if len(given[name]) > 1 {
			return fmt.Errorf("%s: it is given twice", name)
		}
		v := given.Get(name)
		switch p := o.query[i]; {
		case v == "":
		case p.kind == "integer":
			if _, err := strconv.ParseUint(v, 10, 63); err != nil {
				return fmt.Errorf("%s: expected a whole number from 0, not %s", name, humanize.Quote(v))
			}
		case p.name == "project" && !slices.Contains(projects, v):
			return api.UnknownName("project", v, projects)
		case p.pattern != "" && !regexp.MustCompile(p.pattern).MatchString(v):
			return fmt.Errorf("%s: expected %s, not %s", name, p.about, humanize.Quote(v))
		case p.words != nil && !slices.Contains(p.words, v):
			return api.WrongWord(name, v, p.words)
		}
	}
	return nil
}

// document answers with the document. Addresses in it are without the base path.
func (s *Server) document(w http.ResponseWriter, r *http.Request) {
	text, err := OpenAPI()
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(text) // the client may be gone
}

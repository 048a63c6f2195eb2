package template

import (
	"strings"

	"loops/fsm/jq"
	"loops/fsm/value"
)

// has reports whether a reference has a value.
func (s *Scope) has(r reference) bool {
	namespace, path, _ := strings.Cut(r.name, ".")
	_, problem := s.resolve(namespace, path)
	return r.problem == "" && problem == ""
}

// piped is what a program of jq makes of the value of a reference: a text, or several as the lines of a list.
func (s *Scope) piped(namespace, path, program string) (v any, problem string) {
	in, problem := s.input(namespace, path)
	if problem != "" {
		return nil, problem
	}
	p, err := jq.Compile(program)
	if err != nil {
		return nil, "jq: " + program + ": " + err.Error()
	}
	all, err := p.Eval(in)
	switch {
	case err != nil:
		return nil, "jq: " + program + ": " + err.Error()
	case len(all) == 0:
		return nil, "jq: " + program + " yields nothing"
	case len(all) == 1 && all[0] == nil:
		return nil, ""
	case len(all) == 1:
		return jq.Text(all[0]), ""
	}
	lines := make(lineList, len(all))
	for i, x := range all {
		lines[i] = jq.Text(x)
	}
	return lines, ""
}

// jsonPart is the last part of a path that stands for an output, read as JSON.
const jsonPart = "json"

// input is the value that a program gets. captured.NAME.json and prev.json are the output beside it, read as JSON.
func (s *Scope) input(namespace, path string) (any, string) {
	v, problem := s.resolve(namespace, path)
	record, isJSON := strings.CutSuffix("."+path, "."+jsonPart)
	if problem == "" || !isJSON || namespace != "captured" && namespace != "prev" {
		return v, problem
	}
	record = strings.TrimPrefix(record+".", ".")
	out, problem := s.resolve(namespace, record+"output")
	if problem != "" {
		return nil, problem
	}
	if cut, no := s.resolve(namespace, record+"truncated"); no == "" && cut == true {
		return nil, "the output of " + namespace + "." + strings.TrimSuffix(record, ".") + " was cut, so it is no JSON; read its file in a script"
	}
	doc, err := jq.Read(value.Text(out))
	if err != nil {
		return nil, "the output of " + namespace + "." + strings.TrimSuffix(record, ".") + " is no JSON: " + err.Error()
	}
	return doc, ""
}

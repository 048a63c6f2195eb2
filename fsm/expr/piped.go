package expr

import (
	"strings"

	"loops/fsm/value"
)

// has reports whether a reference has a value.
func (s *Scope) has(r reference) bool {
	namespace, path, _ := strings.Cut(r.name, ".")
	_, problem := s.resolve(namespace, path)
	return r.problem == "" && problem == ""
}

// piped is what a program of jq makes of the value of a reference: a text, or several as the lines of a list.
// err is an [*UnreadableError].
func (s *Scope) piped(namespace, path, program string) (v any, problem string, err error) {
	in, problem, err := s.input(namespace, path)
	if problem != "" || err != nil {
		return nil, problem, err
	}
	p, wrong := CompileJq(program)
	if wrong != nil {
		return nil, "jq: " + program + ": " + wrong.Error(), nil
	}
	all, wrong := p.Eval(in)
	switch {
	case wrong != nil:
		return nil, "jq: " + program + ": " + wrong.Error(), nil
	case len(all) == 0:
		return nil, "jq: " + program + " yields nothing", nil
	case len(all) == 1 && all[0] == nil:
		return nil, "", nil
	case len(all) == 1:
		return JqText(all[0]), "", nil
	}
	lines := make(lineList, len(all))
	for i, x := range all {
		lines[i] = JqText(x)
	}
	return lines, "", nil
}

// jsonPart is the last part of a path that stands for an output, read as JSON.
const jsonPart = "json"

// input is the value that a program gets. captured.NAME.json and prev.json are the output beside it, read as JSON.
func (s *Scope) input(namespace, path string) (v any, problem string, err error) {
	v, problem = s.resolve(namespace, path)
	record, isJSON := strings.CutSuffix("."+path, "."+jsonPart)
	if problem == "" || !isJSON || namespace != "captured" && namespace != "prev" {
		if problem == "" {
			v, err = s.data(namespace, path, v)
		}
		return v, problem, err
	}
	output := strings.TrimPrefix(record+".output", ".")
	out, problem := s.resolve(namespace, output)
	if problem == "" {
		out, err = s.data(namespace, output, out)
	}
	if problem != "" || err != nil {
		return nil, problem, err
	}
	doc, wrong := ReadJSON(value.Text(out))
	if wrong != nil {
		return nil, "the output of " + strings.TrimSuffix(namespace+record, ".") + " is no JSON: " + wrong.Error(), nil
	}
	return doc, "", nil
}

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// variable is the environment variable with the number of the rule that the tests run without.
const variable = "LOOPS_WITHOUT_RULE"

// number is the file that reads it.
const number = `package fsm

import (
	"os"
	"strconv"
)

var withoutRule, _ = strconv.Atoi(os.Getenv("` + variable + `"))
`

// overlay writes the changed files, and what the compiler needs to take them.
func overlay(dir string, all []*mutant) (path string, err error) {
	files := map[string]*source{}
	for i, m := range all {
		f := files[m.file]
		if f == nil {
			if f, err = read(m.file); err != nil {
				return "", err
			}
			files[m.file] = f
		}
		if err := f.add(i+1, m); err != nil {
			return "", fmt.Errorf("%s: %w", m.rule, err)
		}
	}
	replace := map[string]string{}
	write := func(file, text string) error {
		abs, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		replace[abs] = changed
		return os.WriteFile(changed, []byte(text), 0o600)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(name, files[name].text()); err != nil {
			return "", err
		}
	}
	if err := write("fsm/without_rule.go", number); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// A source is a file whose declarations are changed.
type source struct {
	whole string
	decls []declaration
	rules map[string][]int // by declaration
	added strings.Builder  // declarations without a rule
}

// A declaration is a function, or a variable with a value. Its name has that of its receiver.
type declaration struct {
	name, text string
	at, end    int
	f          *ast.FuncDecl
	values     string // of a variable
}

func read(file string) (*source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &source{whole: string(text), rules: map[string][]int{}}
	s.decls, err = declarations(s.whole)
	return s, err
}

// declarations are those of a file, without their comments.
func declarations(text string) (out []declaration, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = text[at(d.Recv.Pos()):at(d.Recv.End())] + name
			}
			out = append(out, declaration{
				name: name, text: text[at(d.Pos()):at(d.End())], at: at(d.Pos()), end: at(d.End()), f: d,
			})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && len(v.Names) == 1 && len(v.Values) == 1 {
					out = append(out, declaration{
						name: v.Names[0].Name, text: text[at(v.Pos()):at(v.End())], at: at(v.Pos()), end: at(v.End()),
						values: text[at(v.Values[0].Pos()):at(v.Values[0].End())],
					})
				}
			}
		}
	}
	return out, nil
}

// add adds the declaration as it is without a rule.
func (s *source) add(rule int, m *mutant) error {
	join := func(lines []string) string {
		if len(lines) == 0 {
			return "\n"
		}
		return "\n" + strings.Join(lines, "\n") + "\n"
	}
	if n := strings.Count(s.whole, join(m.old)); n != 1 || len(m.old) == 0 {
		return fmt.Errorf("its lines are in %s %d times", m.file, n)
	}
	decls, err := declarations(strings.Replace(s.whole, join(m.old), join(m.new), 1))
	if err != nil {
		return err
	}
	if len(decls) != len(s.decls) {
		return fmt.Errorf("it adds or removes a declaration of %s", m.file)
	}
	found := 0
	for i, d := range decls {
		if d.text == s.decls[i].text {
			continue
		}
		found++
		if d.f == nil {
			const init = "\nfunc init() {\n\tif withoutRule == %d {\n\t\t%s = %s\n\t}\n}\n"
			fmt.Fprintf(&s.added, init, rule, d.name, d.values)
			continue
		}
		s.rules[d.name] = append(s.rules[d.name], rule)
		s.added.WriteString("\n" + renamed(d, rule) + "\n")
	}
	if found != 1 {
		return fmt.Errorf("it changes %d declarations of %s", found, m.file)
	}
	return nil
}

// renamed is a function with the number of a rule in its name.
func renamed(d declaration, rule int) string {
	end := int(d.f.Name.End()) - int(d.f.Pos())
	return d.text[:end] + "WithoutRule" + strconv.Itoa(rule) + d.text[end:]
}

// text is the file where functions that lack a rule stand beside whole ones, and one calls the one that is wanted.
func (s *source) text() string {
	var out strings.Builder
	last := 0
	for _, d := range s.decls {
		rules := s.rules[d.name]
		if len(rules) == 0 {
			continue
		}
		out.WriteString(s.whole[last:d.at])
		last = d.end
		out.WriteString(dispatch(d, rules) + "\n\n" + renamed(d, 0))
	}
	out.WriteString(s.whole[last:])
	return out.String() + s.added.String()
}

// dispatch is a function that calls the one without the rule that the tests run without.
func dispatch(d declaration, rules []int) string {
	at := func(p token.Pos) int { return int(p) - int(d.f.Pos()) }
	call, results := "", ""
	if r := d.f.Recv; r != nil {
		call = r.List[0].Names[0].Name + "."
	}
	var args []string
	for _, p := range d.f.Type.Params.List {
		for _, n := range p.Names {
			arg := n.Name
			if _, variadic := p.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	if d.f.Type.Results != nil {
		results = "return "
	}
	var out strings.Builder
	out.WriteString(d.text[:at(d.f.Body.Pos())] + "{\n\tswitch withoutRule {\n")
	for _, rule := range append(slices.Clone(rules), 0) {
		label := "default"
		if rule > 0 {
			label = "case " + strconv.Itoa(rule)
		}
		fmt.Fprintf(&out, "\t%s:\n\t\t%s%s%sWithoutRule%d(%s)\n", label, results, call, d.f.Name.Name, rule,
			strings.Join(args, ", "))
	}
	out.WriteString("\t}\n}")
	return out.String()
}

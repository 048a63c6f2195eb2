package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// like is a host with another name, program, environment or signal.
func (s *Spec) like(model *CLI) *CLI {
	h := *model
	h.Name, h.Aliases = s.Name, nil
	h.Program = cmp.Or(s.Program, h.Program)
	if s.Stop != "" {
		h.Stop = signals[s.Stop]
	}
	h.Command = func(r Request) (Command, error) {
		c, err := model.Command(r)
		if err != nil {
			return c, err
		}
		v, err := values(r, s.mentions("schema_file"))
		if err != nil {
			return Command{}, err
		}
		c.Env = append(c.Env, s.env(v)...)
		return c, nil
	}
	return &h
}

func (s *Spec) host() *CLI {
	f := &s.Fields
	has := Features{
		Model: s.mentions("model"), Agent: s.mentions("agent"), Tools: s.mentions("tools"),
		Effort:  s.mentions("effort"),
		Session: s.mentions("session"), Permissions: s.SkipArgs != nil, Schema: s.mentions("schema") ||
			s.mentions("schema_file"),
		MaxCost: s.mentions("max_cost"), Cost: !f.Cost.zero(), Usage: !f.Input.zero() || !f.Output.zero(),
		Live: s.Format == FormatJSONL && (!f.Input.zero() || !f.Output.zero() || !f.Cost.zero()),
	}
	return &CLI{
		Name: s.Name, Program: s.Program, Stop: signals[cmp.Or(s.Stop, "TERM")], Has: has,
		Command: func(r Request) (Command, error) { return s.command(r, has) },
		Stream:  s.stream,
	}
}

// mentions reports whether a placeholder occurs anywhere.
func (s *Spec) mentions(name string) bool {
	name = "{" + name + "}"
	for _, group := range slices.Concat(s.Args, s.JudgeArgs) {
		for _, word := range group {
			if strings.Contains(word, name) {
				return true
			}
		}
	}
	for _, value := range s.Env {
		if strings.Contains(value, name) {
			return true
		}
	}
	return false
}

func (s *Spec) command(r Request, has Features) (Command, error) {
	if err := checkWords(s.Name, r); err != nil {
		return Command{}, err
	}
	v, err := values(r, s.mentions("schema_file"))
	if err != nil {
		return Command{}, err
	}
	groups := s.Args
	if r.Judge && s.JudgeArgs != nil {
		groups = s.JudgeArgs
	}
	skip := s.SkipArgs
	if !r.Skip {
		skip = nil
	}
	c := Command{Stdin: r.Text, Env: append(commonEnv(r), s.env(v)...), Ignored: ignored(r, has), Args: []string{}}
	if !slices.ContainsFunc(groups, isSkip) {
		c.Args = append(c.Args, skip...)
	}
	for _, group := range groups {
		if isSkip(group) {
			c.Args = append(c.Args, skip...)
			continue
		}
		words, ok := fill(group, v)
		if !ok {
			continue
		}
		c.Args = append(c.Args, words...)
		for i, word := range group {
			if !strings.Contains(word, "{prompt}") {
				continue
			}
			c.Stdin = ""
			if err := checkPrompt(s.Name, word, words[i], c.Args[:len(c.Args)-len(words)+i]); err != nil {
				return Command{}, err
			}
		}
	}
	return c, nil
}

func isSkip(group []string) bool { return len(group) == 1 && group[0] == skipWord }

// checkPrompt refuses a prompt that cannot be the argument word was made from.
func checkPrompt(name, word, arg string, before []string) error {
	remedy := fmt.Sprintf("let host %s take its prompt by standard input: leave {prompt} out of its args", name)
	switch {
	case len(arg) > maxArg:
		return fmt.Errorf("the prompt has %d bytes and no argument may have more than %d; %s", len(arg), maxArg, remedy)
	case strings.Contains(arg, "\x00"):
		return fmt.Errorf("the prompt has a NUL in it, which no argument can have; %s", remedy)
	case word == "{prompt}" && strings.HasPrefix(arg, "-") && !slices.Contains(before, "--"):
		return fmt.Errorf("the prompt begins with a dash, so the program would take it as a flag; %s, or "+
			"put -- before it", remedy)
	}
	return nil
}

// values are what the placeholders stand for; those that stand for nothing are missing.
func values(r Request, file bool) (map[string]string, error) {
	v := map[string]string{"prompt": r.Text}
	for name, value := range map[string]string{
		"model": r.Model, "agent": r.Agent, "tools": strings.Join(r.Tools, ","), "effort": r.Effort,
		"session": r.Session,
	} {
		if value != "" {
			v[name] = value
		}
	}
	if r.MaxCost > 0 {
		v["max_cost"] = strconv.FormatFloat(r.MaxCost, 'f', -1, 64)
	}
	if r.Judge && r.Schema != "" {
		v["schema"] = r.Schema
		if file {
			path, err := scratchFile(r, "schema.json", r.Schema)
			if err != nil {
				return nil, err
			}
			v["schema_file"] = path
		}
	}
	return v, nil
}

// fill puts values into words. It says no where one has nothing to stand for. What a value says is never looked
// at again.
func fill(words []string, v map[string]string) ([]string, bool) {
	ok := true
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = placeholder().ReplaceAllStringFunc(word, func(p string) string {
			value, has := v[p[1:len(p)-1]]
			ok = ok && has
			return value
		})
	}
	return out, ok
}

func (s *Spec) env(v map[string]string) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if value, ok := fill([]string{s.Env[name]}, v); ok {
			env = append(env, name+"="+value[0])
		}
	}
	return env
}

package config

import (
	"fmt"
	"strings"
	"syscall"

	"gopkg.in/yaml.v3"
)

// A Secret is where the key of a signature is: in an environment variable, or in a file. The zero Secret is no secret.
type Secret struct {
	Env  string // the name of the variable
	File string // absolute
}

// Set reports whether there is one.
func (s Secret) Set() bool { return s != Secret{} }

// String names the place, and nothing of the key.
func (s Secret) String() string {
	if s.File != "" {
		return s.File
	}
	return s.Env
}

// mostSecret is how many bytes a key may have.
const mostSecret = 64 << 10

// Read returns the key. From a file it is read again each time, without the ends of lines after it. An empty key is an
// error.
func (s Secret) Read(getenv func(string) (string, bool)) (string, error) {
	if s.File == "" {
		if key, set := getenv(s.Env); set && key != "" {
			return key, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", s.Env)
	}
	b, err := read(s.File)
	if b == nil && err == nil {
		err = syscall.ENOENT
	}
	switch key := strings.TrimRight(string(b), "\r\n"); {
	case err != nil:
		return "", fmt.Errorf("the file %s cannot be read: %w", s.File, cause(err))
	case len(b) > mostSecret:
		return "", fmt.Errorf("the file %s is too large for a key", s.File)
	case key == "":
		return "", fmt.Errorf("the file %s is empty", s.File)
	default:
		return key, nil
	}
}

// secret returns the rows of a mapping that say where a key is. One of the two may be given.
func (d *decoder) secret(to *Secret) []row {
	one := func(n *yaml.Node) {
		if to.Env != "" && to.File != "" {
			d.say(n, "secret_env and secret_file: give one of them")
		}
	}
	return []row{
		{"secret_env", func(n *yaml.Node) {
			d.envName(n, "secret_env", &to.Env)
			one(n)
		}},
		{"secret_file", func(n *yaml.Node) {
			d.path(n, "secret_file", &to.File)
			one(n)
		}},
	}
}

// envName reads the name of an environment variable that holds a key.
func (d *decoder) envName(n *yaml.Node, key string, to *string) {
	d.words(n, key, nil, to)
	if *to != "" && !variableName().MatchString(*to) {
		d.say(n, "%s is the name of an environment variable that holds the key, and not the key itself", key)
	}
}

// place reads {env: NAME} or {file: PATH}.
func (d *decoder) place(n *yaml.Node, what string, to *Secret) {
	var s Secret
	before := len(d.problems)
	d.mapping(n, what, []row{
		{"env", func(n *yaml.Node) { d.envName(n, "env", &s.Env) }},
		{"file", func(n *yaml.Node) { d.path(n, "file", &s.File) }},
	})
	switch {
	case len(d.problems) > before:
	case (s.Env == "") == (s.File == ""):
		d.say(n, "%s is {env: NAME} or {file: PATH}", what)
	default:
		*to = s
	}
}

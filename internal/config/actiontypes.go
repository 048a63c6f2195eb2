package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// EnvActionTypes is the environment variable with further action types, as action_types of a file has them.
const EnvActionTypes = "LOOPS_ACTION_TYPES"

// An ActionType is an action type that loops of the project may use besides those of the language. It is given
// to a program, or to an agent host if the name of one is all it says.
type ActionType struct {
	Name string
	By   []string // a program with its arguments, or the name of a host
	List bool     // By was a list, so it is a program
}

// ownTypes are the action types of the language, and names that are kept for it.
var ownTypes = []string{"shell", "prompt", "slash_command", "mcp_tool", "contract", "http", "human_approval"}

var typeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]*$`) })

// actionTypes reads action_types. One that a lower file declares, too, is replaced.
func (d *decoder) actionTypes(n *yaml.Node, c *Config) {
	d.pairs(n, "action_types", func(key, value *yaml.Node) {
		before := len(d.problems)
		t := ActionType{Name: key.Value}
		switch {
		case slices.Contains(ownTypes, t.Name):
			d.say(key, "action_types: the language keeps %s for itself: choose another name", humanize.Quote(t.Name))
		case !typeName().MatchString(t.Name):
			d.say(key, "action_types: %s is not a name: write small letters, digits, _ and -, such as deploy",
				humanize.Quote(t.Name))
		}
		what := "action type " + humanize.Clip(t.Name)
		switch {
		case value.Kind == yaml.SequenceNode:
			t.List = true
			d.list(value, what, func(_ int, n *yaml.Node) { t.By = append(t.By, d.text(n, "an argument")) })
		case value.Kind == yaml.ScalarNode && value.Tag != "!!null":
			t.By = []string{value.Value}
		default:
			d.say(value, "%s must be a program, a list of a program and its arguments, or the name of a "+
				"host, found %s", what, kind(value))
		}
		if len(d.problems) > before {
			return
		}
		switch {
		case len(t.By) == 0 || strings.TrimSpace(t.By[0]) == "":
			d.say(value, "%s names no program: write ./bin/%s, or the name of a host", what, t.Name)
		case !t.List && strings.ContainsAny(t.By[0], " \t\n"):
			d.say(value, "%s: a program with arguments is a list: write [%s]", what,
				strings.Join(strings.Fields(t.By[0]), ", "))
		case d.layer.user && strings.Contains(t.By[0], "/") && !filepath.IsAbs(t.By[0]):
			d.say(value, "%s: %s is another program in every project: write an absolute path, or a name that is "+
				"found in PATH", what, humanize.Quote(t.By[0]))
		default:
			c.ActionTypes = append(slices.DeleteFunc(c.ActionTypes, func(o ActionType) bool {
				return o.Name == t.Name
			}), t)
			c.at("action_types."+t.Name, d.layer.file, key.Line)
		}
	})
}

// variable reads the action types of the environment.
func (l Layers) variable(c *Config) Problems {
	if strings.TrimSpace(l.ActionTypes) == "" {
		return nil
	}
	d := &decoder{layer: layer{file: EnvActionTypes, dir: l.Dir, home: l.Home}, key: "action_types"}
	if doc := d.document([]byte(l.ActionTypes)); doc != nil {
		d.actionTypes(doc, c)
	}
	for i := range d.problems {
		d.problems[i].Key = "action_types"
	}
	return d.problems
}

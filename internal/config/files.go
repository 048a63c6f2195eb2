package config

import (
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// Files say how the files of submitted runs get to workers.
type Files struct {
	// persistence.FilesPinned, FilesGit or FilesShared; "" = pinned in the folder of a project, git elsewhere
	Mode    string
	Remote  string   // the address of a repository of git
	Branch  string   // where runs begin that name no commit; "" = the HEAD of the remote
	Include []string // patterns of ignored files that travel too
}

// remote reads the address of a repository. One that git would take for an option is invalid.
func (d *decoder) remote(n *yaml.Node, c *Config) {
	before := len(d.problems)
	d.words(n, "remote", nil, &c.Files.Remote)
	if len(d.problems) == before && strings.HasPrefix(c.Files.Remote, "-") {
		d.say(n, "remote is the address of a repository, not %s", humanize.Quote(c.Files.Remote))
	}
}

// include reads patterns, which take the place of those of lower files.
func (d *decoder) include(n *yaml.Node, c *Config) {
	c.Files.Include = nil
	d.each(n, func(n *yaml.Node) {
		if p := n.Value; p == "" || path.IsAbs(p) || strings.HasPrefix(p, ":") || strings.Contains("/"+p+"/", "/../") {
			d.say(n, "include has patterns of files below the top of the repository, such as build/*.json, not %s",
				humanize.Quote(p))
		}
	})
	c.Files.Include = d.texts(n, "include")
}

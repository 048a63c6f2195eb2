package app

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"slices"

	"loops/internal/config"
)

// answerLinks looks at the links that answer questions: the address, the targets that get them, and the key
// that signs them.
func (x *Examination) answerLinks() {
	p, set := x.Project, x.Config.AnswerLinks
	path := p.AnswerKeyFile()
	info, err := os.Stat(path)
	warn := func(text, todo string) { x.add(Finding{"answer_links", FindingWarning, text, todo, nil}) }
	switch {
	case set == config.AnswerLinks{}:
		if err != nil {
			return // nothing is set, and nothing was ever signed
		}
	case set.URL == "":
		warn("answer_links.key_file is set, and answer_links.url is not: notifications of questions have no links",
			"set answer_links.url to the address of loops serve")
	case !slices.ContainsFunc(x.Config.Notify, func(n config.Notify) bool { return n.Name != "" }):
		warn("answer_links.url is set, and no target of notify has a name: links are for targets with a name",
			"give a target in notify a name")
	}
	if u, bad := url.Parse(set.URL); bad == nil && u.Scheme == "http" &&
		!slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
		warn("the links of "+set.URL+" are sent without encryption: who reads them can answer", "serve it over https")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && set.File == "":
		x.add(Finding{"answer_links", FindingOK, "the key is made with the first question", "", nil})
	case err != nil:
		x.add(Finding{
			"answer_links", FindingProblem, "the key of links cannot be read: " + x.Said(err),
			"make a file with a long random text that only its owner may read: " + p.Short(path), nil,
		})
	case info.Mode().Perm()&0o077 != 0:
		x.add(Finding{"answer_links", FindingProblem, "others may read " + p.Short(path) +
			", and so can answer any question", "chmod 600 " + p.Short(path) + ", and write another key into it", nil})
	default:
		if _, err := p.AnswerKey(false); err != nil {
			x.add(Finding{"answer_links", FindingProblem, x.Said(err), "write a long random text into " +
				p.Short(path), nil})
			return
		}
		x.add(Finding{"answer_links", FindingOK, "links are signed with the key in " + p.Short(path), "", nil})
	}
}

package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"loops/internal/config"
	"loops/internal/phrase"
)

// layers are the files with what people declared about a project.
func (a *app) layers(p project) config.Layers {
	home, _ := a.getenv("HOME")
	return config.Layers{
		Reference: config.ReferenceFile(p.Dir), User: config.UserFile(a.getenv), Project: filepath.Join(p.Loops, config.Name),
		Dir: p.Dir, Home: home,
	}
}

// A declaration is what the files say of one project.
type declaration struct {
	loops  string // the project's .loops
	config *config.Config
	wrong  config.Problems
}

// declared returns what the files of a project say, read once for a command line, and their mistakes.
func (a *app) declared(p project) (*config.Config, config.Problems) {
	if a.conf == nil || a.conf.loops != p.Loops {
		c, err := p.layers.Load()
		wrong, _ := errors.AsType[config.Problems](err)
		a.conf = &declaration{p.Loops, c, wrong}
	}
	return a.conf.config, a.conf.wrong
}

// config reads what people declared about a project, for a run of it. A mistake in it keeps every run from starting,
// whether or not it would matter to this one: half a config would choose another agent than the one that was meant.
func (a *app) config(p project) (*config.Config, error) {
	a.conf = nil // it may have been mended since
	c, wrong := a.declared(p)
	if len(wrong) > 0 {
		return nil, failure(exitInvalid, "%s", p.mistakes("; nothing was started", wrong))
	}
	return c, nil
}

// mistakes says which files have mistakes, what follows from that, and what the mistakes are.
func (p project) mistakes(then string, wrong config.Problems) block {
	lines := slices.Clone(wrong)
	for i := range lines {
		lines[i].File = p.short(lines[i].File)
	}
	files := p.mistaken(wrong)
	verb := " has"
	if len(files) > 1 {
		verb = " have"
	}
	return block(clean(phrase.And(files))+verb+" mistakes"+then+":\n") + linesOf(lines)
}

// mistaken are the files that have mistakes, in their order.
func (p project) mistaken(wrong config.Problems) (files []string) {
	for _, w := range wrong {
		if name := p.short(w.File); !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// declaring are the files that declare hosts.
func (p project) declaring(c *config.Config) (files []string) {
	for _, h := range c.Hosts {
		if name := p.short(c.At["hosts."+h.Name].File); !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// settingPlace names where a setting stands, for a person.
func (p project) settingPlace(c *config.Config, key string) string {
	at := c.At[key]
	if at.Line == 0 {
		return p.short(at.File)
	}
	return fmt.Sprintf("%s:%d", p.short(at.File), at.Line)
}

// catalogFrom says where the folder of further loops was named.
func (a *app) catalogFrom(p project) string {
	if catalog, _ := a.getenv(envCatalog); catalog != "" {
		return envCatalog + "="
	}
	c, _ := a.declared(p)
	return p.settingPlace(c, "catalog") + ": catalog "
}

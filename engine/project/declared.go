package project

import (
	"errors"
	"fmt"
	"slices"

	"loops/internal/config"
)

// A declaration is what the files say of one project.
type declaration struct {
	config *config.Config
	wrong  config.Problems
}

// Declared returns what the files say of the project, read once, and their mistakes.
func (p *Project) Declared() (*config.Config, config.Problems) {
	p.known.mu.Lock()
	defer p.known.mu.Unlock()
	if p.known.conf == nil {
		c, err := p.Layers.Load()
		wrong, _ := errors.AsType[config.Problems](err)
		p.known.conf = &declaration{c, wrong}
	}
	return p.known.conf.config, p.known.conf.wrong
}

// Config reads what people declared about the project, for a run of it. A mistake in it keeps every run from
// starting, whether or not it would matter to this one: half a config would choose another agent than the one
// that was meant. The error is a *SettingsError.
func (p *Project) Config() (*config.Config, error) {
	p.known.mu.Lock()
	p.known.conf = nil // it may have been corrected since
	p.known.mu.Unlock()
	c, wrong := p.Declared()
	if len(wrong) > 0 {
		return nil, &SettingsError{Project: p, Problems: wrong}
	}
	return c, nil
}

// Mistaken are the files that have mistakes, in their order.
func (p *Project) Mistaken(wrong config.Problems) (files []string) {
	for _, w := range wrong {
		if name := p.Short(w.File); !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// Declaring are the files that declare hosts.
func (p *Project) Declaring(c *config.Config) (files []string) {
	for _, h := range c.Hosts {
		if name := p.Short(c.At["hosts."+h.Name].File); !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// SettingPlace names where a setting is, for a person.
func (p *Project) SettingPlace(c *config.Config, key string) string {
	at := c.At[key]
	if at.Line == 0 {
		return p.Short(at.File)
	}
	return fmt.Sprintf("%s:%d", p.Short(at.File), at.Line)
}

// catalogFrom names where the folder of further loops was named.
func (p *Project) catalogFrom() string {
	if catalog, _ := p.getenv(EnvCatalog); catalog != "" {
		return EnvCatalog + "="
	}
	c, _ := p.Declared()
	return p.SettingPlace(c, "catalog") + ": catalog "
}

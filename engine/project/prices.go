package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"loops/engine/action"
	"loops/fsm"
	"loops/internal/agent"
)

// Prices returns what a use of a model cost, in USD; false where it is not known.
type Prices func(model string, u fsm.Usage) (float64, bool)

// PricesFile is the file with a project's own table of prices.
func (p *Project) PricesFile() string { return filepath.Join(p.Loops, "prices.yaml") }

// ReadPrices reads the table that holds for a project: its own, if it has one, over the built-in one.
func (p *Project) ReadPrices(file string) (*agent.PriceTable, error) {
	own, read := file != "", os.ReadFile // one that a user names may be a pipe
	if !own {
		file, read = p.PricesFile(), action.Files{}.ReadFile
	}
	text, err := read(file)
	if !own && errors.Is(err, fs.ErrNotExist) {
		return agent.BuiltInPrices(), nil
	}
	if err != nil {
		return nil, &PricesError{Path: p.Short(file), Err: Cause(err)}
	}
	table, err := agent.Parse(p.Short(file), text)
	if err != nil {
		return nil, &PricesError{p.Short(file), err, true}
	}
	return table.Over(agent.BuiltInPrices()), nil
}

// PricedBy is [Project.Pricer] with the prices of a file over those of the project; "" = no file. A relative
// one is in the working directory.
func (p *Project) PricedBy(file string) (Prices, error) {
	if file == "" {
		return p.Pricer()
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.Cwd, file)
	}
	table, err := p.ReadPrices("")
	if err != nil {
		return nil, err
	}
	over, err := p.ReadPrices(file)
	if err != nil {
		return nil, err
	}
	table = over.Over(table)
	return func(model string, u fsm.Usage) (float64, bool) {
		return table.Cost(model, agent.Usage(u), time.Now())
	}, nil
}

// Pricer returns what a runner asks for the cost of a prompt. The built-in table is read when it is first
// needed, a table of the project's own at once: its mistakes are to be known before a run begins.
func (p *Project) Pricer() (Prices, error) {
	table := sync.OnceValue(agent.BuiltInPrices)
	if _, err := os.Lstat(p.PricesFile()); err == nil {
		own, err := p.ReadPrices("")
		if err != nil {
			return nil, err
		}
		table = func() *agent.PriceTable { return own }
	}
	return func(model string, u fsm.Usage) (float64, bool) {
		return table().Cost(model, agent.Usage(u), time.Now())
	}, nil
}

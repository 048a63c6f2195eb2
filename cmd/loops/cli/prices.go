package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"loops/engine/action"
	"loops/fsm"
	"loops/internal/price"
)

// prices tells what a use of a model cost, in USD; false where nobody knows.
type prices func(model string, u fsm.Usage) (float64, bool)

// prices is the file with a project's own table of prices.
func (p project) prices() string { return filepath.Join(p.Loops, "prices.yaml") }

// readPrices reads the table that holds for a project: its own, if it has one, over the built-in one.
func readPrices(p project, file string) (*price.Table, error) {
	own, read := file != "", os.ReadFile // one that a user names may be a pipe
	if !own {
		file, read = p.prices(), action.Files{}.ReadFile
	}
	text, err := read(file)
	if !own && errors.Is(err, fs.ErrNotExist) {
		return price.BuiltIn(), nil
	}
	if err != nil {
		return nil, failure(exitInvalid, "the price table %s cannot be read: %v", p.short(file), errnoText(err))
	}
	table, err := price.Parse(p.short(file), text)
	if err != nil {
		return nil, failure(exitInvalid, "%s", linesOf(err))
	}
	return table.Over(price.BuiltIn()), nil
}

// pricer returns what a runner asks for the cost of a prompt. The built-in table is read when it is first needed, a table
// of the project's own at once: its mistakes are to be known before a run begins.
func pricer(p project) (prices, error) {
	table := sync.OnceValue(price.BuiltIn)
	if _, err := os.Lstat(p.prices()); err == nil {
		own, err := readPrices(p, "")
		if err != nil {
			return nil, err
		}
		table = func() *price.Table { return own }
	}
	return func(model string, u fsm.Usage) (float64, bool) {
		return table().Cost(model, price.Usage(u), time.Now())
	}, nil
}

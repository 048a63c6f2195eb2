package project

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/internal/config"
	"loops/internal/humanize"
)

// A DirError means that a directory cannot be worked in.
type DirError struct {
	Dir string // as it was given; "" = the working directory of the process, which is gone
	Err error
}

func (e *DirError) Error() string {
	if e.Dir == "" {
		return "the working directory is gone: " + e.Err.Error()
	}
	return e.Dir + ": " + e.Err.Error()
}

func (e *DirError) Unwrap() error { return e.Err }

// A SettingsError means that the files with the settings of a project have mistakes.
type SettingsError struct {
	Project  *Project
	About    string // the setting that is needed; "" = all of them
	Problems config.Problems
}

func (e *SettingsError) Error() string {
	return strings.Join(e.Files(), ", ") + ": " + e.Problems.Error()
}

// Files are the files that have mistakes, in their order, as a person in the project would write them.
func (e *SettingsError) Files() []string { return e.Project.Mistaken(e.Problems) }

// A CatalogError means that the folder of further loops cannot be used.
type CatalogError struct {
	From string // what names it, as a prefix of its path
	Path string
	Err  error
}

func (e *CatalogError) Error() string { return e.From + e.Path + ": " + e.Err.Error() }
func (e *CatalogError) Unwrap() error { return e.Err }

// A LoopNotFoundError means that there is no loop of that name.
type LoopNotFoundError struct {
	Name  string
	Tried []string // the files that were looked for
	Near  []string // names that may have been meant
	Tests string   // the file that has the name, which holds tests of a loop; "" = none has it

	Outside bool // it is a path that leads out of the project, and the file was not looked for
}

func (e *LoopNotFoundError) Error() string {
	if e.Outside {
		return fmt.Sprintf("there is no loop %q in this project; only the command line runs and reads "+
			"files outside it", e.Name)
	}
	text := fmt.Sprintf("there is no loop %q", e.Name)
	if e.Tests != "" {
		text += ": " + e.Tests + " holds tests of a loop"
	}
	if len(e.Tried) > 0 {
		text += " (looked for " + strings.Join(e.Tried, ", ") + ")"
	}
	return text
}

// A NoFileError means that what is named as a loop is no file that could be one.
type NoFileError struct {
	Path    string
	What    string // what is wrong with it: "is a folder"
	Example string // a path that a loop can have; "" = none is proposed
	Missing bool   // there is nothing, or a folder
}

func (e *NoFileError) Error() string {
	if e.Example == "" {
		return e.Path + e.What
	}
	return e.Path + " " + e.What + "; a loop is a file, such as " + e.Example
}

// An InvalidError means that a loop has mistakes that keep it from running.
type InvalidError struct {
	Project  *Project
	Path     string        // as a person in the project would write it
	Problems []fsm.Problem // all there is to say about it, errors among it, by place
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s has %s", e.Path, humanize.Count(CountErrors(e.Problems), "error"))
}

// A StoreURLError means that it is not understood where runs are recorded.
type StoreURLError struct {
	From string // the flag, variable or setting that says so
	What string // what is wrong with it
}

func (e *StoreURLError) Error() string { return e.From + " " + e.What }

// A NoDatabaseError means that the database with the recorded runs is not there.
type NoDatabaseError struct{ Path, From string }

func (e *NoDatabaseError) Error() string {
	return fmt.Sprintf("there is no database %s (%s)", e.Path, e.From)
}

// A PricesError means that a table of prices cannot be used.
type PricesError struct {
	Path string
	Err  error
	Text bool // it was read, and its text has mistakes: Err has a line for each
}

func (e *PricesError) Error() string {
	if e.Text {
		return e.Err.Error()
	}
	return fmt.Sprintf("the price table %s cannot be read: %v", e.Path, e.Err)
}

func (e *PricesError) Unwrap() error { return e.Err }

// A NoRunError means that no recorded run is meant.
type NoRunError struct {
	Finder Finder
	Arg    string
}

func (e *NoRunError) Error() string { return "there is no run " + e.Arg }

// A NoIDError means that no recorded run has an id.
type NoIDError struct {
	ID   string
	Runs int    // that are recorded of the loop of that name
	Near string // the id that is most like it; "" = none is
}

func (e *NoIDError) Error() string { return "there is no run " + e.ID }

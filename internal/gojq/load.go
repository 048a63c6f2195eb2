// Package gojq is a copy of github.com/itchyny/gojq, an implementation of the language jq, that costs nothing before it is used.
// See generate.sh for what is different, and LICENSE for whose it is.
package gojq

import "sync"

//go:generate ./generate.sh

// load makes the tables of functions, once.
var load = sync.OnceFunc(func() {
	loadFuncs()
	loadBuiltins()
})

// A ModuleLoader would find modules; this copy has none, so that a program sees no file.
type ModuleLoader any

// Package docs has the pages of this folder that the program itself hands out.
package docs

import _ "embed" // the page of the language

// Language is the page that describes loop files.
//
//go:embed language.md
var Language string

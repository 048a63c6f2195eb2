// Package api describes the JSON that commands print with --json: a Go type for each command, of which its JSON Schema
// and docs/json.md are made.
package api

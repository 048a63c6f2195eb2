// Package api defines a Go type for each object that commands, the MCP server and the HTTP API show. Faces
// write these types as JSON; the JSON Schemas, docs/json.md and the OpenAPI document are made of them too.
package api

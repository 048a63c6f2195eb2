// Package mcpclient calls one tool of one MCP server: it starts the server that .mcp.json names, uses JSON-RPC with it
// over its standard input and output, and ends it again.
//
// It is made to run in a process of its own, which can be ended like any other: nothing a server does, or fails to
// do, reaches the program that wants the answer.
package mcpclient

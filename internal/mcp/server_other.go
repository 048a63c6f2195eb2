//go:build !linux

package mcp

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

//go:build !linux

package mcpclient

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

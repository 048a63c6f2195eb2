//go:build !linux

package testenv

// CanNamespaces reports that no namespaces can be made.
func CanNamespaces() bool { return false }

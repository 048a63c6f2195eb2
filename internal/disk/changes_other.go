//go:build !linux

package disk

// Changes know which files of a folder may have changed. Only Linux can tell.
type Changes struct{}

// ChangesOf returns nil.
func ChangesOf(string) *Changes { return nil }

// Each reports false: any file may have changed.
func (c *Changes) Each(func(name string)) (known bool) { return false }

// Close does nothing.
func (c *Changes) Close() {}

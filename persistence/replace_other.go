//go:build !linux

package persistence

import "os"

func swapIn(tmp, path string) error   { return os.Rename(tmp, path) }
func renameNew(from, to string) error { return renameChecked(from, to) }
func dataSync(f *os.File) error       { return f.Sync() }

package view

import (
	"loops/fsm/value"
	"loops/internal/doctor"
	"loops/internal/terminal"
)

// FindingObject is a finding for a program.
func FindingObject(f doctor.Finding) any {
	m := value.NewMap("check", f.Check, "level", f.Level, "text", f.Text, "todo", terminal.OrNull(f.Todo))
	if f.More != nil {
		for _, key := range f.More.Keys() {
			v, _ := f.More.Get(key)
			m.Set(key, v)
		}
	}
	return m
}

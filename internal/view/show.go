package view

import (
	"reflect"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
)

// OriginsOf says for every value of a model where it is.
func OriginsOf(p *project.Project, l *fsm.Loop, m *value.Map) *value.Map {
	out := new(value.Map)
	var walk func(m *value.Map, path []string)
	walk = func(m *value.Map, path []string) {
		for _, k := range m.Keys() {
			v, _ := m.Get(k)
			at := append(path[:len(path):len(path)], k)
			if inner, ok := v.(*value.Map); ok && !reflect.DeepEqual(path, []string{"context"}) {
				walk(inner, at)
				continue
			}
			pos := l.Place(0, at...)
			pos.File = p.Short(pos.File)
			out.Set(strings.Join(at, "."), pos.String())
		}
	}
	walk(m, nil)
	return out
}

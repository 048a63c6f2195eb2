package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestNoKeyIsHidden: a field has not the name of an embedded type, which would hide its key.
func TestNoKeyIsHidden(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	var visit func(of reflect.Type)
	visit = func(of reflect.Type) {
		switch {
		case seen[of]:
			return
		case of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map:
			visit(of.Elem())
			return
		case of.Kind() != reflect.Struct:
			return
		}
		seen[of] = true
		var written []string
		for _, f := range reflect.VisibleFields(of) {
			written = append(written, key(f))
		}
		for _, name := range declared(of) {
			if !slices.Contains(written, name) {
				t.Errorf("%s: the key %s is hidden", of, name)
			}
		}
		for i := range of.NumField() {
			visit(of.Field(i).Type)
		}
	}
	for _, o := range slices.Concat(Outputs, Answers) {
		for _, of := range o.of {
			visit(of)
		}
	}
	if len(seen) < 80 {
		t.Errorf("%d types were seen", len(seen))
	}
}

func key(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// declared returns the keys of a struct and of the structs that it embeds.
func declared(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			names = append(names, declared(f.Type)...)
		} else if name := key(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

package storetest

import (
	"fmt"
	"reflect"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// Filled returns a memory in which no field is empty, whatever fields there will be, in a sub-loop of a sub-loop, too.
// Strings and numbers differ from field to field.
func Filled(loop string) *fsm.Snapshot {
	s := &fsm.Snapshot{}
	f := filler{}
	f.fill(reflect.ValueOf(s).Elem())
	s.Loop, s.StartedAt, s.Phase = loop, start, fsm.PhaseActed
	return s
}

type filler struct{ n, depth int }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(start))
		return
	case time.Duration:
		v.SetInt(int64(time.Duration(f.n) * time.Millisecond))
		return
	case value.Counts:
		v.Set(reflect.ValueOf(
			value.CountsOf(map[string]int{fmt.Sprintf("k%d", f.n): f.n, fmt.Sprintf("l%d", f.n): f.n + 1})))
		return
	case *value.Map:
		v.Set(reflect.ValueOf(value.NewMap(fmt.Sprintf("k%d", f.n),
			value.NewMap("output", "é\x00\u2028 "+fmt.Sprint(f.n), "none", nil, "list",
				[]any{int64(f.n), 0.5, false}))))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint64:
		v.SetUint(uint64(f.n))
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.25)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*fsm.Child]() {
			if f.depth == 2 {
				return
			}
			f.depth++
			defer func() { f.depth-- }()
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(val)
			v.SetMapIndex(key, val)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(value.NewMap("verdict", fmt.Sprintf("text %d", f.n))))
	default:
		panic("storetest: a Snapshot has a new kind of field: " + v.Type().String())
	}
}

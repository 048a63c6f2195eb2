package api

import (
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A Text is null when it is empty.
type Text string

// JSONValue returns the text, or nil.
func (t Text) JSONValue() any {
	if t == "" {
		return nil
	}
	return string(t)
}

// An Int is null when it is 0.
type Int int

// JSONValue returns the number, or nil.
func (n Int) JSONValue() any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// A Time is a time that is known, as files have it: UTC with microseconds. One that is not known is null all the same.
type Time string

// JSONValue returns the time, or nil.
func (t Time) JSONValue() any { return Text(t).JSONValue() }

// Stamp returns a time as files have it; "" for the zero time.
func Stamp(t time.Time) Time {
	if t.IsZero() {
		return ""
	}
	return Time(fsm.FormatTime(t))
}

// StampOrNull returns a time that need not be known.
func StampOrNull(t time.Time) Text { return Text(Stamp(t)) }

// An Object is a recorded object with any keys; null when it is not known.
type Object struct{ *value.Map }

// JSONValue returns the object, or nil.
func (o Object) JSONValue() any {
	if o.Map == nil {
		return nil
	}
	return o.Map
}

// A Number is written to a thousandth, and as an integer where it is one.
type Number float64

// JSONValue returns the number.
func (v Number) JSONValue() any {
	n := int64(v*1000 + 0.5)
	if n%1000 == 0 {
		return n / 1000
	}
	return float64(n) / 1000
}

// A Pair is a key and its value.
type Pair[V any] struct {
	Key   string
	Value V
}

// Pairs are an object whose keys have an order.
type Pairs[V any] []Pair[V]

// JSONValue returns the object.
func (p Pairs[V]) JSONValue() any {
	m := &value.Map{}
	for _, one := range p {
		m.Set(one.Key, one.Value)
	}
	return m
}

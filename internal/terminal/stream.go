package terminal

import "io"

// A MeterStream reports to a Meter how many bytes have passed through it.
type MeterStream struct {
	Reader io.Reader // one of these
	Writer io.Writer
	Meter  *Meter
	Total  int64 // bytes that will pass; 0 = it is not known

	done int64
}

// Read implements [io.Reader].
func (s *MeterStream) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.passed(n)
	return n, err
}

// Write implements [io.Writer].
func (s *MeterStream) Write(b []byte) (int, error) {
	n, err := s.Writer.Write(b)
	s.passed(n)
	return n, err
}

func (s *MeterStream) passed(n int) {
	s.done += int64(n)
	s.Meter.Set(s.done, s.Total)
}

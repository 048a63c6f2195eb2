package value

import "fmt"

// MarshalJSON makes a Map part of what encoding/json writes: see AppendJSON.
func (m *Map) MarshalJSON() ([]byte, error) { return AppendJSON(nil, m), nil }

// UnmarshalJSON reads a Map as a part of what encoding/json reads: see ParseJSON. Whatever was in it is gone.
func (m *Map) UnmarshalJSON(data []byte) error {
	v, err := ParseJSON(data)
	if err != nil {
		return err
	}
	read, ok := v.(*Map)
	if !ok {
		return fmt.Errorf("expected an object, not %s", data)
	}
	*m = *read
	return nil
}

package value

import (
	"encoding/json"
	"strings"
	"testing"
)

// A Map within a Go value was written as {} by encoding/json, and so lost.
func TestMapInsideGoValues(t *testing.T) {
	t.Parallel()
	type holder struct {
		Values *Map `json:"values"`
	}
	b, err := json.Marshal(
		holder{NewMap("z", int64(1), "a", 1.0, "in", NewMap("b", []any{nil, true, "é"}), "none", nil)})
	if want := `{"values":{"z":1,"a":1.0,"in":{"b":[null,true,"\u00e9"]},"none":null}}`; err != nil ||
		string(b) != want {
		t.Fatalf("written as %s (%v), want %s", b, err, want)
	}
	var back holder
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if string(again) != string(b) {
		t.Errorf("read as %s, want %s", again, b)
	}
	if z, _ := back.Values.Get("z"); z != int64(1) {
		t.Errorf("z is %v (%T), want int64 1", z, z)
	}
	if err := json.Unmarshal([]byte(`{"values":[1]}`), &back); err == nil ||
		!strings.Contains(err.Error(), "expected an object, not [1]") {
		t.Errorf("a list: %v", err)
	}
	var none holder
	if err := json.Unmarshal([]byte(`{"values":null}`), &none); err != nil || none.Values != nil {
		t.Errorf("null: %v, %v", none.Values, err)
	}
}

package value_test

import (
	"errors"
	"testing"

	"loops/fsm/value"
)

type shout string

func (s shout) JSONValue() any { return string(s) + "!" }

type inner struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

type part struct {
	Part int `json:"part"`
}

// TestStructs: a struct has the keys of its fields in their order; what is absent and what is null differ.
func TestStructs(t *testing.T) {
	t.Parallel()
	var none *int
	type outer struct {
		inner
		*part
		List   []inner        `json:"list"`
		None   *int           `json:"none"`
		Left   *int           `json:"left,omitempty"`
		Null   **int          `json:"null,omitempty"`
		Empty  []int          `json:"empty,omitempty"`
		By     map[string]any `json:"by"`
		Map    *value.Map     `json:"map"`
		Loud   shout          `json:"loud"`
		Hidden string         `json:"-"`
		plain  int
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{
			outer{
				inner: inner{Name: "é"}, Null: &none, Empty: []int{},
				By: map[string]any{"b": 1.0, "a": inner{Name: "x", Note: "y"}}, Loud: "a", Hidden: "h", plain: 1,
			},
			`{"name": "\u00e9", "list": [], "none": null, "null": null, "by": {"a": {"name": "x", "note": "y"}, "b": 1.0}, "map": {}, "loud": "a!"}`,
		},
		{
			&outer{part: &part{3}, List: []inner{{}}},
			`{"name": "", "part": 3, "list": [{"name": ""}], "none": null, "by": {}, "map": {}, "loud": "!"}`,
		},
		{[]any{errors.New("text"), part{1}}, `["text", {"part": 1}]`},
	} {
		if got := string(value.AppendJSON(nil, c.v)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if m := value.Object(inner{Name: "x"}); m.Len() != 1 || m.Value("name") != "x" {
		t.Error(m)
	}
}

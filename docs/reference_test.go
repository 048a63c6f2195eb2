package docs

import (
	"strings"
	"testing"
)

func TestChapters(t *testing.T) {
	t.Parallel()
	for _, c := range Chapters() {
		if c.Title == "Waits" {
			if c.Level != 2 || !strings.HasPrefix(c.Text, "## Waits\n") ||
				!strings.Contains(c.Text, "### Parked runs") || strings.Contains(c.Text, "## Questions") {
				t.Errorf("level %d, %s", c.Level, c.Text)
			}
			return
		}
	}
	t.Error("there is no chapter Waits")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	found := map[string][]Key{}
	for _, k := range Keys() {
		found[k.Name] = append(found[k.Name], k)
		if strings.ContainsAny(k.Name, " `\x00") || k.Chapter == "" || len(k.Columns) == 0 {
			t.Errorf("%+v", k)
		}
	}
	if n := len(found); n < 150 {
		t.Errorf("only %d keys", n)
	}
	filter := found["filter"]
	if len(filter) != 1 || filter[0].Chapter != "jq" ||
		!strings.Contains(filter[0].Columns[2][1], "`.items | length > 0`") {
		t.Errorf("filter: %+v", filter)
	}
	if len(found["timeout"]) < 3 || len(found["otherwise"]) != 1 {
		t.Errorf("timeout: %+v\notherwise: %+v", found["timeout"], found["otherwise"])
	}
}

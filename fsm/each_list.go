package fsm

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// Items are what the machine remembers of the list that its state works on. They never change after they were
// recorded: others take their place. Which items have ended is in Ends, and in the events behind Through.
type Items struct {
	State   string
	Step    int    // that entered the state
	List    string // the items, as a JSON list
	Count   int
	Since   uint64            // no event up to this one is of an item of the list
	Through uint64            // Ends has all that the events up to this one say
	Ends    map[string]string // how items ended; see encodeEnds
	Starts  map[string]int    // how often items that have not ended were started; see encodeStarts
}

// A roll is a list on record. An item is read when it is wanted, so that a long list takes little more memory
// than its text.
type roll struct {
	text string
	at   []uint32 // where in text each item begins, and where the list ends
	keys []string // nil: the key of an item is its text
}

// roll reads the list on record.
func (e *Executor) roll(st *State, on *Items) (*roll, error) {
	l := &roll{text: on.List}
	var ok bool
	if l.at, ok = placesIn(on.List, on.Count); !ok {
		return nil, fmt.Errorf("for_each: the list of state %s on record cannot be read", st.Name)
	}
	return l, l.name(e, st)
}

// placesIn finds where the items of a JSON list begin, and where the list ends.
func placesIn(text string, count int) ([]uint32, bool) {
	if len(text) > math.MaxUint32 || !strings.HasPrefix(text, "[") {
		return nil, false
	}
	at, depth, due := make([]uint32, 0, count+1), 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != ' ' && c != ']' && due && depth == 1 {
			at, due = append(at, uint32(i)), false
		}
		switch c {
		case '[', '{':
			depth++
			due = depth == 1
		case ']', '}':
			if depth--; depth == 0 {
				at = append(at, uint32(i))
				return at, len(at) == count+1 && i == len(text)-1
			}
		case ',':
			due = depth == 1
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return nil, false
}

func (l *roll) count() int { return len(l.at) - 1 }

// item returns an item. What cannot be read is a text.
func (l *roll) item(i int) any {
	text, plain := l.plain(i)
	if plain {
		return text
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return text
	}
	return v
}

// plain returns an item as it is in the list, and whether it is a text that is there without its quotes.
func (l *roll) plain(i int) (string, bool) {
	text := l.text[l.at[i]:l.at[i+1]]
	for text != "" && (text[len(text)-1] == ',' || text[len(text)-1] == ' ') {
		text = text[:len(text)-1]
	}
	if n := len(text); n >= 2 && text[0] == '"' && strings.IndexByte(text, '\\') < 0 {
		return text[1 : n-1], true
	}
	return text, false
}

// itemText is an item as its actions find it in their environment.
func (l *roll) itemText(i int) string {
	if text, plain := l.plain(i); plain {
		return text
	}
	return itemText(l.item(i))
}

// key returns the name of an item.
func (l *roll) key(i int) string {
	if l.keys != nil {
		return l.keys[i]
	}
	return l.itemText(i)
}

// name names the items: each by its text, or as key: says. Names that come again get a number.
func (l *roll) name(e *Executor, st *State) error {
	if st.Each.Key == "" {
		if l.distinct() {
			return nil
		}
		keys := make([]string, l.count())
		for i := range keys {
			keys[i] = l.itemText(i)
		}
		l.keys = numbered(keys)
		return nil
	}
	keys, s := make([]string, l.count()), e.scope(nil)
	for i := range keys {
		s.Item = value.NewMap("index", int64(i+1), "count", int64(l.count()), st.Each.As, l.item(i))
		key, err := expr.Expand(st.Each.Key, s)
		if err != nil {
			return fmt.Errorf("for_each: the key of item %d: %w", i+1, err)
		}
		keys[i] = strings.TrimSpace(key)
	}
	l.keys = numbered(keys)
	return nil
}

// distinct reports whether no text of an item comes again. It may report false where none does.
func (l *roll) distinct() bool {
	seed, mask := maphash.MakeSeed(), 1<<bits.Len(uint(2*l.count()))-1
	// of the texts so far, each at the first free place after the one that it says; 0 = free
	sums := make([]uint64, mask+1)
	for i := range l.count() {
		sum := max(1, maphash.String(seed, l.itemText(i)))
		at := int(sum) & mask
		for sums[at] != 0 {
			if sums[at] == sum {
				return false
			}
			at = (at + 1) & mask
		}
		sums[at] = sum
	}
	return true
}

// numbered gives keys that come again their number.
func numbered(texts []string) []string {
	keys, seen := make([]string, len(texts)), make(map[string]int, len(texts))
	for i, key := range texts {
		for n := seen[key] + 1; ; n++ {
			name := key
			if n > 1 {
				name = key + "#" + strconv.Itoa(n)
			}
			if name == key || seen[name] == 0 {
				seen[key]++
				if name != key {
					seen[name]++
				}
				keys[i] = name
				break
			}
		}
	}
	return keys
}

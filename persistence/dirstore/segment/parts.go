package segment

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"loops/internal/disk"
	"loops/persistence/snapshot"
)

const partSuffix = ".jsonl"

// IndexName is the name of the index in a folder of parts.
const IndexName = "index.jsonl"

// A Part is one full file of a journal.
type Part struct {
	Name  string `json:"file"`
	First uint64 `json:"first"` // numbers of its events
	Last  uint64 `json:"last"`
	Bytes int64  `json:"bytes"`
	Whole int64  `json:"whole"`         // where the batch with its last whole memory begins
	Sum   string `json:"crc,omitempty"` // of the line of the index, without this key

	N       int    `json:"-"` // its number, from 1 on
	Path    string `json:"-"`
	Indexed bool   `json:"-"` // the index has it, and the file is as long as it says
}

func partName(n int) string { return fmt.Sprintf("%06d%s", n, partSuffix) }

// Number is the number of the part with this name; 0 = it is no name of a part.
func Number(name string) int {
	digits, ok := strings.CutSuffix(name, partSuffix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || partName(n) != name {
		return 0
	}
	return n
}

// Parts lists the full parts in a folder, oldest first, and what is wrong with them.
func Parts(dir string) (parts []Part, damage []string, err error) {
	names, err := disk.RealNames(dir)
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	index, damage := ReadIndex(filepath.Join(dir, IndexName))
	for _, name := range names {
		if n := Number(name); n > 0 {
			p := Part{N: n, Name: name, Path: filepath.Join(dir, name)}
			if x, ok := index[name]; ok {
				st, err := os.Lstat(p.Path)
				switch {
				case err != nil:
					damage = append(damage, p.Path+": "+disk.Reason(err))
				case st.Size() != x.Bytes:
					damage = append(damage, fmt.Sprintf("%s: it has %d bytes, %d were recorded", p.Path, st.Size(),
						x.Bytes))
				default:
					p.First, p.Last, p.Bytes, p.Whole, p.Indexed = x.First, x.Last, x.Bytes, x.Whole, true
				}
			}
			if !p.Indexed {
				if p.Last, err = lastSeq(p.Path); err != nil {
					return nil, nil, err
				}
			}
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return a.N - b.N })
	for i, p := range parts {
		// A crash leaves the last out, and takeover puts it in.
		if _, ok := index[p.Name]; !ok && i < len(parts)-1 {
			damage = append(damage, fmt.Sprintf("%s: it does not know %s", filepath.Join(dir, IndexName), p.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(index)) {
		if !slices.ContainsFunc(parts, func(p Part) bool { return p.Name == name }) {
			damage = append(damage, filepath.Join(dir, name)+": the file is missing")
		}
	}
	return parts, damage, nil
}

// ReadIndex reads an index by the names of the parts, and what is wrong with it. It is nil if there is none.
func ReadIndex(path string) (index map[string]Part, damage []string) {
	b, err := disk.Read(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			damage = append(damage, path+": "+disk.Reason(err))
		}
		return nil, damage
	}
	index = make(map[string]Part)
	at := 0
	for line := range strings.Lines(string(b)) {
		var p Part
		err := json.Unmarshal([]byte(line), &p)
		if again, _ := json.Marshal(p); err != nil || p.Sum != p.sum() || string(again)+"\n" != line ||
			Number(p.Name) == 0 {
			damage = append(damage, fmt.Sprintf("%s: damaged at byte %d; the parts are read without it", path, at))
		} else {
			index[p.Name] = p
		}
		at += len(line)
	}
	return index, damage
}

func (p Part) sum() string {
	text := fmt.Sprint(p.Name, p.First, p.Last, p.Bytes, p.Whole)
	return string(snapshot.AppendHex(nil, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))))
}

// Retire moves a full file to the other parts in a folder, under the first name from the number of the part on
// that none has, and takes that number. No file is ever replaced.
func (p *Part) Retire(file, dir string) error {
	for ; ; p.N++ {
		p.Name = partName(p.N)
		p.Path = filepath.Join(dir, p.Name)
		if err := disk.RenameNew(file, p.Path); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// Enter adds a part to the index of its folder.
func (p Part) Enter(dir string) error { return p.appendTo(filepath.Join(dir, IndexName)) }

func (p Part) appendTo(path string) error {
	p.Sum = p.sum()
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := disk.Open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// RepairIndex writes an index again that is damaged, or has no part that a crash came after. What it says of
// parts that are not as it says stays: it is what is known of them.
func RepairIndex(dir string) error {
	parts, _, err := Parts(dir)
	if err != nil || len(parts) == 0 {
		return err
	}
	index, damage := ReadIndex(filepath.Join(dir, IndexName))
	whole := len(damage) == 0
	if index == nil {
		index = make(map[string]Part)
	}
	last := uint64(0)
	for _, p := range parts {
		if _, ok := index[p.Name]; !ok {
			whole = false
			st, err := os.Lstat(p.Path)
			if err != nil {
				return err
			}
			p.First, p.Bytes = last+1, st.Size()
			index[p.Name] = p
		}
		last = index[p.Name].Last
	}
	if whole {
		return nil
	}
	tmp := filepath.Join(dir, IndexName+".tmp")
	if err := disk.Remove(tmp); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(index))
	slices.SortFunc(names, func(a, b string) int { return Number(a) - Number(b) })
	for _, name := range names {
		if err := index[name].appendTo(tmp); err != nil {
			return err
		}
	}
	return os.Rename(tmp, filepath.Join(dir, IndexName))
}

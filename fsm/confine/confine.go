// Package confine has the words of a sandbox: what an action may read, write, reach and use. It enforces nothing.
package confine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The presets, from the weakest to the strongest.
const (
	Off       = "off"       // nothing is limited
	Offline   = "offline"   // no network
	Workspace = "workspace" // writes in the work tree, temporary folders and caches; secret places cannot be read
	// both, no caches, a private folder for temporary files, few variables; all of it has to be enforceable
	Strict = "strict"
)

// Presets are the names of the presets, from the weakest to the strongest.
var Presets = []string{Off, Offline, Workspace, Strict}

// What a network may be besides a list of HOST:PORT.
const (
	NetNone     = "none"
	NetLoopback = "loopback" // the machine itself
	NetAll      = "all"
)

// Private gives an action a folder of its own for temporary files, which is removed after it.
const Private = "private"

// A Policy is one sandbox as it is written: a preset, and what replaces parts of it. What is nil, 0 or "" is as the
// preset says; without a preset nothing but the rest is limited. Paths may begin with ~ or with a dot, which is
// the work tree.
type Policy struct {
	Preset  string
	Write   []string // these and what is below them may be changed
	Read    []string // these and what is below them may be read
	Deny    []string // these may neither be read nor changed, even if the rest says otherwise
	Network []string // one of the words, or HOST:PORT of those that may be reached
	Env     []string // names of the variables an action gets, besides those of loops; a * at the end stands for any end
	Memory  int64    // bytes
	CPUs    float64
	PIDs    int
	Tmp     string // private or shared
}

// Limits reports whether the policy limits anything.
func (p *Policy) Limits() bool {
	return p != nil && (p.Preset != "" && p.Preset != Off || p.Write != nil || p.Read != nil || p.Deny != nil ||
		p.Network != nil || p.Env != nil || p.Memory > 0 || p.CPUs > 0 || p.PIDs > 0 || p.Tmp == Private)
}

// Strength returns how strong a preset is; 0 = it limits nothing, or is none.
func Strength(preset string) int { return max(slices.Index(Presets, preset), 0) }

// Name returns what the sandbox of these layers is called: the strongest preset, or custom where none has one.
func Name(layers []*Policy) string {
	name := Off
	for _, p := range layers {
		switch {
		case Strength(p.Preset) > Strength(name):
			name = p.Preset
		case name == Off && p.Limits():
			name = "custom"
		}
	}
	return name
}

// Layers returns those of the policies that limit something, each once. What all of them allow is allowed.
func Layers(policies ...*Policy) []*Policy {
	var layers []*Policy
	for _, p := range policies {
		if p.Limits() && !slices.Contains(layers, p) {
			layers = append(layers, p)
		}
	}
	return layers
}

// Parse returns the policy of a preset's name.
func Parse(name string) (*Policy, error) {
	if !slices.Contains(Presets, name) {
		return nil, fmt.Errorf("%q is no sandbox; expected %s, %s, %s or %s", name, Off, Workspace, Offline, Strict)
	}
	return &Policy{Preset: name}, nil
}

// CheckNetwork returns what is wrong with the network of a policy.
func CheckNetwork(network []string) error {
	for _, one := range network {
		switch one {
		case NetNone, NetLoopback, NetAll:
			if len(network) > 1 {
				return fmt.Errorf("%s stands alone, without a list", one)
			}
			continue
		}
		if !isTarget(one) {
			return fmt.Errorf("%q is neither HOST:PORT nor %s, %s or %s", one, NetNone, NetLoopback, NetAll)
		}
	}
	return nil
}

// isTarget reports whether a text is HOST:PORT.
func isTarget(text string) bool {
	colon := max(strings.LastIndexByte(text, ':'), 0)
	host, port := text[:colon], strings.TrimPrefix(text[colon:], ":")
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= math.MaxUint16 && host != "" && !strings.ContainsAny(host, "/ @")
}

var units = []struct {
	name  string
	bytes float64
}{
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"K", 1 << 10},
	{"M", 1 << 20},
	{"G", 1 << 30},
	{"B", 1},
	{"", 1},
}

// leastMemory is less than any program needs.
const leastMemory = 1 << 20

// ParseSize reads a size such as 4GB, 512MiB or a number of bytes.
func ParseSize(text string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64); err == nil && n*u.bytes >= leastMemory &&
			n*u.bytes < math.MaxInt64 {
			return int64(n * u.bytes), nil
		}
	}
	return 0, fmt.Errorf("%q is no size of at least 1 MiB; expected one such as 4GB or 512MiB", text)
}

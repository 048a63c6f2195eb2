package expr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/itchyny/gojq"

	"loops/fsm/value"
)

// The bounds of one evaluation.
const (
	MostText   = 64 << 10 // bytes of a program
	MostInput  = 16 << 20 // bytes of a text that is read as JSON
	mostValues = 10_000   // that a program yields
	mostOutput = 4 << 20  // bytes of these, as JSON
	mostTime   = time.Second
	mostMemory = 256 << 20 // bytes by which this process grows
	lookAgain  = 2 * time.Millisecond
)

// A JqError says what is wrong with a program, and where in its text.
type JqError struct {
	Offset  int // in bytes
	Message string
}

func (e *JqError) Error() string { return e.Message }

// A Jq is a program that can be evaluated. It may be used by several goroutines at once.
type Jq struct {
	text string
	code *gojq.Code
}

var known sync.Map // of texts to *Program or *Error, of programs that a loop has

// CompileJq reads a program. An error is an [*Error].
func CompileJq(text string) (*Jq, error) {
	if p, ok := known.Load(text); ok {
		return p.(*Jq), nil
	}
	if len(text) > MostText {
		return nil, &JqError{0, fmt.Sprintf("the program has %d bytes, and at most %d are read", len(text), MostText)}
	}
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, explainJq(text, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, explainJq(text, err)
	}
	p := &Jq{text, code}
	known.Store(text, p)
	return p, nil
}

// explainJq turns an error of the library into one of ours.
func explainJq(text string, err error) *JqError {
	e := &JqError{0, err.Error()}
	if at, ok := errors.AsType[*gojq.ParseError](err); ok {
		e.Offset = min(max(at.Offset-len(at.Token), 0), len(text))
		if at.Token == "" {
			e.Message = "the program ends too early"
		}
		return e
	}
	// "function not defined: frist/0", "variable not defined: $x"
	if _, name, found := strings.Cut(e.Message, "not defined: "); found {
		name, _, _ = strings.Cut(name, "/")
		e.Offset = max(strings.Index(text, name), 0)
	}
	return e
}

// String is the text of the program.
func (p *Jq) String() string { return p.text }

// Eval returns the values that the program yields for a value of the language. An error is an [*Error].
func (p *Jq) Eval(input any) ([]any, error) {
	in, err := plainJq(input, 0)
	if err != nil {
		return nil, &JqError{0, err.Error()}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), mostTime,
		fmt.Errorf("the program did not end within %s", mostTime))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer guardMemory(stop)()
	var all []any
	size := 0
	for results := p.code.RunWithContext(ctx, in); ; {
		v, more := results.Next()
		if !more {
			return all, nil
		}
		if ctx.Err() != nil {
			return nil, &JqError{0, context.Cause(ctx).Error()}
		}
		if err, wrong := v.(error); wrong {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return all, nil
			}
			return nil, &JqError{0, value.Truncate(err.Error(), 300)}
		}
		out, bytes, err := oursOfJq(v, 0)
		if err != nil {
			return nil, &JqError{0, err.Error()}
		}
		if size += bytes; size > mostOutput || len(all) == mostValues {
			return nil, &JqError{0, fmt.Sprintf("the program yields more than %d values or %d MiB", mostValues,
				mostOutput>>20)}
		}
		all = append(all, out)
	}
}

// heap is how many bytes of memory this process uses for values.
const heap = "/memory/classes/heap/objects:bytes"

// guardMemory stops an evaluation that takes too much memory. It looks only at those that take long. What it
// returns ends it.
func guardMemory(stop context.CancelCauseFunc) func() {
	read := func() uint64 {
		s := []metrics.Sample{{Name: heap}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before := read()
	var timer *time.Timer
	var mu sync.Mutex
	over := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(lookAgain, func() {
		mu.Lock()
		defer mu.Unlock()
		switch now := read(); {
		case over:
		case now > before && now-before > mostMemory:
			stop(fmt.Errorf("the program takes more than %d MiB of memory", mostMemory>>20))
		default:
			timer.Reset(lookAgain)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}

// deepest is how deep values may be nested.
const deepest = 1000

var errDeep = errors.New("the value is nested too deep")

// plainJq turns a value of the language into one of the library.
func plainJq(v any, depth int) (any, error) {
	if depth > deepest {
		return nil, errDeep
	}
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case *value.Map:
		m := make(map[string]any, v.Len())
		for _, k := range v.Keys() {
			x, err := plainJq(v.Value(k), depth+1)
			if err != nil {
				return nil, err
			}
			m[k] = x
		}
		return m, nil
	case []any:
		l := make([]any, len(v))
		for i := range v {
			x, err := plainJq(v[i], depth+1)
			if err != nil {
				return nil, err
			}
			l[i] = x
		}
		return l, nil
	case nil, bool, string, int, float64, *big.Int:
		return v, nil
	}
	return value.Text(v), nil
}

// oursOfJq turns a value of the library into one of the language, the keys of an object in their order, and
// says about how long it is.
func oursOfJq(v any, depth int) (any, int, error) {
	if depth > deepest {
		return nil, 0, errDeep
	}
	switch v := v.(type) {
	case int:
		return int64(v), 8, nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), 8, nil // as jq prints it
		}
	case json.Number:
		x, err := value.ParseJSON([]byte(v))
		return x, len(v), err
	case string:
		return v, len(v) + 2, nil
	case map[string]any:
		m, size := value.NewMap(), 2
		names := make([]string, 0, len(v))
		for k := range v {
			names = append(names, k)
		}
		slices.Sort(names)
		for _, k := range names {
			x, n, err := oursOfJq(v[k], depth+1)
			if err != nil {
				return nil, 0, err
			}
			m.Set(k, x)
			size += n + len(k) + 4
		}
		return m, size, nil
	case []any:
		l, size := make([]any, len(v)), 2
		for i := range v {
			x, n, err := oursOfJq(v[i], depth+1)
			if err != nil {
				return nil, 0, err
			}
			l[i] = x
			size += n + 1
		}
		return l, size, nil
	}
	return v, 8, nil
}

// ReadJSON reads a text as JSON.
func ReadJSON(text string) (any, error) {
	if len(text) > MostInput {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read as JSON", len(text), MostInput)
	}
	return value.ParseJSON([]byte(text))
}

// JqText is how a value that a program yielded is written in a text: a text as it is, null as nothing, anything else as
// JSON.
func JqText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(value.AppendJSON(nil, v))
}

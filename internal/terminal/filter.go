package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"

	"github.com/itchyny/gojq"
)

// A Filter writes what it makes of one value.
type Filter func(ctx context.Context, v any, to io.Writer) error

// All filters the values that are read one after another, until the end or the first error. It reads to the end in any
// case, so that the writer is not held up.
func (f Filter) All(ctx context.Context, from io.Reader, to io.Writer) error {
	values := json.NewDecoder(from)
	values.UseNumber()
	for {
		var v any
		err := values.Decode(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(ctx, v, to)
		}
		if err != nil {
			_, _ = io.Copy(io.Discard, from) // its error would be reported by the writer
			return err
		}
	}
}

// Around calls run and filters what it writes, as it comes. It returns the errors of both. A filter that fails
// does not hold run up.
func (f Filter) Around(ctx context.Context, to io.Writer, run func(to io.Writer) error) (ran, filtered error) {
	from, in := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- f.All(ctx, from, to) }()
	ran = run(in)
	_ = in.Close() // it never fails
	return ran, <-over
}

// JQFilter returns the filter of a program of jq. A text that it yields is written as it is, and any other
// value as JSON, each on a line of its own. The program sees no environment and no files.
func JQFilter(program string) (Filter, error) {
	query, err := gojq.Parse(program)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, v any, to io.Writer) error {
		results := code.RunWithContext(ctx, numbers(v))
		for {
			result, more := results.Next()
			if !more {
				return nil
			}
			if err, bad := result.(error); bad {
				if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
					return nil
				}
				return err
			}
			line, ok := result.(string)
			if !ok {
				b, err := gojq.Marshal(result)
				if err != nil {
					return err
				}
				line = string(b)
			}
			if _, err := fmt.Fprintln(to, line); err != nil {
				return err
			}
		}
	}, nil
}

// numbers makes the numbers of JSON those of jq: whole ones keep all their digits. It changes v.
func numbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(string(x)); err == nil {
			return n
		}
		if n, ok := new(big.Int).SetString(string(x), 10); ok {
			return n
		}
		f, _ := x.Float64() // one that is too large is infinite
		return f
	case []any:
		for i := range x {
			x[i] = numbers(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = numbers(x[k])
		}
	}
	return v
}

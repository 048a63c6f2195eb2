package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// A YesNo asks its user questions that are answered with yes or no. It belongs to one goroutine.
type YesNo struct {
	In  io.Reader
	Err io.Writer

	lines chan string // of the user, once one was asked for
}

// CanAsk reports whether a user is there who can answer a question.
func CanAsk(in io.Reader, errs io.Writer) bool {
	_, shown := Terminal(errs)
	return shown && Interactive(in)
}

// Ask asks a question, and reports whether the answer is yes. Where no user can answer, the answer is no.
func (y *YesNo) Ask(ctx context.Context, question string) bool {
	line, _ := y.Line(ctx, question+" [y/N] ")
	return IsYes(line)
}

// Line asks a question, whose line ends are ours, and returns the line that the user types. It reports false
// where no user can answer, or the input or ctx ends.
func (y *YesNo) Line(ctx context.Context, question string) (line string, ok bool) {
	if !CanAsk(y.In, y.Err) {
		return "", false
	}
	Say(y.Err, "%s", Block(question))
	if y.lines == nil {
		y.lines = make(chan string)
		in := bufio.NewReader(y.In)
		go func() { // a user who ends the program instead leaves it behind
			for {
				line, err := in.ReadString('\n')
				y.lines <- line
				if err != nil {
					return
				}
			}
		}()
	}
	select {
	case line = <-y.lines:
		return strings.TrimSuffix(line, "\n"), strings.HasSuffix(line, "\n")
	case <-ctx.Done():
		fmt.Fprintln(y.Err)
	}
	return "", false
}

// IsYes reports whether a user means yes by a line: y or yes.
func IsYes(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}

package terminal

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ReadPassword asks a terminal for a password twice, and shows nothing of it. Of what is no terminal it reads a
// line, which may be empty.
func ReadPassword(in io.Reader, ask io.Writer) (string, error) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		Say(ask, "%s", prompt)
		b, err := term.ReadPassword(int(f.Fd()))
		Say(ask, "\n")
		if err != nil {
			return "", err
		}
		typed[i] = string(b)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two passwords differ")
	}
	return typed[0], nil
}

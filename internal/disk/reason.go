package disk

import (
	"errors"
	"os"
)

// Reason returns what an error says went wrong, without the operation and the path it went wrong for.
func Reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

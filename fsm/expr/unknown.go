package expr

import "loops/internal/humanize"

// UnknownReference says what is wrong with a reference whose namespace does not exist, to users: that another
// one is meant, or none.
func UnknownReference(ref, namespace string) string {
	near := ""
	if isName(namespace) { // as the operators of bash are not
		near = humanize.Nearest(namespace, Namespaces())
	}
	inner := humanize.Clip(ref[2 : len(ref)-1])
	if near == "" {
		return "${" + inner + "} is not a template; for bash write $${" + inner + "}"
	}
	return humanize.Quote(namespace) + " is not something templates know; did you mean " + humanize.Quote(near) +
		"? For bash write $${" + inner + "}"
}

// isName reports whether a text could be the name of a variable.
func isName(s string) bool {
	for i, c := range []byte(s) {
		if !isLetter(c) && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

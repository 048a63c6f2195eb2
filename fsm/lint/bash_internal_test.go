package lint

import (
	"strings"
	"testing"
)

// TestScan checks how each ${a.b} and $$ of a script occurs: bare, as a Command, in "double" or 'single' quotes, in a
// Heredoc that bash expands or a Literal one, in a #comment, in arithmetic +; inside the text after -c or -e with an i.
// The $$ that bash never reads need no mark.
func TestScan(t *testing.T) {
	t.Parallel()
	letters := map[quoting]string{
		bare: "b", double: "d", single: "s", heredoc: "H", literal: "L", comment: "#",
		arith: "+",
	}
	tests := []struct{ script, want string }{
		{`${a.b}`, "C"},
		{`echo ${a.b}`, "b"},
		{`echo "${a.b}" ${a.b}`, "d b"},
		{`echo '${a.b}' ${a.b}`, "s b"},
		{`echo \'${a.b} \"${a.b}`, "b b"},
		{`echo "\"${a.b}"`, "d"},
		{`echo "it's ${a.b}" '"'${a.b}`, "d b"},
		{`echo $'it\'s ${a.b}' ${a.b}`, "s b"},
		{`echo "$'${a.b}'"`, "d"},
		{`x=${a.b}; ${a.b} | ${a.b} && ${a.b} || ${a.b}`, "b C C C C"},
		{`if ${a.b}; then ${a.b} ${a.b}; else ${a.b}; fi`, "C C b C"},
		{`x=$(${a.b} ${a.b}) "$(${a.b})" ${a.b}`, "C b C b"},
		{"x=`${a.b} \"${a.b}\"` ${a.b}", "C d b"},
		{"echo \"`echo ${a.b}`${a.b}\"", "b d"},
		{`(${a.b}) (echo (${a.b}) ${a.b})`, "C C b"},
		{`echo $((${a.b} + (${a.b}))) ${a.b}`, "+ + b"},
		{`echo $((1 << 2)) ${a.b}`, "b"},
		{`echo "$((1 + ${a.b})) ${a.b}"`, "+ d"},
		{`echo # ${a.b}` + "\n" + `${a.b}`, "# C"},
		{`echo a#${a.b} $# ${a.b}`, "b b"},
		{`echo "# ${a.b}"`, "d"},
		{`echo $${x:-${a.b}} "$${x:-${a.b}}" "$${x:-"${a.b}"}" $${x:-'${a.b}'} ${a.b}`, "b d d s b"},
		{"cat <<E\n${a.b}\nE\necho ${a.b}", "H b"},
		{"cat <<'E'\n${a.b} \"\nE\necho ${a.b}", "L b"},
		{"cat <<\"E\" ${a.b}\n${a.b}\nE", "b L"},
		{"cat <<\\E\n${a.b}\nE\n", "L"},
		{"cat <<-E\n\t${a.b}\n\tE\n${a.b}", "H C"},
		{"cat <<E\n ${a.b}\n E\n${a.b}", "H H"},
		{"cat <<E <<'F'\n${a.b}\nE\n${a.b}\nF\necho ${a.b}", "H L b"},
		{"cat << 'E' | sort\n${a.b}\nE\n", "L"},
		{"x=$(cat <<'E'\n${a.b} )\nE\n) ${a.b}", "L b"},
		{"cat <<< ${a.b}\n${a.b}", "b C"},
		{"x=$(case y in (a) ${a.b};; b) echo '${a.b}';; esac) \"${a.b}\"", "C s d"},
		{"x=\"$(grep case y) ${a.b}\"", "d"},
		{`python3 -c "${a.b}" '${a.b}' ${a.b}`, "di s b"},
		{`perl -ne '${a.b}' "${a.b}"`, "si d"},
		{`sh --c "${a.b}" -c"${a.b}"`, "d d"},
		{`echo $$ "$$" '$$' $$x`, "$b $d $b"},
		{"cat <<E\n$$ '$$'\nE\ncat <<'E'\n$$\nE\n", "$H $H"},
		{`awk '{print $$1 ${a.b}}'`, "s"},
		{`echo ")" ')' ${a.b} ) ${a.b}`, "b C"},
		{`"${a.b}`, "d"},
		{`'${a.b}`, "s"},
		{"`${a.b}", "C"},
		{`$(${a.b}`, "C"},
		{`$((${a.b}`, "+"},
		{"<<E\n${a.b}", "H"},
		{`\`, ""},
	}
	for _, tt := range tests {
		var got []string
		for _, m := range scan(tt.script, references(tt.script)) {
			s := letters[m.quoting]
			if m.command {
				s = "C"
			}
			if m.ref == nil {
				s = "$" + s
			} else if tt.script[m.offset:m.offset+len(m.ref.Text)] != m.ref.Text {
				t.Errorf("%s: the mark at %d is %s", tt.script, m.offset, m.ref.Text)
			}
			if m.inline {
				s += "i"
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.script, strings.Join(got, " "), tt.want)
		}
	}
}

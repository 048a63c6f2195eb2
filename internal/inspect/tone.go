package inspect

// A Tone is how a verdict is coloured.
type Tone int

// The tones.
const (
	Neutral Tone = iota // it only chooses a route: no, partial, a word of the loop
	Success
	Failure
)

// ToneOf returns the tone of a verdict.
func ToneOf(verdict string) Tone {
	switch verdict {
	case "yes", "success", "target", "progress":
		return Success
	case "error", "blocked", "stall", "timeout": // an ordinary no is no failure
		return Failure
	}
	return Neutral
}

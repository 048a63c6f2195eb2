package process

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestStartSinceBoot: a live owner was taken for dead when the wall clock had been set by more than two seconds
// since it was recorded. So the start is what the kernel counts from the start of the machine, to the tick.
func TestStartSinceBoot(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	if want := strings.Fields(rest)[22-3] + "0"; fmt.Sprint(self.StartMS) != want {
		t.Errorf("StartMS = %d, want %s", self.StartMS, want)
	}
	self.StartMS += 1000 / ticksPerSecond
	if alive, known := self.Alive(); alive || !known {
		t.Errorf("with another start by a tick: Alive() = %v, %v, want false, true", alive, known)
	}
}

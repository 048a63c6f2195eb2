package cli

import (
	"testing"

	"loops/internal/humanize"
)

func TestParseBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 10189: "10 KiB", 1 << 20: "1.0 MiB",
		1<<20 - 1: "1.0 MiB",
		20 << 20:  "20 MiB", 5 << 30: "5.0 GiB", 3 << 40: "3.0 TiB", 5000 << 40: "5000 TiB",
	} {
		if got := humanize.Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for s, want := range map[string]int64{
		"0": 0, "512": 512, "512B": 512, "1K": 1024, "1k": 1024, "1KiB": 1024, "1.5M": 3 << 19, "2G": 2 << 30,
		"2GB": 2 << 30, "1T": 1 << 40,
		"": -1, "G": -1, "-1": -1, "2X": -1, "2 G": -1, "1e3": -1, "Inf": -1, "NaN": -1, "0x10": -1,
		"9999999999999T": -1, "2MG": -1, "1.2.3": -1,
	} {
		got, err := parseBytes("--max-size", s, "x")
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d (%v)", s, got, want, err)
		}
	}
}

package agent

import (
	"fmt"
	"testing"
)

// TestLimits: the last report of each limit of the account is in the outcome.
func TestLimits(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		`{"status":"allowed","resetsAt":1767225600,"rateLimitType":"five_hour"}`:                            "five_hour -1 5h0m0s 1767225600",
		`{"status":"allowed_warning","resetsAt":1767225600,"rateLimitType":"seven_day","utilization":0.75}`: "seven_day 0.75 168h0m0s 1767225600",
		`{"status":"rejected","resetsAt":1767225600,"rateLimitType":"seven_day_opus","utilization":0.75}`:   "seven_day_opus 1 168h0m0s 1767225600",
		`{"status":"allowed_warning","resetsAt":1767225600,"rateLimitType":"overage","utilization":7}`:      "overage -1 0s 1767225600",
		`{"status":"allowed","resetsAt":1e300,"rateLimitType":"five_hour"}`:                                 "",
		`{"status":"allowed","rateLimitType":"five_hour"}`:                                                  "",
		`{"status":"allowed","resetsAt":1767225600}`:                                                        "",
		`{"status":"allowed","resetsAt":1767225600,"rateLimitType":"five_hour","utilization":"much"}`:       "",
	} {
		s := claude.Stream(Request{})
		before := `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1,"rateLimitType":"first"}}`
		for _, line := range []string{
			before, `{"type":"rate_limit_event","rate_limit_info":` + info + `}`,
			`{"type":"result","subtype":"success","result":"done"}`,
		} {
			s.Line([]byte(line))
		}
		got := ""
		for _, l := range s.End(Exit{}).Limits[1:] {
			got += fmt.Sprintf("%s %g %s %d", l.Name, l.Used, l.Length, l.Resets.Unix())
		}
		if got != want {
			t.Errorf("%s: %q, want %q", info, got, want)
		}
	}
}

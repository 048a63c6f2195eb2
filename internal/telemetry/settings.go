package telemetry

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"loops/internal/config"
)

// Settings say where telemetry goes. The variables are those of OpenTelemetry.
type Settings struct {
	Traces, Metrics Endpoint

	Service  string
	Resource []Attr
	Content  bool          // with the texts of prompts and answers
	Interval time.Duration // between two requests with metrics
}

// usualInterval is that of OpenTelemetry.
const usualInterval = time.Minute

// SettingsOf returns what the environment and the settings of a project say. The environment wins.
func SettingsOf(c config.Telemetry, getenv func(string) (string, bool)) Settings {
	env := func(names ...string) string {
		for _, name := range names {
			if v, _ := getenv(name); v != "" {
				return v
			}
		}
		return ""
	}
	s := Settings{
		Content: c.Content == "true", Service: "loops",
		Interval: milliseconds(env("OTEL_METRIC_EXPORT_INTERVAL"), usualInterval),
	}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return s
	}
	s.Traces, s.Metrics = endpointOf("TRACES", c.Endpoint, env), endpointOf("METRICS", c.Endpoint, env)
	for _, kv := range pairs(env("OTEL_RESOURCE_ATTRIBUTES")) {
		if kv[0] == "service.name" {
			s.Service = kv[1]
			continue
		}
		s.Resource = append(s.Resource, Attr{kv[0], kv[1]})
	}
	s.Service = cmp.Or(env("OTEL_SERVICE_NAME"), s.Service)
	return s
}

// endpointOf returns where traces or metrics go; base is what the settings of the project say.
func endpointOf(signal, base string, env func(...string) string) (e Endpoint) {
	if env("OTEL_"+signal+"_EXPORTER") == "none" {
		return e
	}
	at := "OTEL_EXPORTER_OTLP_"
	if e.URL = env(at + signal + "_ENDPOINT"); e.URL == "" {
		if base = cmp.Or(env(at+"ENDPOINT"), base); base != "" {
			e.URL = strings.TrimSuffix(base, "/") + "/v1/" + strings.ToLower(signal)
		}
	}
	if u, err := url.Parse(e.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Endpoint{}
	}
	e.Timeout = milliseconds(env(at+signal+"_TIMEOUT", at+"TIMEOUT"), 10*time.Second)
	e.Headers = pairs(env(at+signal+"_HEADERS", at+"HEADERS"))
	return e
}

// milliseconds reads a time; usual = it is none.
func milliseconds(text string, usual time.Duration) time.Duration {
	if ms, err := strconv.Atoi(text); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return usual
}

// pairs reads names and values: a=1,b=2, with values as in an URL.
func pairs(text string) (all [][2]string) {
	for one := range strings.SplitSeq(text, ",") {
		name, v, ok := strings.Cut(one, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		v = strings.TrimSpace(v)
		if plain, err := url.PathUnescape(v); err == nil {
			v = plain
		}
		all = append(all, [2]string{name, v})
	}
	return all
}

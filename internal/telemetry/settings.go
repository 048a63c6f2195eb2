package telemetry

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"loops/internal/config"
)

// Settings say where traces go. The variables are those of OpenTelemetry.
type Settings struct {
	URL      string // with /v1/traces; "" = nothing is sent
	Headers  [][2]string
	Timeout  time.Duration // of one request
	Service  string
	Resource []Attr
	Content  bool // with the texts of prompts and answers
}

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
	s := Settings{Timeout: 10 * time.Second, Content: c.Content == "true"}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" {
		return s
	}
	if s.URL = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); s.URL == "" {
		if base := cmp.Or(env("OTEL_EXPORTER_OTLP_ENDPOINT"), c.Endpoint); base != "" {
			s.URL = strings.TrimSuffix(base, "/") + "/v1/traces"
		}
	}
	if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		s.URL = ""
		return s
	}
	if ms, err := strconv.Atoi(env("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")); err == nil && ms > 0 {
		s.Timeout = time.Duration(ms) * time.Millisecond
	}
	s.Headers = pairs(env("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"))
	s.Service = "loops"
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

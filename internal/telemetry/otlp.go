package telemetry

import (
	"encoding/json"
	"strconv"
	"time"
)

// What follows is the JSON of OTLP 1.

type otlpTraces struct {
	Resources []otlpResourceSpans `json:"resourceSpans"`
}

type otlpResourceSpans struct {
	Resource struct {
		Attributes []otlpAttr `json:"attributes"`
	} `json:"resource"`
	Scopes []otlpScopeSpans `json:"scopeSpans"`
}

type otlpScopeSpans struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpSpan struct {
	TraceID    TraceID    `json:"traceId"`
	SpanID     string     `json:"spanId"`
	Parent     string     `json:"parentSpanId,omitempty"`
	Name       string     `json:"name"`
	Kind       int        `json:"kind"` // 1 internal, 3 client
	Start      string     `json:"startTimeUnixNano"`
	End        string     `json:"endTimeUnixNano"`
	Attributes []otlpAttr `json:"attributes,omitempty"`
	Links      []otlpLink `json:"links,omitempty"`
	Status     otlpStatus `json:"status"`
}

type otlpLink struct {
	TraceID TraceID `json:"traceId"`
	SpanID  string  `json:"spanId"`
}

type otlpStatus struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"` // 0 unset, 2 error
}

type otlpAttr struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

type otlpValue struct {
	String *string  `json:"stringValue,omitempty"`
	Int    string   `json:"intValue,omitempty"`
	Double *float64 `json:"doubleValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
}

func otlpAttrs(attrs []Attr) (all []otlpAttr) {
	for _, a := range attrs {
		o := otlpAttr{Key: a.Key}
		switch v := a.Value.(type) {
		case string:
			o.Value.String = &v
		case int64:
			o.Value.Int = strconv.FormatInt(v, 10)
		case float64:
			o.Value.Double = &v
		case bool:
			o.Value.Bool = &v
		}
		all = append(all, o)
	}
	return all
}

// body returns spans as a request has them.
func (s *Settings) body(spans []Span) ([]byte, error) {
	var r otlpResourceSpans
	r.Resource.Attributes = otlpAttrs(append([]Attr{{"service.name", s.Service}}, s.Resource...))
	scope := otlpScopeSpans{Spans: make([]otlpSpan, len(spans))}
	scope.Scope.Name = "loops"
	for i, one := range spans {
		o := otlpSpan{
			TraceID: one.Trace, SpanID: one.ID, Parent: one.Parent, Name: one.Name, Kind: 1, Start: nanos(one.Begin), End: nanos(one.End),
			Attributes: otlpAttrs(one.Attrs),
		}
		if one.Client {
			o.Kind = 3
		}
		if one.Failed != "" {
			o.Status = otlpStatus{one.Failed, 2}
		}
		for _, l := range one.Links {
			o.Links = append(o.Links, otlpLink{l.Trace, l.Span})
		}
		scope.Spans[i] = o
	}
	r.Scopes = []otlpScopeSpans{scope}
	return json.Marshal(otlpTraces{[]otlpResourceSpans{r}})
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

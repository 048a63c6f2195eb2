package fsm

import (
	"cmp"
	"fmt"
	"strings"

	"loops/fsm/value"
)

// previewAnswer is how much of what a judge printed is in the details of a verdict error.
const previewAnswer = 300

// An oddAnswer is an answer that cannot even be a verdict error: an exception in the sense of the language (D11).
type oddAnswer struct{ text string }

func (e *oddAnswer) Error() string { return e.text }

func odd(format string, args ...any) error { return &oddAnswer{fmt.Sprintf(format, args...)} }

// judgement reads the result of asking a judge: its answer, or the verdict where it gave none that can be used. The
// error is an [*oddAnswer].
func judgement(res *Result) (payload *value.Map, failed *Verdict, err error) {
	r := res.Reply
	if r == nil {
		r = &Reply{}
	}
	fail := func(text string, details ...any) (*value.Map, *Verdict, error) {
		v := errorVerdict(append([]any{"error", text}, details...)...)
		if r.Failure != "" {
			v.Details.Set("failure", string(r.Failure))
		}
		return nil, &v, nil
	}
	who := "the judge"
	if r.Host != "" {
		who += " (" + r.Host + ")"
	}
	why := cmp.Or(r.Reason, strings.TrimSpace(value.Truncate(res.Stderr, 200)),
		fmt.Sprintf("exit code %d", res.ExitCode))
	switch {
	case res.TimeoutKind != "" || r.Failure == FailTimeout:
		return fail(who+" did not answer in time", "timeout", true)
	case r.Failure == FailMissing:
		return fail(who+" cannot be asked: "+why, "missing_dependency", true)
	case r.Failure == FailSchema || r.Failure == FailTruncated:
		if res.ExitCode == 0 || res.ExitCode == 1 { // else the exit code says more
			return salvage(r, who, why, fail)
		}
	case r.Failure == "" && res.ExitCode == 0:
		switch a := r.Answer.(type) {
		case *value.Map:
			return a, nil, nil
		case nil:
			return fail(who+" gave an empty answer", "raw_preview", value.Truncate(r.Raw, previewAnswer))
		default:
			return nil, nil, odd("%s answered with %s, and not with an object", who,
				value.Truncate(value.Repr(a), previewAnswer))
		}
	}
	return fail(who+" failed: "+why, "api_error", true)
}

// salvage reads what a judge printed that gave no answer in the way of its host.
func salvage(r *Reply, who, why string, fail func(string, ...any) (*value.Map, *Verdict, error)) (*value.Map,
	*Verdict, error,
) {
	if value.TrimSpace(r.Raw) == "" {
		return fail(who+" printed nothing: "+why, "empty_output", true)
	}
	v, err := value.ParseJSON([]byte(r.Raw))
	if err != nil {
		lines := strings.Split(strings.TrimRightFunc(r.Raw, value.IsSpace), "\n")
		v, err = value.ParseJSON([]byte(lines[len(lines)-1]))
	}
	envelope, ok := v.(*value.Map)
	switch {
	case err != nil:
		return fail(who+" answered what is no verdict: "+why, "raw_preview", value.Truncate(r.Raw, previewAnswer))
	case !ok:
		return nil, nil, odd("%s printed %s, and not an object", who, value.Truncate(value.Repr(v), previewAnswer))
	case r.Answer == nil && value.Truthy(envelope.Value("verdict")):
		return envelope, nil, nil
	case envelope.Value("subtype") == "error_max_structured_output_retries":
		return fail(who+" failed: "+why, "api_error", true)
	}
	return fail(who+" gave no answer that can be used: "+why, "raw_preview", value.Truncate(r.Raw, previewAnswer))
}

// confidenceOf is how sure a judge says it is; 1 where it says nothing.
func confidenceOf(payload *value.Map) (float64, error) {
	v, ok := payload.Get("confidence")
	if !ok {
		return 1, nil
	}
	switch v := v.(type) {
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case nil, *value.Map, []any:
	default:
		if f, ok := value.ParseFloat(value.TrimSpace(value.Text(v))); ok {
			return f, nil
		}
	}
	return 0, odd("the judge's confidence is %s, which is not a number", value.Truncate(value.Repr(v), previewAnswer))
}

// textOf is a text of an answer; "" where there is none.
func textOf(payload *value.Map, key string) any {
	if v, ok := payload.Get(key); ok && v != nil {
		return v
	}
	return ""
}

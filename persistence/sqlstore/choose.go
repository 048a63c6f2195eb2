package sqlstore

import (
	"context"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// How many rows are asked for together where a filter may reject some: few at first, because the newest may be enough.
const (
	fewChosen  = 64
	manyChosen = 2048
)

// What the record of a run has that completed and was not merged.
const (
	mergeConflict = `"merge": "` + fsm.MergeConflict + `"`
	mergeRefused  = `"merge": "` + fsm.MergeRefused + `"`
)

// narrowed is the part of a filter that the database decides: it keeps all rows that the filter selects, and
// perhaps others.
func narrowed(f persistence.Filter) (where string, args []any) {
	among := func(column string, words []string) {
		where += ` AND ` + column + ` IN (?` + strings.Repeat(`, ?`, len(words)-1) + `)`
		for _, w := range words {
			args = append(args, w)
		}
	}
	if f.Unmerged {
		where += ` AND ({place}(r.about, ?) > 0 OR {place}(r.about, ?) > 0`
		args = append(args, mergeConflict, mergeRefused)
		for _, s := range f.Statuses {
			where, args = where+` OR r.status = ?`, append(args, string(s))
		}
		where += `)`
	} else if len(f.Statuses) > 0 {
		var words []string
		for _, s := range f.Statuses {
			words = append(words, string(s))
		}
		among(`r.status`, words)
	}
	if len(f.Ends) > 0 { // the record has the key only where something ended the run
		where += ` AND (1 = 0`
		for _, e := range f.Ends {
			if e == "" {
				where += ` OR {place}(r.about, '"ended":') = 0`
				continue
			}
			where, args = where+` OR {place}(r.about, ?) > 0`,
				append(args, strings.Trim(string(value.AppendJSON(nil, value.NewMap("ended", e))), "{}"))
		}
		where += `)`
	}
	if loops := slices.DeleteFunc(slices.Clone(f.Loops), func(l string) bool { return !legible(l) }); len(f.Loops) > 0 {
		if len(loops) == 0 {
			return ` AND 1 = 0`, nil
		}
		among(`r.loop`, loops)
	}
	if !f.Since.IsZero() { // the record has milliseconds
		where, args = where+` AND (r.started_at >= ? OR r.updated_at >= ?)`,
			append(args, f.Since.UnixMicro(), f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		where, args = where+` AND r.started_at <= ?`, append(args, f.Until.UnixMicro())
	}
	if text := f.Text; text != "" && !strings.ContainsFunc(text, escaped) {
		where, args = where+
			` AND ({place}(lower(r.about), ?) > 0 OR {place}(lower(r.id), ?) > 0 OR {place}(lower(r.loop), ?) > 0)`,
			append(args, strings.ToLower(text), strings.ToLower(text), strings.ToLower(text))
	}
	return where, args
}

// escaped reports whether JSON may write a character in another way, or the database and Go differ about its case.
func escaped(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }

// choose reads the rows of a query with a filter, page by page, until there are as many as are wanted.
func (s *Store) choose(ctx context.Context, q persistence.Query, where string, args []any) (chosen []*row, err error) {
	skip, size := q.Skip, fewChosen
	if q.Limit == 0 {
		size = manyChosen
	}
	behind, last := "", []any(nil)
	for {
		rows, err := s.rows(ctx, s.read, where+behind+` ORDER BY r.run_id DESC, r.started_at DESC, r.id DESC LIMIT ?`,
			append(append(slices.Clip(args), last...), size)...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			switch {
			case !q.Matches(r.Run):
			case skip > 0:
				skip--
			default:
				chosen = append(chosen, r)
			}
			if q.Limit > 0 && len(chosen) == q.Limit {
				return chosen, nil
			}
		}
		if len(rows) < size || q.Enough != nil && q.Enough() {
			return chosen, nil
		}
		end := rows[len(rows)-1]
		behind, last = older, []any{end.RunID, end.StartedAt.UnixMicro(), string(end.ID)}
		size = min(2*size, manyChosen)
	}
}

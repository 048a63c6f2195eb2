// Package value holds the values of the loop language, and compares, writes and reads them.
//
// A value is one of nil, bool, int64, [*math/big.Int], float64, string, []any and [*Map]. Where a value comes
// from Go code, int and []string are read as int64 and []any.
//
// Loop files and the history of runs are older than this program. So text, numbers and truth follow Python:
// [Text] and [Repr] print True, None and 2.0, [Equal] holds between 1, 1.0 and true, and [ParseFloat] reads 1_000.
package value

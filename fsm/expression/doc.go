// Package expression evaluates the expressions of loop files: what set, evaluate: {type: expression} and the when of a route
// say. They are those of expr-lang (https://expr-lang.org/docs/language-definition) over the names that templates have, with four
// differences:
//
//   - Two texts are compared and joined as texts. A text and a number are numbers if the text is exactly one. The functions of lists and
//     in have the same rule.
//   - An integer divided by another one is an integer where nothing is left over.
//   - What has no value is null, and so is each member of it and an item behind the end of a list. Null is neither a number nor true.
//   - There is no clock, and nothing that outlives an evaluation.
//
// An evaluation is bounded in time and memory. It sees no disk and no process.
package expression

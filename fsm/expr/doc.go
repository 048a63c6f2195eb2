// Package expr evaluates what stands inside the texts of loop files: references, expressions, jq programs and
// tables of rules. Each evaluation sees its scope or input alone, no disk and no process; expressions and programs are
// bounded in time and memory.
//
// # Templates
//
// [Expand] puts values in place of the references of a text: ${context.name}, with filters and fallbacks.
//
// # Expressions
//
// Expressions are what set, evaluate: {type: expression} and the when of a route say. They are those of
// expr-lang (https://expr-lang.org/docs/language-definition) over the names that templates have, with four
// differences:
//
//   - Two texts are compared and joined as texts. A text and a number are numbers if the text is exactly one.
//     The functions of lists and in have the same rule.
//   - An integer divided by another one is an integer where nothing is left over.
//   - What has no value is null, and so is each member of it and an item after the end of a list. Null is
//     neither a number nor true.
//   - There is no clock, and nothing that outlives an evaluation.
//
// # jq
//
// [CompileJq] reads a program of the language jq (https://jqlang.org/manual). A program sees its input and
// nothing else: no file, no environment, no other module. Nothing is made ready before the first program is
// read.
package expr

// Package mask keeps secrets off the record. A [Masker] replaces each secret in a text by a placeholder, as
// ***(GITHUB_TOKEN), and puts it back where an action has to see it.
//
// What is secret is the value of a name that was declared, and a text that has the shape of a token. A value is
// found in the forms in which programs print it: as it is, in JSON, in an address, in base64 and in hexadecimal
// digits.
package mask

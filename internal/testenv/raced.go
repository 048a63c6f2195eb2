//go:build race

package testenv

// Raced reports whether the test runs under the race detector, which makes what it does five to twenty times
// slower: a test that is about size does less then.
const Raced = true

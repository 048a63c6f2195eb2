// Package ui is how loops writes for people and for programs: sentences in which the texts of others are harmless, styles,
// JSON, and a run while it is carried. It writes only to what it is handed, and decides nothing.
package ui

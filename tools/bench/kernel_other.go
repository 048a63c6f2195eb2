//go:build !linux

package main

func kernel() string { return "unknown" }

package main

import "github.com/dustin/go-humanize"

// count writes a number of operations for people: 100,000.
func count(n int64) string { return humanize.Comma(n) }

package main

import (
	"time"

	"github.com/dustin/go-humanize"
)

// count writes a number of operations for people: 100,000.
func count(n int64) string { return humanize.Comma(n) }

// latency writes nanoseconds for people, with a fitting unit and about three digits: 1.23ms.
func latency(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Second; unit > time.Nanosecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

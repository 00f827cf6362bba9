package result

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// figure writes a number for people with about three significant digits, and never a value above zero as zero: 0.00412, 0.412, 4.12,
// 41.2, 412, 4,123.
func figure(v float64) string {
	switch size := math.Abs(v); {
	case v == 0:
		return "0"
	case size >= 99.95:
		return humanize.Comma(int64(math.Round(v)))
	case size >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		// Three significant digits, without an exponent.
		decimals := 2 - int(math.Floor(math.Log10(size)))
		return strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0")
	}
}

// A unit is what a latency is shown in.
type unit struct {
	name string
	ns   float64
}

var units = []unit{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}}

// unitFor returns the largest unit in which the least latency of a table is at least 1, so that a table has one unit and none of its
// figures is a fraction that rounds away. A table of nothing is in milliseconds.
func unitFor(least float64) unit {
	if math.IsInf(least, 1) {
		return unit{"ms", 1e6}
	}
	for _, u := range units {
		if least >= u.ns {
			return u
		}
	}
	return unit{"ns", 1}
}

// larger returns the next larger unit.
func (u unit) larger() (unit, bool) {
	for i, other := range units {
		if other == u && i > 0 {
			return units[i-1], true
		}
	}
	return unit{}, false
}

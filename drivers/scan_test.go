package drivers

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlansAreCutBetweenCharacters(t *testing.T) {
	for _, test := range []struct {
		plan string
		want int // bytes
	}{
		{"", 0},
		{"SCAN record", 11},
		{strings.Repeat("x", MaxPlan), MaxPlan},
		{strings.Repeat("x", MaxPlan-1) + "é", MaxPlan - 1},
		{strings.Repeat("€", MaxPlan), MaxPlan / 3 * 3},
		{"a\xffb", 2},
	} {
		if got := CutPlan(test.plan); len(got) != test.want || !utf8.ValidString(got) {
			t.Errorf("%.20q…: %d bytes, valid: %t, want %d", test.plan, len(got), utf8.ValidString(got), test.want)
		}
	}
}

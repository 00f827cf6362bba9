package spec

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestCountReadsWhatPeopleWrite(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "100000": 100_000, "100_000": 100_000, "100k": 100_000, "100K": 100_000, "1M": 1_000_000, "2G": 2_000_000_000,
		"1_000k": 1_000_000, "5000000000": 5_000_000_000, "9223372036854775807": math.MaxInt64,
	} {
		if n, err := ParseCount(text); err != nil || n != want {
			t.Errorf("%q is %d (%v), want %d", text, n, err, want)
		}
	}
}

func TestCountRefusesTheRest(t *testing.T) {
	for _, text := range []string{
		"", "k", "-1", "+1", "1.5", "1.5k", "1e6", "_1", "1_", "1__0", "_", "0x10", " 1", "1 ", "1kk", "ten",
		"1m",                   // a thousandth elsewhere
		"9223372036854775808",  // one past 64 bits
		"9223372036854775807k", // would wrap round
		"10000000000G",
	} {
		if n, err := ParseCount(text); err == nil {
			t.Errorf("%q is %d, want an error", text, n)
		}
	}
}

func TestCountSurvivesUnderscoresAndSuffixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64/1_000_000_000).Draw(t, "n")
		for suffix, factor := range map[string]int64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9} {
			text := grouped(n) + suffix
			if got, err := ParseCount(text); err != nil || got != n*factor {
				t.Fatalf("%q is %d (%v), want %d", text, got, err, n*factor)
			}
		}
	})
}

// grouped writes n with an underscore between groups of three digits.
func grouped(n int64) string {
	if n < 1000 {
		return string(appendDigits(nil, n, 1))
	}
	return grouped(n/1000) + "_" + string(appendDigits(nil, n%1000, 3))
}

func appendDigits(dst []byte, n int64, width int) []byte {
	if n >= 10 || width > 1 {
		dst = appendDigits(dst, n/10, width-1)
	}
	return append(dst, byte('0'+n%10))
}

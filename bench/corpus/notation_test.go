package corpus

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDecimalNotation(t *testing.T) {
	tests := []struct {
		text  string
		units int64
		err   string
	}{
		{"0", 0, ""},
		{"-0", 0, ""},
		{"12", 120000, ""},
		{"+12.3", 123000, ""},
		{"-.5", -5000, ""},
		{"5.", 50000, ""},
		{"0.0001", 1, ""},
		{"1.23450000", 12345, ""},
		{"000000000000000000000000001", 10000, ""},
		{"922337203685477.5807", math.MaxInt64, ""},
		{"-922337203685477.5808", math.MinInt64, ""},
		{"922337203685477.5808", 0, "is too large for a decimal"},
		{"-922337203685477.5809", 0, "is too small for a decimal"},
		{"99999999999999999999999", 0, "is too large for a decimal"},
		{"1844674407370955.1616", 0, "is too large for a decimal"},
		{"1.00001", 0, "has more than 4 decimal places"},
		{"", 0, "is not a decimal number"},
		{"-", 0, "is not a decimal number"},
		{".", 0, "is not a decimal number"},
		{"1.2.3", 0, "is not a decimal number"},
		{"1e3", 0, "is not a decimal number"},
		{" 1", 0, "is not a decimal number"},
	}
	for _, test := range tests {
		units, err := ParseDecimal([]byte(test.text))
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: %d, %v, want an error with %q", test.text, units, err, test.err)
			}
			continue
		}
		if err != nil || units != test.units {
			t.Errorf("%q: %d, %v, want %d", test.text, units, err, test.units)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64().Draw(t, "units")
		text := AppendDecimal(nil, want)
		if got, err := ParseDecimal(text); got != want || err != nil {
			t.Fatalf("%d is written as %s and read as %d, %v", want, text, got, err)
		}
	})
}

func TestUUIDNotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		text := AppendUUID(nil, id)
		if got, err := ParseUUID(text); got != id || err != nil {
			t.Fatalf("%x is written as %s and read as %x, %v", id, text, got, err)
		}
	})
	for _, bad := range []string{
		"", "018bcfe5-6800-7000-8000-00000000000", "018bcfe5-6800-7000-8000-0000000000000", "018bcfe5:6800-7000-8000-000000000000",
		"018bcfe5-6800-7000-8000-00000000000g", "018bcfe56-800-7000-8000-000000000000",
	} {
		if id, err := ParseUUID([]byte(bad)); err == nil {
			t.Errorf("%q is read as %x", bad, id)
		}
	}
}

package corpus

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
)

// decimalPlaces is the scale of every Decimal, decimalUnit its unit's reciprocal.
const (
	decimalPlaces = 4
	decimalUnit   = 10_000
)

// AppendDecimal appends a decimal of so many units of 10⁻⁴ with all four places, e.g. "12.3400".
func AppendDecimal(dst []byte, units int64) []byte {
	magnitude := uint64(units)
	if units < 0 {
		dst, magnitude = append(dst, '-'), -magnitude
	}
	dst = strconv.AppendUint(dst, magnitude/decimalUnit, 10)
	dst = append(dst, '.')
	places := magnitude % decimalUnit
	return append(dst, byte('0'+places/1000), byte('0'+places/100%10), byte('0'+places/10%10), byte('0'+places%10))
}

// ParseDecimal reads a plain decimal such as "-12", "12.3" or "12.340000" exactly, into units of 10⁻⁴. More than four places are an error unless
// the rest are zeros; so are exponents.
func ParseDecimal(text []byte) (units int64, err error) {
	digits, negative := text, false
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative, digits = digits[0] == '-', digits[1:]
	}
	var magnitude uint64
	places, seen := -1, false // places after the point so far; -1 before it
	for _, d := range digits {
		switch {
		case d == '.' && places < 0:
			places = 0
			continue
		case d < '0' || d > '9':
			return 0, fmt.Errorf("%q is not a decimal number such as 12.34", text)
		}
		seen = true
		if places == decimalPlaces {
			if d != '0' {
				return 0, fmt.Errorf("%s has more than %d decimal places", text, decimalPlaces)
			}
			continue
		}
		if places >= 0 {
			places++
		}
		if magnitude > (math.MaxUint64-9)/10 {
			return 0, fmt.Errorf("%s is too large for a decimal", text)
		}
		magnitude = magnitude*10 + uint64(d-'0')
	}
	if !seen {
		return 0, fmt.Errorf("%q is not a decimal number such as 12.34", text)
	}
	for i := max(places, 0); i < decimalPlaces; i++ {
		if magnitude > math.MaxUint64/10 {
			return 0, fmt.Errorf("%s is too large for a decimal", text)
		}
		magnitude *= 10
	}
	if negative {
		if magnitude > 1<<63 {
			return 0, fmt.Errorf("%s is too small for a decimal", text)
		}
		return -int64(magnitude), nil
	}
	if magnitude > math.MaxInt64 {
		return 0, fmt.Errorf("%s is too large for a decimal", text)
	}
	return int64(magnitude), nil
}

// AppendUUID appends the canonical text of a uuid: 36 characters, lower case.
func AppendUUID(dst []byte, id [16]byte) []byte {
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return append(dst, text[:]...)
}

// ParseUUID reads the canonical text of a uuid in either case.
func ParseUUID(text []byte) (id [16]byte, err error) {
	bad := func() ([16]byte, error) {
		return [16]byte{}, fmt.Errorf("%q is not a uuid such as 018bcfe5-6800-7000-8000-000000000000", text[:min(len(text), 50)])
	}
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return bad()
	}
	from := 0
	for _, part := range [...][2]int{{0, 8}, {9, 13}, {14, 18}, {19, 23}, {24, 36}} {
		n, err := hex.Decode(id[from:], text[part[0]:part[1]])
		if err != nil {
			return bad()
		}
		from += n
	}
	return id, nil
}

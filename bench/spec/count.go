package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// multiples are the suffixes of counts. They are powers of ten, as counts of rows are.
var multiples = []struct {
	suffix string
	factor int64
}{
	{"k", 1_000}, {"K", 1_000}, {"M", 1_000_000}, {"G", 1_000_000_000},
}

// ParseCount reads a whole number that is not negative: "100000", "100_000", "100k", "1M", "2G". The suffixes are powers of ten. A lower
// case m is refused, because it means a thousandth elsewhere.
func ParseCount(text string) (int64, error) {
	digits, factor := text, int64(1)
	for _, m := range multiples {
		if rest, ok := strings.CutSuffix(text, m.suffix); ok {
			digits, factor = rest, m.factor
		}
	}
	n, err := parseDigits(digits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a count: write it like 100000, 100_000, 100k or 1M", text)
	}
	if n > math.MaxInt64/uint64(factor) {
		return 0, fmt.Errorf("%s is too large: the most is %d", text, int64(math.MaxInt64))
	}
	return int64(n) * factor, nil
}

// parseDigits reads decimal digits with single underscores between them.
func parseDigits(text string) (uint64, error) {
	if strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") || strings.Contains(text, "__") || strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(strings.ReplaceAll(text, "_", ""), 10, 64)
}

// parseSeed reads a 64-bit seed in decimal digits.
func parseSeed(text string) (uint64, error) {
	seed, err := parseDigits(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a seed: a whole number from 0 to %d", text, uint64(math.MaxUint64))
	}
	return seed, nil
}

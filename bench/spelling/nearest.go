// Package spelling finds the name that somebody most likely meant.
package spelling

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the name that text most likely meant, or "" when none is near: one edit in up to four letters, two in up to seven
// and so on, or a name that it begins.
func Nearest(text string, names []string) string {
	best, bestDistance := "", max(1, (len(text)+1)/3)+1
	folded := fold(text)
	for _, name := range slices.Sorted(slices.Values(names)) {
		distance := levenshtein.Distance(folded, fold(name), nil)
		if len(folded) >= 3 && strings.HasPrefix(fold(name), folded) {
			distance = 1
		}
		if distance < bestDistance {
			best, bestDistance = name, distance
		}
	}
	return best
}

// fold makes what people mix up equal: case, dashes and underscores.
func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

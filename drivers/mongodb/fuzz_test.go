package mongodb

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzPattern tells that a pattern matches its text and nothing else, and that it can travel: MongoDB ends a pattern at the first NUL.
func FuzzPattern(f *testing.F) {
	for _, text := range []string{"a", `'"\`, "a\x00b", "👍", "50%_", "$x", "^a.*$", "(?i)a", "[a]", "\n", `\E\Q`, "{1,2}", "#", " "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || text == "" {
			return // and no literal
		}
		made := pattern(text)
		if strings.ContainsRune(made, 0) {
			t.Fatalf("%q has a NUL", made)
		}
		whole, err := regexp.Compile(`^` + made + `\z`)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !whole.MatchString(text) || whole.MatchString(text+"a") || whole.MatchString(text[:len(text)-1]) {
			t.Fatalf("%q does not match %q alone", made, text)
		}
	})
}

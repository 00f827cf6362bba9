package query

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		" - ":                           "",
		"hello":                         "hello",
		"The Fox's 2nd":                 "the fox s 2nd",
		"new-york_city":                 "new york city",
		"ÉTÉ été\x00ein":                "été été ein",
		"Привет, мир! 数据库 x²":           "привет мир 数据库 x",
		"a\xffb":                        "a b",
		"emoji👍is 'quoted' 100% \\done": "emoji is quoted 100 done",
	} {
		if got := strings.Join(Tokens(text), " "); got != want {
			t.Errorf("%q has the tokens %q, want %q", text, got, want)
		}
	}
}

func TestTokensAreTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		tokens := Tokens(text)
		for _, token := range tokens {
			if again := Tokens(token); len(again) != 1 || again[0] != token {
				t.Fatalf("token %q of %q has the tokens %q", token, text, again)
			}
			found := false
			for run, rest := nextToken([]byte(text)); run != nil; run, rest = nextToken(rest) {
				found = found || isToken(run, token)
			}
			if !found {
				t.Fatalf("token %q is not found in %q", token, text)
			}
		}
		if joined := Tokens(strings.Join(tokens, " ")); !slices.Equal(joined, tokens) {
			t.Fatalf("%q, joined again, has the tokens %q", tokens, joined)
		}
	})
}

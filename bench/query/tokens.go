package query

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// Tokens returns the words of a text for full-text search, in their order. A token is a longest run of letters (Unicode category L) and decimal digits
// (Nd), each turned to lower case; everything else separates. There is no stemming and there are no stop words: "The Fox's 2nd" has the tokens
// the, fox, s, 2nd. Engines tokenise in ways of their own; this is the one that answers are checked by.
func Tokens(text string) []string {
	var tokens []string
	for token := range runs([]byte(text)) {
		tokens = append(tokens, string(lower(nil, token)))
	}
	return tokens
}

// runs yields the tokens of a text as they are written, without allocating.
func runs(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := -1
		for i := 0; i < len(text); {
			size, inside := 1, isTokenByte[text[i]]
			if text[i] >= utf8.RuneSelf {
				var r rune
				r, size = utf8.DecodeRune(text[i:])
				inside = isTokenRune(r)
			}
			switch {
			case inside && start < 0:
				start = i
			case !inside && start >= 0:
				if !yield(text[start:i]) {
					return
				}
				start = -1
			}
			i += size
		}
		if start >= 0 {
			yield(text[start:])
		}
	}
}

// isTokenByte tells which ASCII characters are letters or digits.
var isTokenByte = func() (is [256]bool) {
	for c := range utf8.RuneSelf {
		is[c] = isTokenRune(rune(c))
	}
	return is
}()

func isTokenRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lower appends the token in lower case.
func lower(dst, token []byte) []byte {
	for i := 0; i < len(token); {
		c := token[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(token[i:])
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		i += size
	}
	return dst
}

// isToken tells whether the token, as it is written, is the word, which is in lower case.
func isToken(token []byte, word string) bool {
	for i, c := range token {
		if c >= utf8.RuneSelf {
			return string(lower(nil, token)) == word
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if i >= len(word) || c != word[i] {
			return false
		}
	}
	return len(token) == len(word)
}

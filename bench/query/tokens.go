package query

import (
	"unicode"
	"unicode/utf8"
)

// Tokens returns the words of a text for full-text search, in their order. A token is a longest run of letters (Unicode category L) and decimal digits
// (Nd), each turned to lower case; everything else separates. There is no stemming and there are no stop words: "The Fox's 2nd" has the tokens
// the, fox, s, 2nd. Engines tokenise in ways of their own; this is the one that answers are checked by.
func Tokens(text string) []string {
	var tokens []string
	for token, rest := nextToken([]byte(text)); token != nil; token, rest = nextToken(rest) {
		tokens = append(tokens, string(lower(nil, token)))
	}
	return tokens
}

// nextToken returns the first token of a text as it is written, and what follows it. It is nil when there is none.
func nextToken(text []byte) (token, rest []byte) {
	start := -1
	for i := 0; i < len(text); {
		size, inside := 1, isTokenByte[text[i]]
		if text[i] >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			inside = isTokenRune(r)
		}
		if inside && start < 0 {
			start = i
		}
		if !inside && start >= 0 {
			return text[start:i], text[i:]
		}
		i += size
	}
	if start < 0 {
		return nil, nil
	}
	return text[start:], nil
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
	for i := 0; i < len(token); {
		if c := token[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if word == "" || c != word[0] {
				return false
			}
			word = word[1:]
			i++
			continue
		}
		r, size := utf8.DecodeRune(token[i:])
		want, wide := utf8.DecodeRuneInString(word)
		if wide == 0 || unicode.ToLower(r) != want {
			return false
		}
		word = word[wide:]
		i += size
	}
	return word == ""
}

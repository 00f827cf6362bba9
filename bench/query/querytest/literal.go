package querytest

import (
	"math"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// literal draws a value to compare the column with by the operator.
func (s *Source) literal(rng *rand.Rand, c column, op query.Op) query.Literal {
	l := s.value(rng, c)
	switch op {
	case query.MatchAll, query.MatchAny:
		l.Text = word(rng, l.Text)
		return l
	case query.Prefix, query.Suffix, query.Contains:
		l.Text = piece(rng, l.Text, op)
		return l
	}
	switch rng.IntN(5) {
	case 0:
		return edge(rng, l)
	case 1:
		return near(rng, l)
	}
	return l
}

// Texts are literals with everything in them that a query language could mistake for its own. One has a zero byte, which PostgreSQL has no way to store.
var Texts = []string{
	"'", "''", `"`, "`", `\`, `\\`, `\'`, "%", "_", "%%", "a%", "_b", "100%", "*", ".*", "?", "$1", ":a", "@a", "{}", "[]", "$eq", "--", "/*", ";",
	"' OR '1'='1", "\n", "\t", " ", "  x ", "\x00", "a\x00b", "é", "É", "ß", "ı", "日本", "👍", "👩‍👧", "\u200b", "\ufeff", "null", "NULL", "true", "0", "-1", "1e5", "",
}

// edge draws a value at an edge of the literal's kind.
func edge(rng *rand.Rand, l query.Literal) query.Literal {
	switch l.Kind {
	case corpus.Bool:
		l.Bool = !l.Bool
	case corpus.Int:
		l.Int = pick[int64](rng, 0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxInt32+1, 1<<53, 1<<53+1, -(1 << 53), math.MaxInt64, math.MinInt64)
	case corpus.Float:
		l.Float = pick(rng, 0, 1, -1, 0.5, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, float64(float32(0.1)), 1<<24)
	case corpus.Decimal:
		l.Int = pick[int64](rng, 0, 1, -1, 10_000, -10_000, 9_999, 99_999_999_999_999, -99_999_999_999_999)
	case corpus.DateTime:
		l.Int = pick[int64](rng, 0, -1, 1, -2_208_988_800, 4_102_444_800, 1_924_991_999, 951_782_400)
	case corpus.String:
		l.Text = Texts[rng.IntN(len(Texts))]
	case corpus.UUID:
		l.Bytes = pick(rng, make([]byte, 16), []byte(strings.Repeat("\xff", 16)))
	case corpus.Bytes:
		l.Bytes = []byte(pick(rng, "", "\x00", "\xff", "'", "\\", "\x00\x00"))
	}
	return l
}

// near draws a value next to the literal in order, or like it.
func near(rng *rand.Rand, l query.Literal) query.Literal {
	step := pick[int64](rng, -1, 1)
	switch l.Kind {
	case corpus.Int, corpus.Decimal, corpus.DateTime:
		l.Int += step
	case corpus.Float:
		l.Float = float64(math.Nextafter32(float32(l.Float), float32(math.Inf(int(step)))))
	case corpus.String:
		l.Text = pick(rng, l.Text+"a", l.Text+" ", l.Text+"\x01", cut(l.Text), strings.ToUpper(l.Text), strings.ToLower(l.Text))
	case corpus.UUID, corpus.Bytes:
		if len(l.Bytes) > 0 {
			l.Bytes[len(l.Bytes)-1] += byte(step)
		}
	}
	return l
}

// cut takes the last character away.
func cut(text string) string {
	_, size := utf8.DecodeLastRuneInString(text)
	return text[:len(text)-size]
}

// piece draws a part of a text that an operator looks for, never an empty one.
func piece(rng *rand.Rand, text string, op query.Op) string {
	runes := []rune(text)
	if len(runes) == 0 || rng.IntN(4) == 0 {
		return Texts[rng.IntN(len(Texts)-1)] // the last is empty
	}
	from := rng.IntN(len(runes))
	to := min(len(runes), from+1+rng.IntN(4))
	switch op {
	case query.Prefix:
		from, to = 0, to-from
	case query.Suffix:
		from, to = len(runes)-(to-from), len(runes)
	}
	found := string(runes[from:to])
	if rng.IntN(6) == 0 {
		return pick(rng, strings.ToUpper(found), strings.ToLower(found), found+"%", "_"+found)
	}
	return found
}

// word draws a token of a text, or one that few texts have.
func word(rng *rand.Rand, text string) string {
	tokens := query.Tokens(text)
	if len(tokens) == 0 || rng.IntN(8) == 0 {
		return pick(rng, "zebra", "hell", "helloo", "été", "x1", "42")
	}
	token := tokens[rng.IntN(len(tokens))]
	if rng.IntN(6) == 0 {
		return strings.ToUpper(token)
	}
	return token
}

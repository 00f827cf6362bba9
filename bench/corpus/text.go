package corpus

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// lengths is a half-open range of lengths in bytes. A cell's length comes from its word 0, its content from the words after that.
type lengths struct {
	from, to int
}

// pick returns the length of a cell.
func (l lengths) pick(cell uint64) int {
	if l.to-l.from == 1 {
		return l.from
	}
	return l.from + int(below(word(cell, 0), uint64(l.to-l.from)))
}

// max returns the longest length.
func (l lengths) max() int { return l.to - 1 }

// overshoot returns the longest text that ends with the word that reaches the length: at worst the length is missed by one byte, which
// the space before one more of the longest words fills.
func (l lengths) overshoot(longestWord int) int {
	if l.max() == 0 {
		return 0
	}
	return l.max() + longestWord
}

// String spells the range as an expression does.
func (l lengths) String() string {
	if l.to-l.from == 1 {
		return strconv.Itoa(l.from)
	}
	return strconv.Itoa(l.from) + ".." + strconv.Itoa(l.to)
}

// alphabet is what random characters are taken from.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// pairs holds every two characters of the alphabet, the first in the low byte.
var pairs = func() (p [len(alphabet) * len(alphabet)]uint16) {
	for i := range p {
		p[i] = uint16(alphabet[i/len(alphabet)]) | uint16(alphabet[i%len(alphabet)])<<8
	}
	return p
}()

// charsPerWord is how many characters one random word gives.
const charsPerWord = 10

// putChars writes ten random characters: the word, read as a fraction of 2⁶⁴, has its first ten digits in base 62 taken off, two at a time.
//
// How even is that? 2⁶⁴ ÷ 62¹⁰ is 21.98, so each of the 62¹⁰ groups of ten arises from 21 or 22 words and single groups differ by up to 5 %.
// Those differences cancel in any shorter piece: a single character has its probability of 1/62 to within 2⁻⁴⁸.
func putChars(b *[charsPerWord]byte, w uint64) {
	var hi uint64
	hi, w = bits.Mul64(w, uint64(len(pairs)))
	binary.LittleEndian.PutUint16(b[0:], pairs[hi])
	hi, w = bits.Mul64(w, uint64(len(pairs)))
	binary.LittleEndian.PutUint16(b[2:], pairs[hi])
	hi, w = bits.Mul64(w, uint64(len(pairs)))
	binary.LittleEndian.PutUint16(b[4:], pairs[hi])
	hi, w = bits.Mul64(w, uint64(len(pairs)))
	binary.LittleEndian.PutUint16(b[6:], pairs[hi])
	hi, _ = bits.Mul64(w, uint64(len(pairs)))
	binary.LittleEndian.PutUint16(b[8:], pairs[hi])
}

// stringGen makes random characters.
type stringGen struct {
	n lengths
}

func (g *stringGen) fill(_ *Corpus, r *Row, v *Value, cell uint64) {
	n := g.n.pick(cell)
	b := r.text.reserve(n + charsPerWord)
	for i, k := 0, uint64(1); i < n; i, k = i+charsPerWord, k+1 {
		putChars((*[charsPerWord]byte)(b[i:]), word(cell, k))
	}
	v.kind, v.bytes = String, r.text.take(n)
}

const (
	textWordMin = 2
	textWordMax = 9
)

// textGen makes random words.
type textGen struct {
	n lengths
}

func (g *textGen) fill(_ *Corpus, r *Row, v *Value, cell uint64) {
	n := g.n.pick(cell)
	b := r.text.reserve(n + 1 + charsPerWord)
	end := 0
	for k := uint64(1); end < n; k++ {
		if end > 0 {
			b[end] = ' '
			end++
		}
		// One random word gives a word's length and all its characters; what is written beyond its end is written over by the next.
		extra, rest := bits.Mul64(word(cell, k), textWordMax-textWordMin+1)
		putChars((*[charsPerWord]byte)(b[end:]), rest)
		end += textWordMin + int(extra)
	}
	v.kind, v.bytes = String, r.text.take(end)
}

// wordsGen makes sequences of words of a dictionary.
type wordsGen struct {
	n       lengths
	words   []string
	longest int
}

func newWordsGen(n lengths, words []string) *wordsGen {
	g := &wordsGen{n: n, words: words}
	for _, w := range words {
		g.longest = max(g.longest, len(w))
	}
	return g
}

func (g *wordsGen) fill(_ *Corpus, r *Row, v *Value, cell uint64) {
	n := g.n.pick(cell)
	b := r.text.reserve(n + 1 + g.longest)
	end := 0
	for k := uint64(1); end < n; k++ {
		if end > 0 {
			b[end] = ' '
			end++
		}
		end += copy(b[end:], g.words[below(word(cell, k), uint64(len(g.words)))])
	}
	v.kind, v.bytes = String, r.text.take(end)
}

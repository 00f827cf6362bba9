package corpus

// Random is a stream of random words without state: each is a pure function of the seed, the purpose and its number. So anyone may take any
// of them, in any order, and they are the same in every run.
type Random struct{ key uint64 }

// NewRandom returns the stream of a seed for one purpose. Streams for other purposes, and the rows and keys of the seed, are independent.
func NewRandom(seed uint64, purpose string) Random {
	return Random{subkey(seed, domainRandom, pathMember(0, purpose))}
}

// Word returns the n-th word: 64 random bits.
func (r Random) Word(n uint64) uint64 { return word(r.key, n) }

// Unit returns the n-th word as a number in [0, 1) in steps of 2⁻⁵³.
func (r Random) Unit(n uint64) float64 { return unit(r.Word(n)) }

// Below returns the n-th word as a number in [0, bound). A number's probability is off by less than bound ÷ 2⁶⁴.
func (r Random) Below(n, bound uint64) uint64 { return below(r.Word(n), bound) }

// At returns the n-th of the streams derived from this one, for draws that need several words each.
func (r Random) At(n uint64) Random { return Random{mix(r.key + golden*(n+1))} }

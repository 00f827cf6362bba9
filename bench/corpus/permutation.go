package corpus

// permutation is a keyed bijection of [0, 2^(left+right)): a Feistel network whose halves may differ in width. It is its own proof of
// "no collisions": each round adds to one half a function of the other, which the inverse takes away again.
type permutation struct {
	left, right uint // bits per half
	keys        [6]uint64
}

// newPermutation returns the permutation of [0, 2^(left+right)) with the key.
func newPermutation(left, right uint, seed, domain uint64) permutation {
	p := permutation{left: left, right: right}
	for i := range p.keys {
		p.keys[i] = subkey(seed, domain, uint64(i))
	}
	return p
}

// forward permutes x. Bits above the domain are cut off.
func (p *permutation) forward(x uint64) uint64 {
	maskL, maskR := uint64(1)<<p.left-1, uint64(1)<<p.right-1
	l, r := x>>p.right&maskL, x&maskR
	for i := 0; i < len(p.keys); i += 2 {
		l ^= mix(r+p.keys[i]) >> 32 & maskL
		r ^= mix(l+p.keys[i+1]) >> 32 & maskR
	}
	return l<<p.right | r
}

// inverse undoes forward.
func (p *permutation) inverse(x uint64) uint64 {
	maskL, maskR := uint64(1)<<p.left-1, uint64(1)<<p.right-1
	l, r := x>>p.right&maskL, x&maskR
	for i := len(p.keys) - 2; i >= 0; i -= 2 {
		r ^= mix(l+p.keys[i+1]) >> 32 & maskR
		l ^= mix(r+p.keys[i]) >> 32 & maskL
	}
	return l<<p.right | r
}

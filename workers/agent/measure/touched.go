package measure

import (
	"math/bits"
	"sync/atomic"
)

// touched is a set of rows that many may add to at once: a bit each, in pieces that exist where there are rows.
type touched struct{ pieces sparse[rowBits] }

// bitRows is how many rows a piece has.
const bitRows = 1 << 16

type rowBits [bitRows / 64]atomic.Uint64

func newTouched(rows uint64) *touched { return &touched{newSparse[rowBits](rows/bitRows + 1)} }

// add adds a row.
func (t *touched) add(row uint64) {
	bits, bit := t.pieces.make(row/bitRows), row%bitRows
	if word, mask := &bits[bit/64], uint64(1)<<(bit%64); word.Load()&mask == 0 {
		word.Or(mask)
	}
}

// has tells whether a row is among them.
func (t *touched) has(row uint64) bool {
	bits, bit := t.pieces.find(row/bitRows), row%bitRows
	return bits != nil && bits[bit/64].Load()&(uint64(1)<<(bit%64)) != 0
}

// count returns how many rows there are.
func (t *touched) count() (n int64) {
	t.pieces.all(func(_ uint64, piece *rowBits) {
		for i := range piece {
			n += int64(bits.OnesCount64(piece[i].Load()))
		}
	})
	return n
}

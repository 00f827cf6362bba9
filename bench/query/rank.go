package query

import (
	"encoding/binary"
	"math"

	"github.com/durabench/durabench/bench/corpus"
)

// ranker turns what a row holds in the terms of an order into bytes, so that rows are in order when their bytes are. Rows that are equal in all terms
// have equal bytes.
type ranker struct {
	corpus *corpus.Corpus
	terms  []rankTerm
}

type rankTerm struct {
	column *Column // nil: the key
	desc   bool
}

// newRanker resolves the terms of a bound order.
func newRanker(c *corpus.Corpus, order []Order) (ranker, error) {
	r := ranker{corpus: c}
	for _, o := range order {
		term := rankTerm{desc: o.Desc}
		if len(o.Path) > 0 {
			column, err := Resolve(c.Template(), o.Path)
			if err != nil {
				return ranker{}, err
			}
			term.column = &column
		}
		r.terms = append(r.terms, term)
	}
	return r, nil
}

// append appends the rank of the row that has the key of the index.
func (r *ranker) append(dst []byte, index uint64, row *corpus.Row) []byte {
	for _, term := range r.terms {
		start := len(dst)
		if term.column == nil {
			dst = appendKeyRank(dst, r.corpus, index)
		} else {
			dst = appendValueRank(dst, term.column.value(row))
		}
		if term.desc {
			for i := start; i < len(dst); i++ {
				dst[i] = ^dst[i]
			}
		}
	}
	return dst
}

// appendKeyRank appends bytes in the order of the keys. Keys that are not scattered are in the order of their indexes.
func appendKeyRank(dst []byte, c *corpus.Corpus, index uint64) []byte {
	if !c.Random() {
		return binary.BigEndian.AppendUint64(dst, index)
	}
	var memory corpus.KeyBuffer
	return c.Key(&memory, index).AppendOrdered(dst)
}

// appendValueRank appends bytes in the order of the values of a kind: an absent value first, which no row of a corpus has. Texts and bytes end with
// two zeros, and a zero in them is followed by 0xff, so that none begins like another.
func appendValueRank(dst []byte, v *corpus.Value) []byte {
	if v.Kind() == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch v.Kind() {
	case corpus.Float:
		bits := math.Float64bits(v.Float() + 0)
		if bits>>63 != 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(dst, bits)
	case corpus.UUID:
		return append(dst, v.Bytes()...)
	case corpus.String, corpus.Bytes:
		for _, c := range v.Bytes() {
			if dst = append(dst, c); c == 0 {
				dst = append(dst, 0xff)
			}
		}
		return append(dst, 0, 0)
	}
	return binary.BigEndian.AppendUint64(dst, uint64(v.Int())^1<<63)
}

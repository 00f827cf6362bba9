package respbase

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// attribute is the name of the filter of that number among those of an index.
func attribute(i int) string { return "f" + strconv.Itoa(i) }

// appendOperand appends a value of a column as an attribute of an element, and as an expression on attributes compares with it. The expressions know
// numbers of 64-bit floats, and texts that they only compare for equality and in which they read no escapes; the few characters that would have to
// be escaped are written as a percent sign and two digits, on both sides.
func appendOperand(dst []byte, l query.Literal) []byte {
	switch l.Kind {
	case corpus.Bool:
		if l.Bool {
			return append(dst, '1')
		}
		return append(dst, '0')
	case corpus.Float:
		return strconv.AppendFloat(dst, l.Float, 'f', -1, 64)
	case corpus.Int, corpus.Decimal, corpus.DateTime:
		return strconv.AppendInt(dst, l.Int, 10)
	case corpus.String:
		dst = append(dst, '"')
		for i := range len(l.Text) {
			if b := l.Text[i]; b < ' ' || b == '"' || b == '\\' || b == '%' || b == 0x7f {
				dst = fmt.Appendf(dst, "%%%02x", b)
			} else {
				dst = append(dst, b)
			}
		}
		return append(dst, '"')
	}
	return append(hex.AppendEncode(append(dst, '"'), l.Bytes), '"')
}

// numeric tells whether values of a kind are compared as numbers.
func numeric(kind corpus.Kind) bool { return kind <= corpus.Decimal || kind == corpus.DateTime }

// mostExact is the smallest whole number that a 64-bit float does not tell from the next.
const mostExact = 1 << 53

// canFilter says whether filters of an index express a predicate exactly, with the same answer for every row.
func canFilter(index *query.Index, p *query.Predicate) error {
	switch p.Op {
	case query.And, query.Or, query.Not:
		for _, arg := range p.Args {
			if err := canFilter(index, arg); err != nil {
				return err
			}
		}
		return nil
	}
	if filterOf(index, p.Path) < 0 {
		return drivers.Unsupported{Why: fmt.Sprintf("the copies of the rows that are searched have no column %s: it is not among the filters of the index", p.Path)}
	}
	switch p.Op {
	case query.Eq, query.Ne, query.In:
	case query.Lt, query.Lte, query.Gt, query.Gte, query.Between:
		if len(p.Values) > 0 && !numeric(p.Values[0].Kind) {
			return drivers.Unsupported{Why: fmt.Sprintf("Redis's filters of vectors order no values of kind %s", p.Values[0].Kind)}
		}
	default:
		return drivers.Unsupported{Why: fmt.Sprintf("Redis's filters of vectors have no operator %s", p.Op)}
	}
	for _, l := range p.Values {
		whole := l.Kind == corpus.Int || l.Kind == corpus.Decimal || l.Kind == corpus.DateTime
		switch {
		case whole && (l.Int >= mostExact || l.Int <= -mostExact):
			return drivers.Unsupported{Why: fmt.Sprintf("Redis's filters of vectors compare numbers as 64-bit floats, which are not exact for %s", l)}
		case l.Kind == corpus.Float && (math.IsNaN(l.Float) || math.IsInf(l.Float, 0)):
			return drivers.Unsupported{Why: fmt.Sprintf("Redis's filters of vectors have no number %s", l)}
		}
	}
	return nil
}

// filterOf is the number of a column among the filters of an index, -1 if it is none of them.
func filterOf(index *query.Index, path query.Path) int {
	return slices.IndexFunc(index.Vector.Filters, func(p query.Path) bool { return slices.Equal(p, path) })
}

var setComparisons = map[query.Op]string{query.Eq: " == ", query.Ne: " != ", query.Lt: " < ", query.Lte: " <= ", query.Gt: " > ", query.Gte: " >= "}

// appendExpression appends a predicate that canFilter lets through as a vector set's FILTER takes it.
func appendExpression(dst []byte, index *query.Index, p *query.Predicate) []byte {
	switch p.Op {
	case query.And, query.Or:
		for i, arg := range p.Args {
			if i > 0 {
				dst = append(append(append(dst, ' '), p.Op...), ' ')
			}
			dst = append(appendExpression(append(dst, '('), index, arg), ')')
		}
		return dst
	case query.Not:
		return append(appendExpression(append(dst, "not ("...), index, p.Args[0]), ')')
	}
	name := "." + attribute(filterOf(index, p.Path))
	switch p.Op {
	case query.Between:
		dst = appendOperand(append(append(dst, name...), " >= "...), p.Values[0])
		return appendOperand(append(append(append(dst, " and "...), name...), " <= "...), p.Values[1])
	case query.In:
		dst = append(append(dst, name...), " in ["...)
		for i, l := range p.Values {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendOperand(dst, l)
		}
		return append(dst, ']')
	}
	return appendOperand(append(append(dst, name...), setComparisons[p.Op]...), p.Values[0])
}

package query

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/durabench/durabench/bench/corpus"
)

// MaxGroups is the most groups of one scan that Expect works out: each is held in memory.
const MaxGroups = 1 << 17

// aggregator works out the groups of a scan with aggregates.
type aggregator struct {
	scan    *Scan
	by      *Column   // nil: one group
	columns []*Column // per aggregate; nil for Number
	groups  map[string]*group
	rank    []byte
}

// group is one line of the answer in the making.
type group struct {
	key    Literal
	rows   int64
	totals []total // per aggregate
}

// total is the state of one aggregate. Whole numbers and decimals are summed in whole, floats in floats.
type total struct {
	whole, wholeMagnitude wholeSum // of the values, and of their absolute values
	float, floatMagnitude floatSum
	least, most           Literal
	rows                  int64
}

func newAggregator(s *Scan, t *corpus.Template) (*aggregator, error) {
	a := &aggregator{scan: s, groups: map[string]*group{}}
	if len(s.GroupBy) > 0 {
		column, err := Resolve(t, s.GroupBy)
		if err != nil {
			return nil, err
		}
		a.by = &column
	}
	for _, aggregate := range s.Aggregates {
		if aggregate.Func == Number {
			a.columns = append(a.columns, nil)
			continue
		}
		column, err := Resolve(t, aggregate.Path)
		if err != nil {
			return nil, err
		}
		a.columns = append(a.columns, &column)
	}
	return a, nil
}

// add takes a row that matches into its group.
func (a *aggregator) add(row *corpus.Row) error {
	a.rank = a.rank[:0]
	if a.by != nil {
		a.rank = appendValueRank(a.rank, a.by.value(row))
	}
	g := a.groups[string(a.rank)]
	if g == nil {
		if len(a.groups) == MaxGroups {
			return fmt.Errorf("%s has more than %d groups", a.scan, MaxGroups)
		}
		g = &group{totals: make([]total, len(a.columns))}
		if a.by != nil {
			g.key = LiteralOf(a.by.value(row))
		}
		a.groups[string(a.rank)] = g
	}
	g.rows++
	for i, column := range a.columns {
		if column != nil {
			g.totals[i].add(column.value(row))
		}
	}
	return nil
}

func (t *total) add(v *corpus.Value) {
	l := Literal{Kind: v.Kind()}
	switch l.Kind {
	case corpus.Int, corpus.Decimal:
		l.Int = v.Int()
		t.whole.add(l.Int)
		t.wholeMagnitude.add(max(l.Int, -max(l.Int, -math.MaxInt64)))
	case corpus.Float:
		l.Float = v.Float()
		t.float.add(l.Float)
		t.floatMagnitude.add(math.Abs(l.Float))
	default:
		return // absent
	}
	t.extend(l, l)
	t.rows++
}

// extend widens the range of values.
func (t *total) extend(least, most Literal) {
	if t.rows == 0 || least.Compare(t.least) < 0 {
		t.least = least
	}
	if t.rows == 0 || most.Compare(t.most) > 0 {
		t.most = most
	}
}

// merge adds what another aggregator of the same scan has found.
func (a *aggregator) merge(other *aggregator) error {
	for rank, from := range other.groups {
		into := a.groups[rank]
		if into == nil {
			if len(a.groups) == MaxGroups {
				return fmt.Errorf("%s has more than %d groups", a.scan, MaxGroups)
			}
			a.groups[rank] = from
			continue
		}
		into.rows += from.rows
		for i := range into.totals {
			t, f := &into.totals[i], &from.totals[i]
			if f.rows > 0 {
				t.extend(f.least, f.most)
			}
			t.rows += f.rows
			t.whole.merge(f.whole)
			t.wholeMagnitude.merge(f.wholeMagnitude)
			t.float.merge(&f.float)
			t.floatMagnitude.merge(&f.floatMagnitude)
		}
	}
	return nil
}

// lines returns the groups, sorted by key.
func (a *aggregator) lines() []ExpectedGroup {
	var lines []ExpectedGroup
	for _, g := range a.groups {
		line := ExpectedGroup{Group: Group{Key: g.key}}
		for i, aggregate := range a.scan.Aggregates {
			value, slack := float64(g.rows), 0.0
			if aggregate.Func != Number {
				value, slack = g.totals[i].value(aggregate.Func, a.columns[i].Field.Kind)
			}
			line.Values, line.Slack = append(line.Values, value), append(line.Slack, slack)
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(x, y ExpectedGroup) int { return x.Key.Compare(y.Key) })
	return lines
}

// roundOff is the relative error of one rounding to float64.
const roundOff = 0x1p-53

// value returns an aggregate as the float64 nearest to its exact value, and how far off a right answer may be.
//
// Whole numbers and decimals have to be right to the last bit of a float64, or the last but one where a sum does not fit in one. Floats may be summed in
// any order and are rounded each time: the error is then at most n times the rounding error of the sum of the absolute values (Higham, Accuracy and
// Stability of Numerical Algorithms, §4.2). An average has one rounding more.
func (t *total) value(f Func, kind corpus.Kind) (value, slack float64) {
	sum, magnitude := t.whole.rat(), t.wholeMagnitude.rat()
	if kind == corpus.Float {
		sum, magnitude = t.float.rat(), t.floatMagnitude.rat()
	}
	unit := big.NewRat(1, 1)
	if kind == corpus.Decimal {
		unit = big.NewRat(1, 10_000)
	}
	switch f {
	case Min:
		return t.least.number(), 0
	case Max:
		return t.most.number(), 0
	case Avg:
		unit.Quo(unit, big.NewRat(t.rows, 1))
	}
	value, _ = sum.Mul(sum, unit).Float64()
	size, _ := magnitude.Mul(magnitude, unit).Float64()
	switch {
	case kind == corpus.Float || f == Avg:
		slack = float64(t.rows+1) * roundOff * size
	case kind == corpus.Decimal || math.Abs(value) > 1/roundOff:
		slack = 2 * roundOff * math.Abs(value)
	}
	return value, slack
}

// number returns a number as a float64.
func (l Literal) number() float64 {
	switch l.Kind {
	case corpus.Float:
		return l.Float
	case corpus.Decimal:
		value, _ := big.NewRat(l.Int, 10_000).Float64()
		return value
	}
	return float64(l.Int)
}

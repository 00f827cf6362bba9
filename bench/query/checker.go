package query

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
)

// Checker checks one answer to a scan. Each method returns a *Wrong for what is wrong; the checker may be used on after that, to see
// what else is. It is for one answer and one goroutine.
type Checker struct {
	data     Dataset
	scan     *Scan
	expected *Expected
	slack    *Slack

	ranker ranker
	after  []byte // the rank of the key that rows come after; nil for all
	mask   corpus.Mask
	row    corpus.Row
	rank   []byte

	seen       seen
	rows       int64
	determined int64
	checksum   uint64
	ties       []int64 // rows of each of the expected ties
	last       []byte  // the rank of the row before
	lastIndex  uint64
}

// Slack is what an answer may differ by when it is read while pairs of rows exchange their contents. Every row that comes is checked all the same; which
// ones an ordered page ends with, and the checksum, are not known then.
type Slack struct {
	// Rows is how many rows or what count the answer may be off by, either way: as many as there were exchanges in flight at some time during the scan. Of two
	// rows that are read one before and one after their exchange, one content is seen twice.
	Rows int64
	// Partner returns the row whose content a key may hold in place of its own.
	Partner func(index uint64) uint64
}

// Checker returns a checker for one answer to the bound scan, of which e is what Expect found. With a slack it is an answer that was read while rows
// were exchanged.
func (d Dataset) Checker(s *Scan, e *Expected, slack *Slack) (*Checker, error) {
	t, err := newTally(d.Corpus, s)
	if err != nil {
		return nil, fmt.Errorf("check the answer of scan %s: %w", s.ID, err)
	}
	c := &Checker{data: d, scan: s, expected: e, slack: slack, ranker: t.ranker, after: t.after, ties: make([]int64, len(e.Ties))}
	c.mask = d.Corpus.Template().Mask(t.places(nil)...)
	c.seen = newSeen(e.Rows, d.Rows)
	return c, nil
}

// Row checks the next row of the answer: its key and, of a Full scan, its content; row is nil when only the key came.
func (c *Checker) Row(key corpus.Key, row *corpus.Row) error {
	c.rows++
	index, ok := c.data.Corpus.Index(key)
	if !ok || index >= c.data.Rows {
		return &Wrong{Whole: true, Column: "key", Want: fmt.Sprintf("keys of the %d rows", c.data.Rows), Got: shorten(strconv.Quote(key.String()))}
	}
	if !c.seen.add(index) {
		return &Wrong{Index: index, Want: "each row once", Got: "it again"}
	}
	if c.after != nil {
		if c.rank = appendKeyRank(c.rank[:0], c.data.Corpus, index); bytes.Compare(c.rank, c.after) <= 0 {
			return &Wrong{Index: index, Want: fmt.Sprintf("keys after that of row %d", *c.scan.After), Got: key.String()}
		}
	}
	if row == nil {
		c.data.Corpus.Columns(&c.row, index, c.data.Version, c.mask)
	} else if err := c.checkContent(index, row); err != nil {
		return err
	}
	if !Matches(c.scan.Where, &c.row) {
		if row != nil || !c.partnerMatches(index) {
			return &Wrong{Index: index, Want: shorten("a row with " + c.scan.Where.String()), Got: shorten(c.scan.Where.describe(&c.row))}
		}
		return nil // it held the content of its partner, or does now: nothing more is known of it
	}
	if row == nil && c.slack != nil && c.slack.Partner != nil {
		return nil
	}
	return c.place(index)
}

// checkContent compares a row with what the corpus makes, which it leaves in c.row.
func (c *Checker) checkContent(index uint64, row *corpus.Row) error {
	content := index
	if seal := len(row.Columns) - 1; seal >= 0 && row.Columns[seal].Kind() == corpus.Int {
		i, version := c.data.Corpus.Unseal(row.Columns[seal].Int())
		switch {
		case i >= c.data.Rows: // a seal of no row: the difference is found below
		case i != index && c.partner(index) != i:
			return &Wrong{Index: index, Column: corpus.SealColumn, Want: "its own content", Got: fmt.Sprintf("that of row %d", i)}
		case version != c.data.Version:
			return &Wrong{Index: index, Column: corpus.SealColumn, Want: fmt.Sprintf("version %d", c.data.Version), Got: fmt.Sprintf("version %d", version)}
		default:
			content = i
		}
	}
	c.data.Corpus.Row(&c.row, content, c.data.Version)
	if column, want, got, same := corpus.Diff(c.data.Corpus.Template(), &c.row, row); !same {
		return &Wrong{Index: index, Column: column, Want: want, Got: got}
	}
	return nil
}

// partner returns the row whose content the key may hold: itself when rows are not exchanged.
func (c *Checker) partner(index uint64) uint64 {
	if c.slack == nil || c.slack.Partner == nil {
		return index
	}
	return c.slack.Partner(index)
}

// partnerMatches tells whether the key may hold the content of another row which the predicate finds.
func (c *Checker) partnerMatches(index uint64) bool {
	other := c.partner(index)
	if other == index {
		return false
	}
	c.data.Corpus.Columns(&c.row, other, c.data.Version, c.mask)
	return Matches(c.scan.Where, &c.row)
}

// place checks that the row, which is in c.row, comes in order, and counts it.
func (c *Checker) place(index uint64) error {
	if len(c.ranker.terms) == 0 {
		c.determined++
		c.checksum += IndexChecksum(index)
		return nil
	}
	c.rank = c.ranker.append(c.rank[:0], index, &c.row)
	tie := -1
	for i := range c.expected.Ties {
		if bytes.Equal(c.expected.Ties[i].Rank, c.rank) {
			tie = i
		}
	}
	if tie >= 0 {
		c.ties[tie]++
	} else {
		c.determined++
		c.checksum += IndexChecksum(index)
	}
	behind := bytes.Compare(c.rank, c.last) < 0
	before := c.lastIndex
	c.last, c.rank = c.rank, c.last
	c.lastIndex = index
	if behind && c.rows > 1 {
		return &Wrong{Index: index, Want: "rows in the order of " + list(c.scan.Order), Got: fmt.Sprintf("it after row %d", before)}
	}
	return nil
}

// Done checks the rows as a whole, after the last one.
func (c *Checker) Done() error {
	e := c.expected
	if err := c.checkNumber("rows", c.rows); err != nil || c.slack != nil {
		return err
	}
	known := e.Determined
	for i, tie := range e.Ties {
		known += tie.Rows
		if c.ties[i] != tie.Rows {
			return &Wrong{
				Whole: true, Column: "rows at an end of the page", Want: strconv.FormatInt(tie.Rows, 10), Got: strconv.FormatInt(c.ties[i], 10),
			}
		}
	}
	if known == e.Rows && (c.determined != e.Determined || c.checksum != e.Checksum) {
		return &Wrong{
			Whole: true, Column: "checksum of row indexes", Want: fmt.Sprintf("%016x of %d rows", e.Checksum, e.Determined),
			Got: fmt.Sprintf("%016x of %d: other rows than the right ones", c.checksum, c.determined),
		}
	}
	return nil
}

// Count checks the number that a Count scan returned.
func (c *Checker) Count(n int64) error { return c.checkNumber("count", n) }

func (c *Checker) checkNumber(what string, got int64) error {
	off := got - c.expected.Rows
	if off == 0 || c.slack != nil && max(off, -off) <= c.slack.Rows {
		return nil
	}
	return &Wrong{Whole: true, Column: what, Want: strconv.FormatInt(c.expected.Rows, 10), Got: strconv.FormatInt(got, 10)}
}

// Groups checks the answer to a scan with aggregates. With a slack, the numbers of rows may be off, and sums and averages are not looked at.
func (c *Checker) Groups(groups []Group) error {
	want := make(map[string]*ExpectedGroup, len(c.expected.Groups))
	for i := range c.expected.Groups {
		want[c.expected.Groups[i].Key.String()] = &c.expected.Groups[i]
	}
	come := make(map[string]bool, len(groups))
	for _, g := range groups {
		name := g.Key.String()
		expected := want[name]
		switch {
		case expected == nil && c.slack != nil:
			continue // of rows in flight
		case expected == nil:
			return &Wrong{Whole: true, Column: "groups", Want: fmt.Sprintf("%d groups", len(want)), Got: "one of " + shorten(name)}
		case come[name]:
			return &Wrong{Whole: true, Column: "groups", Want: "each group once", Got: shorten(name) + " again"}
		case len(g.Values) != len(c.scan.Aggregates):
			return &Wrong{
				Whole: true, Column: "groups", Want: fmt.Sprintf("%d values each", len(c.scan.Aggregates)), Got: fmt.Sprintf("%d of %s", len(g.Values), shorten(name)),
			}
		}
		come[name] = true
		for i, aggregate := range c.scan.Aggregates {
			slack := expected.Slack[i]
			if c.slack != nil {
				if aggregate.Func != Number {
					continue
				}
				slack = float64(c.slack.Rows)
			}
			if !(math.Abs(g.Values[i]-expected.Values[i]) <= slack) { // also refuses NaN
				column := aggregate.String()
				if len(c.scan.GroupBy) > 0 {
					column += " of " + shorten(name)
				}
				return &Wrong{Whole: true, Column: column, Want: formatFloat(expected.Values[i]), Got: formatFloat(g.Values[i])}
			}
		}
	}
	if off := int64(len(want) - len(come)); off > 0 && (c.slack == nil || off > c.slack.Rows) {
		return &Wrong{Whole: true, Column: "groups", Want: strconv.Itoa(len(want)), Got: strconv.Itoa(len(come))}
	}
	return nil
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// describe tells what the row holds in the columns of the tree, for people.
func (p *Predicate) describe(row *corpus.Row) string {
	if p.column == nil {
		text, seen := "", map[string]bool{}
		for _, arg := range p.Args {
			if part := arg.describe(row); !seen[part] {
				if seen[part] = true; text != "" {
					text += ", "
				}
				text += part
			}
		}
		return text
	}
	return p.Path.String() + " = " + string(corpus.AppendJSON(nil, p.column.Field, p.column.value(row)))
}

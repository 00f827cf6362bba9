package sqlrender

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// Cells reads answers whose rows are cells, one after another in Answer.Bytes, in the forms that a driver keeps values in.
type Cells struct {
	Template *corpus.Template
	// Key reads a key.
	Key func(cell []byte) (corpus.Key, error)
	// Value reads a value of the field into v, of the row's memory.
	Value func(f *corpus.Field, cell []byte, row *corpus.Row, v *corpus.Value) error
	// Group reads the value of Statement.Group.
	Group func(c Column, cell []byte) (query.Literal, error)
	// Number reads an aggregate over the column, as the nearest float64.
	Number func(f query.Func, c Column, cell []byte) (float64, error)
}

// GroupOf makes Cells.Group of Cells.Value. Nested values of the kinds in texts come as they stand in JSON, without the quotes.
func GroupOf(value func(f *corpus.Field, cell []byte, row *corpus.Row, v *corpus.Value) error, texts ...corpus.Kind) func(Column, []byte) (query.Literal, error) {
	return func(c Column, cell []byte) (query.Literal, error) {
		var row corpus.Row
		var v corpus.Value
		field := *c.Field
		field.Name = ""
		var err error
		if c.Nested() && slices.Contains(texts, field.Kind) {
			err = corpus.ParseJSON(&field, strconv.AppendQuote(nil, string(cell)), &row, &v)
		} else {
			err = value(&field, cell, &row, &v)
		}
		return query.LiteralOf(&v), err
	}
}

// Rows hands each row of the answer to each: its key, which is the first cell, and, when the rows are full, the columns of the template, which
// are the others.
func (r Cells) Rows(answer *drivers.Answer, full bool, each func(corpus.Key, *corpus.Row) error) error {
	columns := r.Template.Columns()
	width := 1
	if full {
		width += len(columns)
	}
	cells := taken{answer: answer}
	if err := cells.divide(width); err != nil {
		return err
	}
	var row corpus.Row
	for cells.left() {
		cell, there, err := cells.next()
		if err != nil {
			return err
		}
		if !there {
			return errors.New("the answer has a row without a key")
		}
		key, err := r.Key(cell)
		if err != nil {
			return fmt.Errorf("key: %w", err)
		}
		row.Reset(r.Template)
		for i := range width - 1 {
			cell, there, err := cells.next()
			if err == nil && there {
				err = r.Value(&columns[i], cell, &row, &row.Columns[i])
			}
			if err != nil {
				return fmt.Errorf("column %s: %w", columns[i].Name, err)
			}
		}
		if err := each(key, &row); err != nil {
			return err
		}
	}
	return nil
}

// Groups reads one line for each group: the value that its rows have in common, if there is one, and the aggregates.
func (r Cells) Groups(s *Statement, answer *drivers.Answer) (groups []query.Group, err error) {
	width := len(s.Values)
	if s.Group != nil {
		width++
	}
	if !s.Grouped() {
		return nil, fmt.Errorf("scan %s has no groups", s.Scan.ID)
	}
	cells := taken{answer: answer}
	if err := cells.divide(width); err != nil {
		return nil, fmt.Errorf("scan %s: groups: %w", s.Scan.ID, err)
	}
	for cells.left() {
		var group query.Group
		for i := range width {
			cell, there, err := cells.next()
			if err == nil && !there {
				err = fmt.Errorf("cell %d of a group is NULL", i)
			}
			at := i - (width - len(s.Values))
			switch {
			case err != nil:
			case at < 0:
				group.Key, err = r.Group(*s.Group, cell)
			default:
				var value float64
				value, err = r.Number(s.Scan.Aggregates[at].Func, s.Values[at], cell)
				group.Values = append(group.Values, value)
			}
			if err != nil {
				return nil, fmt.Errorf("scan %s: groups: %w", s.Scan.ID, err)
			}
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// Finish makes the answer of a statement for which SQL returns a single line, received into the answer and kept: it takes out the number of a
// count, and makes the aggregates of all rows a group, unless there were no rows, of which SQL has a line all the same.
func (r Cells) Finish(s *Statement, answer *drivers.Answer) error {
	size := int64(len(answer.Bytes))
	if s.Counted() {
		if len(answer.Ends) != 1 || answer.Ends[0] < 0 {
			return fmt.Errorf("the answer to a count has %d cells", len(answer.Ends))
		}
		n, err := r.Number(query.Number, Column{}, answer.Bytes)
		if err != nil {
			return fmt.Errorf("count: %w", err)
		}
		answer.Reset()
		answer.Count, answer.Size = int64(n), size
		return nil
	}
	cells := taken{answer: answer}
	if len(answer.Ends) != len(s.Values) {
		return fmt.Errorf("the answer to aggregates has %d cells, want %d", len(answer.Ends), len(s.Values))
	}
	for i, c := range s.Values {
		cell, there, err := cells.next()
		n := 1.0
		if err == nil && there && c.Field == nil {
			n, err = r.Number(s.Scan.Aggregates[i].Func, c, cell)
		}
		if err != nil {
			return err
		}
		if !there || n == 0 { // no row was aggregated: a count is 0, anything else is NULL
			answer.Reset()
			return nil
		}
	}
	answer.Rows, answer.Size = 0, 0
	return answer.Row(size)
}

// Single tells that SQL returns one line, which is no row of the table and no group.
func (s *Statement) Single() bool { return s.Counted() || s.Grouped() && s.Group == nil }

// taken goes through the cells of an answer.
type taken struct {
	answer *drivers.Answer
	at     int // cells
	from   int // bytes
}

// divide makes sure that the answer is of rows of so many cells.
func (t *taken) divide(width int) error {
	if width == 0 || len(t.answer.Ends)%width != 0 {
		return fmt.Errorf("the answer has %d cells, which is no multiple of the %d of a row", len(t.answer.Ends), width)
	}
	return nil
}

func (t *taken) left() bool { return t.at < len(t.answer.Ends) }

// next returns the next cell; there is false when it is NULL.
func (t *taken) next() (cell []byte, there bool, err error) {
	end := t.answer.Ends[t.at]
	t.at++
	switch {
	case end < 0:
		return nil, false, nil
	case end < t.from || end > len(t.answer.Bytes):
		return nil, false, fmt.Errorf("the answer is damaged: cell %d ends at byte %d of %d", t.at-1, end, len(t.answer.Bytes))
	}
	cell = t.answer.Bytes[t.from:end]
	t.from = end
	return cell, true, nil
}

// CanRaw tells whether a raw scan has words for the dialect.
func CanRaw(d Dialect, raw *query.Raw) error {
	for _, part := range []struct {
		has   bool
		texts map[string]string
		what  string
	}{{raw.HasWhere, raw.Where, "condition"}, {raw.HasOrder, raw.Order, "order"}} {
		if part.has && rawText(d, part.texts) == "" {
			return unsupported("the file has no %s for %s", part.what, d.Raw()[0])
		}
	}
	return nil
}

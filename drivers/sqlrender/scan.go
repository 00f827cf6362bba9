package sqlrender

import (
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Statement is a scan in SQL.
type Statement struct {
	Scan *query.Scan
	SQL  string
	// Args are bound to the parameters in their order. A literal of kind Array is JSON text (JSONLiteral).
	Args []query.Literal
	// Group is the column of GroupBy, whose value comes first in each row of an answer; nil without one. Values are the columns of the aggregates; that
	// of a Number has no Field.
	Group  *Column
	Values []Column
}

// Grouped tells that the answer is of aggregates.
func (s *Statement) Grouped() bool { return len(s.Scan.Aggregates) > 0 }

// Counted tells that the answer is one number.
func (s *Statement) Counted() bool { return !s.Grouped() && s.Scan.Project == query.Count }

// Render writes a scan of the table. The rows of an answer have the key first and then, when the projection is Full, all columns in the order
// of the template. The error is drivers.Unsupported when the engine cannot run the scan.
func Render(d Dialect, table Table, s *query.Scan) (*Statement, error) {
	b := &Builder{dialect: d, table: table}
	statement := &Statement{Scan: s}
	render := b.rows
	if statement.Grouped() {
		render = b.groups
	}
	if err := render(statement); err != nil {
		return nil, fmt.Errorf("scan %s: %w", s.ID, err)
	}
	if len(b.args) > d.MaxArgs() {
		return nil, fmt.Errorf("scan %s: %w", s.ID, unsupported("the condition has %d values, a statement takes at most %d", len(b.args), d.MaxArgs()))
	}
	statement.SQL, statement.Args = b.text.String(), b.args
	return statement, nil
}

// rows writes a scan for rows, or for their number.
func (b *Builder) rows(statement *Statement) error {
	s := statement.Scan
	paged := s.Limit != 0 || s.Offset != 0
	key := b.dialect.Quote(corpus.KeyColumn)
	switch s.Project {
	case query.ID:
		b.Write("SELECT ", key)
	case query.Full:
		b.Write("SELECT ", key)
		for _, column := range b.table.Corpus.Template().Columns() {
			b.Write(", ", b.dialect.Quote(column.Name))
		}
	case query.Count:
		b.Write("SELECT count(*)")
		if paged {
			b.Write(" FROM (SELECT 1 AS n")
		}
	default:
		return fmt.Errorf("no projection %q", s.Project)
	}
	b.Write(" FROM ", b.table.Name)
	if err := b.where(s); err != nil {
		return err
	}
	// How many rows a page has does not depend on their order.
	if s.Project != query.Count {
		if err := b.order(s); err != nil {
			return err
		}
	}
	if paged {
		b.Write(" ", b.dialect.Page(s.Limit, s.Offset))
		if s.Project == query.Count {
			b.Write(") AS page")
		}
	}
	return nil
}

// groups writes a scan for aggregates.
func (b *Builder) groups(statement *Statement) error {
	s := statement.Scan
	b.Write("SELECT ")
	group := ""
	if len(s.GroupBy) > 0 {
		c, err := b.table.Column(s.GroupBy)
		if err != nil {
			return err
		}
		if group, err = b.dialect.Value(c); err != nil {
			return err
		}
		statement.Group = &c
		b.Write(group, ", ")
	}
	for i, a := range s.Aggregates {
		if i > 0 {
			b.Write(", ")
		}
		if a.Func == query.Number {
			b.Write("count(*)")
			statement.Values = append(statement.Values, Column{})
			continue
		}
		c, err := b.table.Column(a.Path)
		if err != nil {
			return err
		}
		value, err := b.dialect.Value(c)
		if err != nil {
			return err
		}
		b.Write(b.dialect.Aggregate(a.Func, value, c))
		statement.Values = append(statement.Values, c)
	}
	b.Write(" FROM ", b.table.Name)
	if err := b.where(s); err != nil {
		return err
	}
	if group != "" {
		b.Write(" GROUP BY ", group)
	}
	return nil
}

// where writes the condition, typed or raw, and that of keyset paging.
func (b *Builder) where(s *query.Scan) error {
	word := " WHERE "
	if s.After != nil {
		var buffer corpus.KeyBuffer
		key := b.table.Corpus.Key(&buffer, *s.After)
		if key.Kind() == "" {
			return fmt.Errorf("there is no row %d to begin after", *s.After)
		}
		b.Write(word, b.dialect.Quote(corpus.KeyColumn), " > ")
		b.Bind(KeyLiteral(key))
		word = " AND "
	}
	if s.Raw != nil && s.Raw.HasWhere {
		text := rawText(b.dialect, s.Raw.Where)
		if text == "" {
			return unsupported("the file has no condition for %s", b.dialect.Raw()[0])
		}
		b.Write(word, "(", text, ")")
		return nil
	}
	if s.Where == nil {
		return nil
	}
	if s.After == nil {
		b.Write(word)
		return b.condition(s.Where)
	}
	b.Write(word, "(")
	err := b.condition(s.Where)
	b.Write(")")
	return err
}

// order writes the order, typed or raw.
func (b *Builder) order(s *query.Scan) error {
	if s.Raw != nil && s.Raw.HasOrder {
		text := rawText(b.dialect, s.Raw.Order)
		if text == "" {
			return unsupported("the file has no order for %s", b.dialect.Raw()[0])
		}
		b.Write(" ORDER BY ", text)
		return nil
	}
	order := s.Order
	if s.After != nil {
		order = []query.Order{{}}
	}
	for i, o := range order {
		separator := ", "
		if i == 0 {
			separator = " ORDER BY "
		}
		b.Write(separator)
		value := b.dialect.Quote(corpus.KeyColumn)
		if len(o.Path) > 0 {
			c, err := b.table.Column(o.Path)
			if err != nil {
				return err
			}
			if value, err = b.dialect.Value(c); err != nil {
				return err
			}
		}
		b.Write(value)
		if o.Desc {
			b.Write(" DESC")
		}
	}
	return nil
}

// rawText returns the text for the dialect, "" when there is none.
func rawText(d Dialect, texts map[string]string) string {
	for _, name := range d.Raw() {
		if text := texts[name]; text != "" {
			return text
		}
	}
	return ""
}

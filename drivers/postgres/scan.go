package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
	"github.com/durabench/durabench/drivers/wire"
)

// scan is a scan that is prepared on every connection of a client. As its literals never change, nor does what is sent to run it.
type scan struct {
	*sqlrender.Statement
	parsed  *parsed
	request []byte
}

// typesOf are the types of literals as parameters.
func typesOf(literals []query.Literal) []uint32 {
	types := make([]uint32, len(literals))
	for i, l := range literals {
		types[i] = oidOf[l.Kind]
	}
	return types
}

var oidOf = map[corpus.Kind]uint32{
	corpus.Bool: oidBool, corpus.Int: oidInt8, corpus.Float: oidFloat8, corpus.Decimal: oidNumeric, corpus.String: oidText, corpus.UUID: oidUUID,
	corpus.DateTime: oidTimestamptz, corpus.Bytes: oidBytea, corpus.Array: oidJSONB,
}

// CanScan refuses what PostgreSQL's texts cannot hold, and raw scans without words for it.
func (c *client) CanScan(s *query.Scan) error {
	if s.Raw != nil {
		return sqlrender.CanRaw(dialect{}, s.Raw)
	}
	return can(s.Where)
}

// can finds what PostgreSQL cannot do in a condition.
func can(p *query.Predicate) error {
	if p == nil {
		return nil
	}
	for _, l := range p.Values {
		if err := checkText(p.Path, l.Text); err != nil {
			return err
		}
	}
	for _, arg := range p.Args {
		if err := can(arg); err != nil {
			return err
		}
	}
	return nil
}

// scanTable is the table as scans name it.
func (d *database) scanTable() sqlrender.Table {
	return sqlrender.Table{Name: tableName, Corpus: d.corpus}
}

// PrepareScan renders the scan and prepares it on each connection of the client.
func (c *client) PrepareScan(ctx context.Context, s *query.Scan) (drivers.Statement, error) {
	rendered, err := sqlrender.Render(dialect{}, c.database.scanTable(), s)
	if err != nil {
		return nil, err
	}
	one := &scan{Statement: rendered, parsed: &parsed{what: "scan " + s.ID, sql: rendered.SQL, types: typesOf(rendered.Args)}}
	c.readied.add(one.parsed)
	if err = one.compose(); err == nil {
		err = c.prepare(ctx, one.parsed)
	}
	if err != nil {
		c.readied.forget(one.parsed)
		if codeOf(err) == undefinedObject {
			err = drivers.Unsupported{Why: "this server lacks something that the scan needs: " + err.Error()}
		}
		return nil, fmt.Errorf("prepare scan %s: %s: %w", s.ID, rendered.SQL, err)
	}
	return one, nil
}

// compose makes the request that runs the scan: Bind with all literals, Execute without a limit of rows, Sync.
func (s *scan) compose() (err error) {
	b := slices.Clone(newStatement(s.parsed.name, s.SQL, len(s.Args)).head)
	for _, l := range s.Args {
		if b, err = appendLiteral(b, l); err != nil {
			return err
		}
	}
	// Rows come in binary. Counts and aggregates come as text, which is exact and short whatever type PostgreSQL chose for them, after a group's value
	// in binary.
	switch {
	case s.Counted():
		b = append(b, 0, 1, 0, 0)
	case !s.Grouped():
		b = append(b, 0, 1, 0, 1)
	default:
		columns := len(s.Values)
		if s.Group != nil {
			columns++
		}
		b = binary.BigEndian.AppendUint16(b, uint16(columns))
		if s.Group != nil {
			b = append(b, 0, 1)
		}
		b = append(b, make([]byte, 2*len(s.Values))...)
	}
	if len(b) > math.MaxInt32 {
		return fmt.Errorf("literals of %d bytes: a message to PostgreSQL holds at most 2 GiB", len(b))
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1))
	if len(s.Args) > 0 {
		s.parsed.bind = slices.Clone(b)
	}
	s.request = append(b, tail[bindTail:]...)
	return nil
}

// appendLiteral appends a literal in the binary form of its type, as a parameter.
func appendLiteral(dst []byte, l query.Literal) ([]byte, error) {
	if l.Kind == corpus.Array {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(l.Text)+1))
		return append(append(dst, jsonbVersion), l.Text...), nil
	}
	var row corpus.Row
	var v corpus.Value
	sqlrender.Set(&row, &v, l)
	return appendCell(dst, &corpus.Field{Kind: l.Kind}, &v)
}

// Scan runs the statement and receives all rows.
func (c *client) Scan(ctx context.Context, statement drivers.Statement, answer *drivers.Answer) error {
	s := statement.(*scan)
	single := s.Single()
	keep, each := answer.Keep, answer.Each
	if single {
		answer.Keep, answer.Each = true, nil // the line is no row of the table
	}
	err := c.receive(ctx, c.link, answer, func(request []byte) ([]byte, error) { return append(request, s.request...), nil })
	answer.Keep, answer.Each = keep, each
	if err == nil && single {
		err = c.database.schema.cells(c.database.corpus).Finish(s.Statement, answer)
	}
	if err != nil {
		return fmt.Errorf("scan %s: %w", s.Scan.ID, err)
	}
	return nil
}

// receive sends a request and receives rows into the answer.
func (c *client) receive(ctx context.Context, link wire.Link, answer *drivers.Answer, request func([]byte) ([]byte, error)) error {
	seat, err := link.Take(ctx)
	if err != nil {
		answer.Reset()
		return err
	}
	defer link.Give(seat)
	if seat.Request, err = request(seat.Request); err != nil {
		return err
	}
	seat.Kind = scanning
	if each := answer.Each; each != nil {
		over := ctx
		if c.piped {
			// The reader of the pipe calls it, perhaps when we have gone already. So we stay until the answer is all there, and rows are passed over.
			ctx = context.WithoutCancel(ctx)
		}
		answer.Each = func() error {
			if err := over.Err(); err != nil {
				return err
			}
			*answer = seat.Answer // the row is in the call's, and its owner looks into his own
			return each()
		}
		defer func() { answer.Each = each }()
	}
	seat.Lend(answer)
	err = link.Do(ctx, seat)
	seat.Recall(answer)
	return err
}

// DecodeScan takes the cells apart.
func (c *client) DecodeScan(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	s := statement.(*scan)
	if s.Counted() || s.Grouped() {
		return fmt.Errorf("scan %s returns no rows of the table", s.Scan.ID)
	}
	return c.decodeRows(answer, s.Scan.Project == query.Full, each)
}

// decodeRows reads rows of a key and, when they are full, of all columns.
func (c *client) decodeRows(answer *drivers.Answer, full bool, each func(corpus.Key, *corpus.Row) error) error {
	return c.database.schema.cells(c.database.corpus).Rows(answer, full, each)
}

// DecodeGroups reads a line for each group.
func (c *client) DecodeGroups(statement drivers.Statement, answer *drivers.Answer) (groups []query.Group, err error) {
	return c.database.schema.cells(c.database.corpus).Groups(statement.(*scan).Statement, answer)
}

// cells reads the cells of answers. The binary forms of the keys' types are those that order them; numbers are text.
func (s *schema) cells(c *corpus.Corpus) sqlrender.Cells {
	return sqlrender.Cells{
		Template: s.template,
		Key:      func(cell []byte) (corpus.Key, error) { return corpus.ParseKey(c.KeyKind(), cell) },
		Value:    s.decodeCell,
		Group:    sqlrender.GroupOf(decodeCell, corpus.DateTime),
		Number: func(_ query.Func, _ sqlrender.Column, cell []byte) (float64, error) {
			return strconv.ParseFloat(string(cell), 64)
		},
	}
}

var _ drivers.Scanner = (*client)(nil)

package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// A load goes out in chunks: so many bytes of COPY data, or so many rows when rows are small.
const (
	chunkBytes = 512 << 10
	chunkRows  = 2000
)

// stage is the session's own table that rows go through when some of them are in the table already.
const stage = "durabench_stage"

// Load copies the rows into the table. Each chunk is one transaction on a measured connection: a COPY into the table itself, and only when
// that meets a key that is there already, a COPY into a temporary table and an upsert from there.
func (c *client) Load(ctx context.Context, from, to uint64, version uint32) error {
	for from < to {
		next, err := c.loadChunk(ctx, c.database.loadSQL.copy, from, to, version)
		if codeOf(err) == uniqueViolation {
			next, err = c.loadChunk(ctx, c.database.loadSQL.upsert, from, to, version)
		}
		if err != nil {
			return fmt.Errorf("load rows from %d: %w", from, err)
		}
		from = next
	}
	return nil
}

// loadSQL are the two ways to load a chunk.
type loadSQL struct{ copy, upsert string }

func (s *schema) loadSQL() loadSQL {
	var sets []string
	for _, c := range s.columns {
		sets = append(sets, c.name+" = EXCLUDED."+c.name)
	}
	into := func(table string) string {
		return fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", table, s.names())
	}
	return loadSQL{
		copy: into(tableName),
		upsert: fmt.Sprintf("CREATE TEMP TABLE %s (LIKE %s) ON COMMIT DROP; %s; INSERT INTO %s (%s) SELECT %s FROM %s ON CONFLICT (%s) DO UPDATE SET %s",
			stage, tableName, into(stage), tableName, s.names(), s.names(), stage, keyColumn, strings.Join(sets, ", ")),
	}
}

// loadChunk sends one chunk and returns the first row that is not in it. The statements, the data and the end of the data go out in one
// request: a server that refuses the statements passes over the data that follows.
func (c *client) loadChunk(ctx context.Context, sql string, from, to uint64, version uint32) (next uint64, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return from, err
	}
	defer c.link.Give(seat)
	seat.Kind = load
	seat.Request = appendMessage(seat.Request, 'Q', sql+"\x00")
	seat.Request = appendMessage(seat.Request, 'd', "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	var key corpus.KeyBuffer
	var row corpus.Row
	rows := c.database.corpus
	for next = from; next < to && next-from < chunkRows && len(seat.Request) < chunkBytes; next++ {
		rows.Row(&row, next, version)
		at := len(seat.Request)
		seat.Request = append(seat.Request, 'd', 0, 0, 0, 0)
		seat.Request = binary.BigEndian.AppendUint16(seat.Request, uint16(len(c.database.schema.columns)+1))
		if seat.Request, err = c.database.schema.appendCells(seat.Request, rows.Key(&key, next), &row); err != nil {
			return from, fmt.Errorf("row %d: %w", next, err)
		}
		binary.BigEndian.PutUint32(seat.Request[at+1:], uint32(len(seat.Request)-at-1))
	}
	seat.Request = appendMessage(seat.Request, 'd', "\xff\xff")
	seat.Request = appendMessage(seat.Request, 'c', "")
	if err := c.link.Do(ctx, seat); err != nil {
		return from, err
	}
	if seat.Rows != int64(next-from) {
		return from, fmt.Errorf("the server took %d rows of %d", seat.Rows, next-from)
	}
	return next, nil
}

func appendMessage(dst []byte, kind byte, body string) []byte {
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)+4))
	return append(dst, body...)
}

var (
	_ drivers.Loader = (*client)(nil)
	_ wire.Link      = (*wire.Direct)(nil)
	_ wire.Link      = (*wire.Pipe)(nil)
)

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

// loadChunk makes and sends one chunk and returns the first row that is not in it.
func (c *client) loadChunk(ctx context.Context, sql string, from, to uint64, version uint32) (next uint64, err error) {
	var key corpus.KeyBuffer
	var row corpus.Row
	rows := c.database.corpus
	sent, err := c.copyRows(ctx, sql, 0, chunkBytes, int(min(to-from, chunkRows)), func(i int) (corpus.Key, *corpus.Row) {
		rows.Row(&row, from+uint64(i), version)
		return rows.Key(&key, from+uint64(i)), &row
	})
	return from + uint64(sent), err
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

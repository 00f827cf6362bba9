package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/bench/corpus"
)

// Rows that will be searched have their vectors in pgvector's type, whose binary form is the number of components and an unused zero, two bytes
// each, and then the components as four bytes each.

const (
	extension     = "vector"
	maxDimensions = 16_000 // of pgvector's type
)

// appendVector appends a vector with its length, as a parameter and in a COPY.
func appendVector(dst []byte, components []float32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+4*len(components)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(components)))
	dst = append(dst, 0, 0)
	for _, x := range components {
		dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

// decodeVector reads a vector.
func decodeVector(cell []byte, row *corpus.Row, v *corpus.Value) error {
	if len(cell) < 4 {
		return fmt.Errorf("vector has %d bytes: it must have at least 4", len(cell))
	}
	n := int(binary.BigEndian.Uint16(cell))
	if len(cell) != 4+4*n {
		return fmt.Errorf("vector of %d components has %d bytes: it must have %d", n, len(cell), 4+4*n)
	}
	components := row.SetVector(v, n)
	for i := range components {
		components[i] = math.Float32frombits(binary.BigEndian.Uint32(cell[4+4*i:]))
	}
	return nil
}

// vectorOID asks for the number of pgvector's type on this server; 0 when no column has it.
func (s *schema) vectorOID(ctx context.Context, conn *pgconn.PgConn) (uint32, error) {
	if !s.searched {
		return 0, nil
	}
	rows, err := ask(ctx, conn, "SELECT coalesce(to_regtype('vector')::oid, 0)")
	if err != nil {
		return 0, err
	}
	oid, err := strconv.ParseUint(rows[0][0], 10, 32)
	return uint32(oid), err
}

// checkExtension makes sure that the server has pgvector, be it created in the database or not.
func (d *database) checkExtension(ctx context.Context, conn *pgconn.PgConn) error {
	if !d.schema.searched {
		return nil
	}
	rows, err := ask(ctx, conn, "SELECT (SELECT count(*) FROM pg_available_extensions WHERE name = '"+extension+"'), current_setting('server_version_num')::int / 10000, current_setting('server_version')")
	if err != nil {
		return err
	}
	if rows[0][0] == "0" {
		return fmt.Errorf("the server at %s (PostgreSQL %s) has no pgvector, which searches for nearest neighbours need: install it there, e.g. apt-get install postgresql-%s-pgvector, or use the image %s",
			addresses(d.config), rows[0][2], rows[0][1], vectorImage)
	}
	return nil
}

// createExtension makes pgvector known to the database.
func (d *database) createExtension(ctx context.Context, conn *pgconn.PgConn) error {
	if !d.schema.searched {
		return nil
	}
	if err := d.checkExtension(ctx, conn); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS "+extension).ReadAll()
	switch code := codeOf(err); code {
	case uniqueViolation, "42710": // somebody else did at the same time
		return nil
	case "42501":
		return fmt.Errorf("%w; have a superuser run CREATE EXTENSION %s in the database, or give the user CREATE on it", err, extension)
	}
	return err
}

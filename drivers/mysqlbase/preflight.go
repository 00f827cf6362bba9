package mysqlbase

import (
	"context"
	"fmt"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers/wire"
)

// controlConnections are those beside the measured ones: one at a time, to count rows and read settings.
const controlConnections = 1

// Preflight makes sure that the server can be written to, takes rows as large as the corpus makes, and has connections enough.
func (d *database) Preflight(ctx context.Context) error {
	if err := wire.CheckFiles(connections(d.load)); err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	return d.control(ctx, "preflight", func(c *controller) error {
		if err := d.checkSearches(); err != nil {
			return err
		}
		rows, err := c.query("SELECT @@read_only, @@max_connections, (SELECT variable_value FROM " + d.product.statusTable() + " WHERE variable_name = 'Threads_connected'), " +
			"@@max_prepared_stmt_count")
		if err != nil {
			return err
		}
		var n [4]int
		for i := range n {
			if n[i], err = strconv.Atoi(rows[0][i]); err != nil {
				return fmt.Errorf("read the server's limits: %w", err)
			}
		}
		if n[0] != 0 {
			return fmt.Errorf("the server at %s is read only (read_only): name the primary", d.endpoint.address)
		}
		if largest := d.schema.largestRow(); largest > d.packet {
			return fmt.Errorf("rows have up to %d bytes, and the server at %s takes requests of up to %d: raise max_allowed_packet, or make the values smaller",
				largest, d.endpoint.address, d.packet)
		}
		return d.checkConnections(n[1], n[2]-1, n[3]) // less our own
	})
}

// statusTable is where the server's counters can be selected from.
func (p Product) statusTable() string {
	if p.MariaDB {
		return "information_schema.global_status"
	}
	return "performance_schema.global_status"
}

// checkConnections compares the connections and prepared statements that the run needs with those that the server has.
func (d *database) checkConnections(maximum, used, statements int) error {
	measured := connections(d.load)
	needed := measured + controlConnections
	if left := maximum - used; needed > left {
		return fmt.Errorf("%d clients × %d threads need %d connections (%d measured, %d to control), but the server at %s has %d left: max_connections %d, less %d in use; "+
			"raise max_connections to at least %d, use fewer clients or threads",
			d.load.Clients, d.load.Threads, needed, measured, controlConnections, d.endpoint.address, max(left, 0), maximum, used, needed+used)
	}
	if most := measured * int(operations); most > statements {
		return fmt.Errorf("%d connections prepare %d statements, and the server at %s allows %d in all: raise max_prepared_stmt_count, or use fewer clients or threads",
			measured, most, d.endpoint.address, statements)
	}
	return nil
}

// largestRow is about how many bytes the largest row has in a request.
func (s *schema) largestRow() int {
	size := 0
	for _, c := range s.columns {
		size += largest(c.field)
	}
	return size
}

// largest is about how many bytes the largest value of a field has. Nested text may be escaped in JSON.
func largest(f *corpus.Field) int {
	switch f.Kind {
	case corpus.String, corpus.Bytes:
		return f.MaxLen + 9
	case corpus.Vector:
		return 4*f.Dim + 9
	case corpus.Array, corpus.Object:
		size := 2
		for i := range f.Elems {
			size += 2*largest(&f.Elems[i]) + len(f.Elems[i].Name) + 4
		}
		return size
	}
	return 40
}

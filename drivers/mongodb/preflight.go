package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers/wire"
)

// watchConnections are those that the driver opens beside the pool of each client, to watch the server.
const watchConnections = 2

// Preflight makes sure that the server can be written to, takes documents as large as the corpus makes, and has connections enough.
func (d *database) Preflight(ctx context.Context) error {
	measured := d.load.Clients * d.load.Threads
	needed := measured + (d.load.Clients+1)*watchConnections + 1
	if err := wire.CheckFiles(needed); err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	hello, err := d.run(ctx, "admin", "hello")
	if err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	if writable, ok := hello.Lookup("isWritablePrimary").BooleanOK(); ok && !writable {
		return fmt.Errorf("preflight: the server at %s is a secondary, which takes no writes: name the primary, or the whole replica set", d.address)
	}
	if most, ok := hello.Lookup("maxBsonObjectSize").AsInt64OK(); ok {
		size := int64(64)
		for i := range d.schema.fields {
			size += largest(&d.schema.fields[i])
		}
		if size > most {
			return fmt.Errorf("preflight: documents have up to %d bytes, and the server at %s takes %d: make the values smaller", size, d.address, most)
		}
	}
	status, err := d.run(ctx, "admin", "serverStatus")
	if err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	return d.checkConnections(status, measured, needed)
}

// checkConnections compares the connections that the run needs with those that the server has left. A server that does not tell is left to the
// connections themselves.
func (d *database) checkConnections(status bson.Raw, measured, needed int) error {
	current, known := status.Lookup("connections", "current").AsInt64OK()
	available, told := status.Lookup("connections", "available").AsInt64OK()
	if !known || !told || int64(needed) <= available {
		return nil
	}
	return fmt.Errorf("preflight: %d clients × %d threads need %d connections (%d measured, the others to watch the server), but the server at %s has %d left and %d in use; "+
		"raise net.maxIncomingConnections, or use fewer clients or threads", d.load.Clients, d.load.Threads, needed, measured, d.address, available, current)
}

// largest is about how many bytes the largest value of a field has in BSON, with its name.
func largest(f *corpus.Field) int64 {
	size := int64(len(f.Name)) + 24
	switch f.Kind {
	case corpus.String, corpus.Bytes:
		size += int64(f.MaxLen)
	case corpus.Vector:
		size += int64(f.Dim) * 16 // a double and the name that each element of an array has
	case corpus.Array, corpus.Object:
		for i := range f.Elems {
			size += largest(&f.Elems[i]) + 8
		}
	}
	return size
}

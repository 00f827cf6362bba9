package sqlite

import (
	"context"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// reader is a connection that reads, with its statement and memory for the key.
type reader struct {
	on     *connection
	schema *schema
	read   *statement // compiled at first use: the table may not be there when the client is opened
	params []byte
	scans  map[*scan]*statement
	whole  *statement // of a batch: the row of a key, with the key; compiled at first use
	ranged *statement // of Range; compiled at first use
	watch  watch
}

func (d *database) openReader() (*reader, error) {
	c, err := openConnection(d.path)
	if err != nil {
		return nil, err
	}
	if err := c.configure(d.pragmas(false)); err != nil {
		c.close()
		return nil, err
	}
	r := &reader{on: c, schema: d.schema, scans: make(map[*scan]*statement), watch: watch{on: c}}
	// Off the clock if the table is there already; else the first read does it.
	r.read, _ = c.prepare(d.schema.read)
	return r, nil
}

// fetch reads the row of a key.
func (r *reader) fetch(ctx context.Context, key corpus.Key, rec *drivers.Record) (found bool, err error) {
	if r.read == nil {
		if r.read, err = r.on.prepare(r.schema.read); err != nil {
			return false, err
		}
	}
	r.params = appendKey(r.params[:0], key)
	found, err = r.read.fetch(r.params, rec)
	if err == nil || !busy(err) {
		return found, err
	}
	err = retry(ctx, func() error {
		found, err = r.read.fetch(r.params, rec)
		return err
	})
	return found, err
}

func (r *reader) close() error {
	r.watch.end()
	for _, s := range r.scans {
		s.finalize()
	}
	for _, s := range []*statement{r.read, r.whole, r.ranged} {
		if s != nil {
			s.finalize()
		}
	}
	return r.on.close()
}

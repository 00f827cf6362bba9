package respbase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// Rows are values that the server cannot look into, so what it searches are copies of the vectors, with the columns by which searches filter. They are
// made by CreateIndex, which goes over all rows, and are of two kinds:
//
//	vector set     an element for each row, in one value of Redis 8: VADD builds the graph
//	query engine   a hash for each row, over which FT.CREATE builds a graph (HNSW) or a list (FLAT) in the background
//
// Writes of rows write the copies too (vectorwrite.go). The keys of both do not begin with the prefix of the rows, so that no scan, count or deletion of rows sees them. Which there are is written down in
// registryKey before the first copy is made.
const (
	registryKey  = "durabench-indexes" // a hash: the name of an index to its entry, as JSON
	setPrefix    = "durabench-set:"    // and the name of the index
	mirrorPrefix = "durabench-mirror:" // and the name of the index, a colon, and the key of the row
	enginePrefix = "durabench-"        // and the name: the query engine's own name of the index
)

// vectorDatabase is the database of a product that can search for nearest neighbours.
type vectorDatabase struct {
	*database
	// present are the copiers of the indexes that are there, as the registry had them when it was last read.
	present atomic.Pointer[[]*copier]
}

// vectorClient is a client of such a product.
type vectorClient struct {
	*client
	vectors *vectorDatabase
}

// entry is what is written down of an index.
type entry struct {
	Index query.Index `json:"index"`
	// Built tells that there is a copy of every row that was there.
	Built bool `json:"built"`
}

// of tells whether the entry is of an index that is the same in all that it says.
func (e entry) of(index query.Index) bool {
	written, err := json.Marshal(e.Index)
	asked, failed := json.Marshal(index)
	return err == nil && failed == nil && string(written) == string(asked)
}

// openVectors completes the database by the indexes that an earlier process has left.
func openVectors(ctx context.Context, d *database) (*vectorDatabase, error) {
	v := &vectorDatabase{database: d}
	v.present.Store(new([]*copier))
	return v, d.control(ctx, "read which indexes there are", func(c rueidis.Client) error {
		_, err := v.registry(ctx, c)
		return err
	})
}

// registry reads which indexes there are.
func (d *vectorDatabase) registry(ctx context.Context, c rueidis.Client) (entries []entry, err error) {
	texts, err := c.Do(ctx, c.B().Hgetall().Key(registryKey).Build()).AsStrMap()
	if _, refused := rueidis.IsRedisErr(err); refused && !d.load.Searches {
		return nil, nil // a user that may touch rows alone has no indexes
	}
	if err != nil {
		return nil, err
	}
	var present []*copier
	for name, text := range texts {
		var e entry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, fmt.Errorf("entry of index %s in %s: %w", name, registryKey, err)
		}
		entries = append(entries, e)
		// One that does not fit is of other rows, which are about to be removed.
		if c, err := newCopier(d.load.Corpus, e.Index); err == nil {
			present = append(present, c)
		}
	}
	d.present.Store(&present)
	return entries, nil
}

// rows counts the rows, with the keys of indexes left out.
func (d *vectorDatabase) rows(ctx context.Context, c rueidis.Client) (int64, error) {
	entries, err := d.registry(ctx, c)
	if err != nil {
		return 0, err
	}
	beside := []string{markKey, registryKey}
	for _, e := range entries {
		if e.Index.Vector.Strategy != query.VectorSet {
			return d.database.rows(ctx, c)
		}
		beside = append(beside, setPrefix+e.Index.Name)
	}
	return d.database.rows(ctx, c, beside...)
}

// Count counts the rows.
func (d *vectorDatabase) Count(ctx context.Context) (rows int64, err error) {
	err = d.control(ctx, "count the keys "+prefix+"*", func(c rueidis.Client) error {
		rows, err = d.rows(ctx, c)
		return err
	})
	return rows, err
}

// find reads the entry of an index.
func (d *vectorDatabase) find(ctx context.Context, c rueidis.Client, index query.Index) (found entry, there bool, err error) {
	entries, err := d.registry(ctx, c)
	for _, e := range entries {
		if e.Index.Name == index.Name {
			return e, true, nil
		}
	}
	return entry{}, false, err
}

// write writes an index down.
func (d *vectorDatabase) write(ctx context.Context, c rueidis.Client, e entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := c.Do(ctx, c.B().Hset().Key(registryKey).FieldValue().FieldValue(e.Index.Name, string(text)).Build()).Error(); err != nil {
		return err
	}
	_, err = d.registry(ctx, c)
	return err
}

// Prepare also removes all indexes.
func (d *vectorDatabase) Prepare(ctx context.Context) error {
	err := d.control(ctx, "prepare: remove the indexes", func(c rueidis.Client) error {
		entries, err := d.registry(ctx, c)
		for _, e := range entries {
			err = errors.Join(err, d.remove(ctx, c, e.Index))
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.database.Prepare(ctx)
}

// remove removes an index and what is written down of it, that last.
func (d *vectorDatabase) remove(ctx context.Context, c rueidis.Client, index query.Index) error {
	var err error
	if index.Vector.Strategy == query.VectorSet {
		err = c.Do(ctx, c.B().Unlink().Key(setPrefix+index.Name).Build()).Error()
	} else {
		err = dropFromEngine(ctx, c, index)
	}
	if err != nil {
		return fmt.Errorf("remove index %s: %w", index.Name, err)
	}
	if err := c.Do(ctx, c.B().Hdel().Key(registryKey).Field(index.Name).Build()).Error(); err != nil {
		return err
	}
	_, err = d.registry(ctx, c)
	return err
}

// Client opens a client's connections.
func (d *vectorDatabase) Client(ctx context.Context, i int) (drivers.Client, error) {
	c, err := d.client(ctx, i)
	if err != nil {
		return nil, err
	}
	return &vectorClient{client: c, vectors: d}, nil
}

// CanScan is the client's, said again for the nil pointer that it is called on.
func (c *vectorClient) CanScan(s *query.Scan) error { return (*client)(nil).CanScan(s) }

// MaxBatch is the client's, as CanScan is.
func (c *vectorClient) MaxBatch() int { return (*client)(nil).MaxBatch() }

// Preflight also makes sure that the server has what vectors are searched with, where they are to be.
func (d *vectorDatabase) Preflight(ctx context.Context) error {
	if err := d.database.Preflight(ctx); err != nil || !d.load.Searches {
		return err
	}
	return d.control(ctx, "preflight", func(c rueidis.Client) error {
		sets, err := knows(ctx, c, "VADD")
		if err != nil || sets {
			return err
		}
		engine, err := knows(ctx, c, "FT.SEARCH")
		if err != nil || engine {
			return err
		}
		return drivers.Unsupported{Why: fmt.Sprintf("the server at %s has neither vector sets nor a query engine: asked for COMMAND INFO VADD FT.SEARCH, it answered that it knows neither; "+
			"Redis 8 has both", d.server.address)}
	})
}

// Settings also reads which modules there are: they are what searches.
func (d *vectorDatabase) Settings(ctx context.Context) (drivers.Settings, error) {
	settings, err := d.database.Settings(ctx)
	if err != nil {
		return settings, err
	}
	err = d.control(ctx, "read which modules there are", func(c rueidis.Client) error {
		modules, err := c.Do(ctx, c.B().ModuleList().Build()).ToArray()
		if _, refused := rueidis.IsRedisErr(err); refused {
			return nil // it does not let this user
		}
		if err != nil {
			return err
		}
		var names []string
		for _, module := range modules {
			about, err := module.AsMap()
			if err != nil {
				return err
			}
			name, version := about["name"], about["ver"]
			text, err := name.ToString()
			if err != nil {
				return err
			}
			number, err := version.AsInt64()
			if err != nil {
				return err
			}
			names = append(names, fmt.Sprintf("%s %d", text, number))
		}
		if len(names) > 0 {
			slices.Sort(names)
			settings.Values = append(settings.Values, drivers.Setting{Name: "modules", Value: strings.Join(names, ", "), Why: "vectorset has the vector sets, search is the query engine"})
		}
		return nil
	})
	return settings, err
}

// knows asks the server whether it has a command.
func knows(ctx context.Context, c rueidis.Client, command string) (bool, error) {
	answers, err := c.Do(ctx, c.B().CommandInfo().CommandName(command).Build()).ToArray()
	if err != nil || len(answers) != 1 {
		return false, err
	}
	return !answers[0].IsNil(), nil
}

// aside opens a client whose connection is none of the measured ones, with as many requests in flight as the way of carrying them gives.
func (d *vectorDatabase) aside(ctx context.Context) (*client, error) {
	link, err := wire.NewDirect(ctx, wire.Protocol{Dial: d.signIn, Parse: parse}, 1)
	if err != nil {
		return nil, err
	}
	return &client{database: d.database, link: link}, nil
}

// valueAt returns what a row holds at a place.
func valueAt(row *corpus.Row, at []int) *corpus.Value {
	values := row.Columns
	for _, i := range at[:len(at)-1] {
		values = values[i].Elems()
	}
	return &values[at[len(at)-1]]
}

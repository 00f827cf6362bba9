package respbase

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/kvscan"
	"github.com/durabench/durabench/drivers/wire"
)

// CanIndex says which indexes there are: those of vectors, in vector sets and in the query engine.
func (d *vectorDatabase) CanIndex(index query.Index) error {
	if index.Kind != query.Nearest || index.Vector == nil {
		return drivers.Unsupported{Why: fmt.Sprintf("a key-value store has no index of kind %q: it does not look into values", index.Kind)}
	}
	return canSearchIndex(index)
}

// canSearchIndex says which indexes on vectors there are.
func canSearchIndex(index query.Index) error {
	v := index.Vector
	if v == nil {
		return fmt.Errorf("index %s is none for nearest neighbours", index.Name)
	}
	switch v.Strategy {
	case query.VectorSet:
		if v.Metric != query.Cosine {
			return drivers.Unsupported{Why: fmt.Sprintf("a vector set of Redis compares by %s only, not by %s", query.Cosine, v.Metric)}
		}
		if _, has := setForms[v.Quantisation]; !has {
			return drivers.Unsupported{Why: fmt.Sprintf("a vector set of Redis keeps vectors whole, as %s or as %s, not as %s", query.Int8, query.Bits, v.Quantisation)}
		}
	case query.HNSW, query.BruteForce:
		if engineMetrics[v.Metric] == "" {
			return drivers.Unsupported{Why: fmt.Sprintf("Redis's query engine has no metric %q", v.Metric)}
		}
		if v.Quantisation != "" {
			return drivers.Unsupported{Why: fmt.Sprintf("Redis's query engine keeps vectors whole here, not as %s", v.Quantisation)}
		}
	default:
		return drivers.Unsupported{Why: fmt.Sprintf("Redis has no vector index of strategy %q: it has %s, and in its query engine %s and %s", v.Strategy, query.VectorSet, query.HNSW, query.BruteForce)}
	}
	return nil
}

// setForms are the forms in which a vector set keeps vectors, as VADD takes them.
var setForms = map[query.Quantisation]string{"": "NOQUANT", query.Int8: "Q8", query.Bits: "BIN"}

// CreateIndex goes over all rows and makes a copy of each one's vector, with the columns by which searches filter. A build that was broken off is taken
// up again: copies that are there are made once more, which leaves them as they are.
func (d *vectorDatabase) CreateIndex(ctx context.Context, index query.Index) error {
	if err := d.CanIndex(index); err != nil {
		return err
	}
	if err := drivers.CheckIndex(d.template, index); err != nil {
		return err
	}
	return d.control(ctx, "create index "+index.Name, func(c rueidis.Client) error {
		needed := "FT.CREATE"
		if index.Vector.Strategy == query.VectorSet {
			needed = "VADD"
		}
		has, err := knows(ctx, c, needed)
		if err != nil {
			return err
		}
		if !has {
			return drivers.Unsupported{Why: fmt.Sprintf("asked for COMMAND INFO %s, the server at %s answered that it does not know it: it has no indexes of strategy %s", needed, d.server.address, index.Vector.Strategy)}
		}
		e, there, err := d.find(ctx, c, index)
		switch {
		case err != nil:
			return err
		case there && e.Built:
			return drivers.ErrExists
		case there && !e.of(index):
			if err := d.remove(ctx, c, e.Index); err != nil {
				return err
			}
		}
		if err := d.write(ctx, c, entry{Index: index}); err != nil {
			return err
		}
		if err := d.copyRows(ctx, index); err != nil {
			return err
		}
		if index.Vector.Strategy != query.VectorSet {
			if err := createInEngine(ctx, c, d.template, index); err != nil {
				return err
			}
		}
		return d.write(ctx, c, entry{Index: index, Built: true})
	})
}

// mostCopied bounds a request of copies, in bytes.
const mostCopied = 1 << 20

// copyRows makes the copies of all rows, a part of them at a time. A row that comes twice is copied twice, which does no harm and takes no memory.
func (d *vectorDatabase) copyRows(ctx context.Context, index query.Index) (err error) {
	c, err := d.aside(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	copier, err := newCopier(d.load.Corpus, index)
	if err != nil {
		return err
	}
	var request []byte
	commands := 0
	flush := func() error {
		if commands == 0 {
			return nil
		}
		_, err := c.command(ctx, several, func(seat *wire.Seat) {
			seat.Left = commands
			seat.Request = append(seat.Request, request...)
		})
		request, commands = request[:0], 0
		return err
	}
	var row corpus.Row
	all := kvscan.New(d.template, &query.Scan{Project: query.Full})
	var values drivers.Record
	err = c.pages(ctx, scanCount, func(keys [][]byte) error {
		return c.visit(ctx, all, keys, &values, func(key, value []byte) error {
			if err := corpus.ParseBinary(d.template, value, &row); err != nil {
				return fmt.Errorf("row of key %x: %w", key, err)
			}
			request, commands = copier.append(request, key, &row), commands+1
			if len(request) < mostCopied {
				return nil
			}
			return flush()
		})
	})
	if err == nil {
		err = flush()
	}
	return err
}

// copier writes the commands that copy rows for an index. It does not change, so that all may use it at once.
type copier struct {
	index   query.Index
	vector  []int   // where the vector is in a row
	filters [][]int // where the columns are by which searches filter
}

func newCopier(c *corpus.Corpus, index query.Index) (*copier, error) {
	made := &copier{index: index}
	for i, path := range append([]query.Path{index.Paths[0]}, index.Vector.Filters...) {
		column, err := query.Resolve(c.Template(), path)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", index.Name, err)
		}
		if i == 0 {
			made.vector = column.At
			continue
		}
		made.filters = append(made.filters, column.At)
	}
	return made, nil
}

// words is how many words the command has that copies a row.
func (c *copier) words() int {
	v := c.index.Vector
	if v.Strategy != query.VectorSet {
		return 4 + 2*len(c.filters)
	}
	words := 6
	for _, more := range []bool{v.EfConstruction != 0, v.M != 0, len(c.filters) > 0} {
		if more {
			words += 2
		}
	}
	return words
}

// append appends the command that copies a row.
func (c *copier) append(dst, key []byte, row *corpus.Row) []byte {
	dst = strconv.AppendInt(append(dst, '*'), int64(c.words()), 10)
	return c.appendWords(append(dst, "\r\n"...), key, row)
}

// appendWords appends the words of the command that copies a row, each as a bulk string.
func (c *copier) appendWords(dst, key []byte, row *corpus.Row) []byte {
	v := c.index.Vector
	if v.Strategy != query.VectorSet {
		return c.appendMirror(dst, key, row)
	}
	dst = appendWords(dst, "VADD", setPrefix+c.index.Name, "FP32")
	dst = c.appendVector(dst, row)
	dst = appendBulk(dst, key)
	dst = appendWords(dst, setForms[v.Quantisation])
	if v.EfConstruction != 0 {
		dst = appendWords(dst, "EF", strconv.Itoa(v.EfConstruction))
	}
	if len(c.filters) > 0 {
		attributes := []byte{'{'}
		for i, at := range c.filters {
			if i > 0 {
				attributes = append(attributes, ',')
			}
			attributes = append(append(append(attributes, '"'), attribute(i)...), '"', ':')
			attributes = appendOperand(attributes, query.LiteralOf(valueAt(row, at)))
		}
		dst = appendBulk(appendWords(dst, "SETATTR"), append(attributes, '}'))
	}
	if v.M != 0 {
		dst = appendWords(dst, "M", strconv.Itoa(v.M))
	}
	return dst
}

// appendVector appends a row's vector as a bulk string.
func (c *copier) appendVector(dst []byte, row *corpus.Row) []byte {
	return appendVector(dst, valueAt(row, c.vector).Floats())
}

// appendVector appends a vector as a bulk string of 32-bit floats.
func appendVector(dst []byte, vector []float32) []byte {
	dst = strconv.AppendInt(append(dst, '$'), int64(4*len(vector)), 10)
	dst = append(dst, "\r\n"...)
	for _, x := range vector {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return append(dst, "\r\n"...)
}

// IndexState compares the copies with the rows.
func (d *vectorDatabase) IndexState(ctx context.Context, index query.Index) (state drivers.IndexState, err error) {
	set := index.Vector == nil || index.Vector.Strategy == query.VectorSet
	state.How = "FT.INFO: indexing is 0, no failures, and num_docs is the number of rows"
	if set {
		state.How = "every row was added, and VCARD is the number of rows"
	}
	err = d.control(ctx, "look at index "+index.Name, func(c rueidis.Client) error {
		e, there, err := d.find(ctx, c, index)
		if err != nil || !there {
			return err
		}
		state.Exists = true
		if !set {
			return d.stateInEngine(ctx, c, e, &state)
		}
		rows, err := d.rows(ctx, c)
		if err != nil {
			return err
		}
		elements, err := c.Do(ctx, c.B().Arbitrary("VCARD").Keys(setPrefix+index.Name).Build()).AsInt64()
		if err != nil {
			return err
		}
		state.Detail = fmt.Sprintf("VCARD %d of %d rows, all added: %t", elements, rows, e.Built)
		state.Ready = e.Built && elements == rows
		bytes, err := c.Do(ctx, c.B().MemoryUsage().Key(setPrefix+index.Name).Build()).AsInt64()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		state.Bytes = bytes
		return nil
	})
	return state, err
}

// DropIndex removes the copies.
func (d *vectorDatabase) DropIndex(ctx context.Context, index query.Index) error {
	return d.control(ctx, "drop index "+index.Name, func(c rueidis.Client) error {
		e, there, err := d.find(ctx, c, index)
		if err != nil {
			return err
		}
		if !there {
			return drivers.ErrNotFound
		}
		return d.remove(ctx, c, e.Index)
	})
}

var (
	_ drivers.Indexer     = (*vectorDatabase)(nil)
	_ drivers.Preflighter = (*vectorDatabase)(nil)
)

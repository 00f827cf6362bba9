package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// testRowShapes stores rows that are large, narrow, wide or empty.
func testRowShapes(t *testing.T, h Harness) {
	wide := map[string]any{}
	for i := range 120 {
		wide[fmt.Sprintf("c%03d", i)] = []string{"int:0..100", "string:8", "bool", "float:0..1"}[i%4]
	}
	for name, value := range map[string]map[string]any{
		"OneColumn":       {"v": "int"},
		"OneText":         {"v": "string:1"},
		"Empty":           {"blob": "bytes:0", "text": "string:0"},
		"SQLWordsAsNames": {"select": "int", "table": "string:3", "order": "bool", "key": "int:0..9", "value": "string:5", "user": "string:5", "group": "int"},
		"OneNested":       {"v": []any{"bool"}},
		"Large":           {"blob": "bytes:70000", "text": "string:200000"},
		"LargeNested":     {"v": map[string]any{"list": []any{"string:40000", "string:40000"}}},
		"Wide":            wide,
	} {
		t.Run(name, func(t *testing.T) {
			s := h.open(t, makeCorpus(t, value, corpus.KeyString26, false))
			c := s.caller(0)
			for index := range uint64(3) {
				must(t, c.create(t.Context(), index, 0))
				must(t, c.check(t.Context(), index, 0))
				must(t, c.update(t.Context(), index, 1))
				must(t, c.check(t.Context(), index, 1))
			}
		})
	}
}

// testUpdateReplaces replaces a row of long cells with one of empty cells and back: nothing of the old row may be left.
func testUpdateReplaces(t *testing.T, h Harness) {
	value := map[string]any{"blob": "bytes:0..5000", "list": []any{"string:0..5000"}, "number": "int", "text": "string:0..5000"}
	s := h.open(t, makeCorpus(t, value, corpus.KeyInteger, false))
	c, ctx, key := s.caller(0), t.Context(), corpus.IntegerKey(1)
	put := func(n int) {
		c.fill(func(name string, row *corpus.Row, cell *corpus.Value) {
			content := bytes.Repeat([]byte("x"), n)
			switch name {
			case "blob":
				row.SetBytes(cell, content)
			case "list":
				row.SetString(&row.SetArray(cell, 1)[0], content)
			case "number":
				row.SetInt(cell, int64(n))
			case "text":
				row.SetString(cell, content)
			}
		})
	}
	put(4999)
	must(t, c.roundTrip(ctx, key, &c.row))
	for _, n := range []int{0, 1, 4999, 10, 0, 3000} {
		put(n)
		must(t, c.client.Update(ctx, key, &c.row))
		must(t, c.client.Read(ctx, key, &c.record))
		if err := c.same(&c.record, &c.row); err != nil {
			t.Errorf("cells of %d bytes: %v", n, err)
		}
	}
	s.count(1)
}

// testRecords keeps records while other operations go on: an answer belongs to its record alone.
func testRecords(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(1, 2))
	c, ctx := s.caller(0), t.Context()
	for index := range uint64(10) {
		must(t, c.create(ctx, index, 0))
	}
	records := make([]drivers.Record, 10)
	for index := range records {
		must(t, c.client.Read(ctx, c.corpus.Key(&c.key, uint64(index)), &records[index]))
	}
	for index := range uint64(10) {
		must(t, c.update(ctx, index, 1))
		must(t, c.check(ctx, index, 1))
		must(t, c.delete(ctx, index))
	}
	for index := uint64(10); index < 40; index++ {
		must(t, c.create(ctx, index, 5))
	}
	for index := range records {
		if err := c.verify(&records[index], uint64(index), 0); err != nil {
			t.Errorf("a record changed with later operations: row %d: %v", index, err)
		}
		// Decoding twice gives the same, and decoding leaves the record as it is.
		if err := c.verify(&records[index], uint64(index), 0); err != nil {
			t.Errorf("a record changed by being decoded: row %d: %v", index, err)
		}
	}
	// Writing over one record's memory must not show in another's, nor in the database.
	must(t, c.client.Read(ctx, c.corpus.Key(&c.key, 10), &records[0]))
	must(t, c.client.Read(ctx, c.corpus.Key(&c.key, 10), &records[1]))
	if records[0].Held == nil {
		for i := range records[0].Bytes {
			records[0].Bytes[i] ^= 0xff
		}
		for i := range records[0].Ends {
			records[0].Ends[i] = 0
		}
	}
	if err := c.verify(&records[1], 10, 5); err != nil {
		t.Errorf("two records share memory: %v", err)
	}
	must(t, c.check(ctx, 10, 5))
	// One record is used again for rows of other lengths.
	for index := uint64(39); index >= 10; index-- {
		must(t, c.client.Read(ctx, c.corpus.Key(&c.key, index), &records[2]))
		must(t, c.verify(&records[2], index, 5))
	}
}

// testCallersMemory scribbles over keys and rows as soon as an operation is back: a driver may not go on using them.
func testCallersMemory(t *testing.T, h Harness) {
	for _, kind := range []corpus.KeyKind{corpus.KeyString26, corpus.KeyUUID} {
		t.Run(string(kind), func(t *testing.T) {
			s := h.open(t, makeCorpus(t, plainTemplate, kind, false))
			c, ctx := s.caller(0), t.Context()
			scribble := func(key corpus.Key) {
				for i := range key.Bytes() {
					key.Bytes()[i] = 'x'
				}
				for i := range c.row.Columns {
					for j := range c.row.Columns[i].Bytes() {
						c.row.Columns[i].Bytes()[j] = 'y'
					}
				}
			}
			for index := range uint64(20) {
				c.corpus.Row(&c.row, index, 0)
				key := c.corpus.Key(&c.key, index)
				must(t, c.client.Create(ctx, key, &c.row))
				scribble(key)
				if index%2 == 0 {
					c.corpus.Row(&c.row, index, 1)
					key = c.corpus.Key(&c.key, index)
					must(t, c.client.Update(ctx, key, &c.row))
					scribble(key)
				}
			}
			for index := range uint64(20) {
				must(t, c.check(ctx, index, uint32(1-index%2)))
			}
			// And the driver leaves the caller's memory as it is.
			c.corpus.Row(&c.row, 50, 0)
			key := c.corpus.Key(&c.key, 50)
			before, sum := slices.Clone(key.Bytes()), c.row.Checksum()
			must(t, c.client.Create(ctx, key, &c.row))
			must(t, c.client.Update(ctx, key, &c.row))
			must(t, c.client.Read(ctx, key, &c.record))
			must(t, c.client.Delete(ctx, key))
			if !bytes.Equal(before, key.Bytes()) || sum != c.row.Checksum() {
				t.Error("the driver wrote to the caller's key or row")
			}
		})
	}
}

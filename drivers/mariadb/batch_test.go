package mariadb_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// items are keys and rows of a corpus.
type items struct {
	corpus *corpus.Corpus
	keys   []corpus.Key
	rows   []*corpus.Row
}

func itemsOf(c *corpus.Corpus, from, to uint64, version uint32) (all items) {
	all.corpus = c
	for index := from; index < to; index++ {
		var buffer corpus.KeyBuffer
		row := &corpus.Row{}
		c.Row(row, index, version)
		all.keys, all.rows = append(all.keys, c.Key(&buffer, index)), append(all.rows, row)
	}
	return all
}

// check reads all rows in a batch and compares them. It returns the requests.
func (all items) check(t *testing.T, batcher drivers.Batcher) int {
	t.Helper()
	answer := drivers.Answer{Keep: true}
	requests, err := batcher.ReadBatch(t.Context(), all.keys, &answer)
	drivertest.Must(t, err)
	rows := 0
	drivertest.Must(t, batcher.DecodeBatch(&answer, func(key corpus.Key, row *corpus.Row) error {
		index, _ := all.corpus.Index(key)
		first, _ := all.corpus.Index(all.keys[0])
		rows++
		if column, want, got, same := corpus.Diff(all.corpus.Template(), all.rows[index-first], row); !same {
			return fmt.Errorf("row %d: column %s is %s, want %s", index, column, got, want)
		}
		return nil
	}))
	if rows != len(all.keys) {
		t.Fatalf("%d rows, want %d", rows, len(all.keys))
	}
	return requests
}

// requests counts what the server was asked for by clients of ours: statements prepared and run, transactions begun and ended.
func requests(t *testing.T, conn *sql.Conn) (sum int) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_stmt_prepare', 'Com_stmt_execute', 'Com_begin', 'Com_commit', 'Com_rollback')")
	drivertest.Must(t, err)
	for rows.Next() {
		var name, value string
		drivertest.Must(t, rows.Scan(&name, &value))
		n, err := strconv.Atoi(value)
		drivertest.Must(t, err)
		sum += n
	}
	drivertest.Must(t, errors.Join(rows.Err(), rows.Close()))
	return sum
}

func TestBatchesAreSplitAtWhatTheServerTakesAndCounted(t *testing.T) {
	for _, test := range []struct {
		name   string
		value  map[string]any
		packet string
		rows   uint64
		// requests for create, read, update (with BEGIN and COMMIT each), read again and delete, those that prepare a statement among them
		want [5]int
	}{
		// A statement has up to 65,535 values: 21,845 rows of 3. A list has up to 10,000 keys. Of either there is a rest: two statements are prepared.
		{"values", map[string]any{"name": "string:10", "number": "int"}, "16777216", 22_000, [5]int{2 + 2, 3 + 2, 6 + 2, 3, 3 + 2}},
		// Rows of 40 kB: 26 would fit in a request of 1 MiB, so there are 16, 16, 16 and 12.
		{"bytes", map[string]any{"large": "bytes:40000"}, "1048576", 60, [5]int{4 + 2, 1 + 1, 12 + 2, 1, 1 + 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			template, err := corpus.ParseTemplate(test.value)
			drivertest.Must(t, err)
			c, err := corpus.New(7, template, corpus.KeyInteger, false)
			drivertest.Must(t, err)
			config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c })
			conn := control(t, config)
			run(t, conn, "SET GLOBAL max_allowed_packet = "+test.packet)
			t.Cleanup(func() { run(t, conn, "SET GLOBAL max_allowed_packet = 16777216") })
			database := drivertest.Open(t, engine(t), config)
			drivertest.Must(t, database.Prepare(t.Context()))
			batcher := drivertest.Clients(t, database, config)[0].(drivers.Batcher)
			before, after := itemsOf(c, 0, test.rows, 0), itemsOf(c, 0, test.rows, 1)
			for i, operation := range []func() (int, error){
				func() (int, error) { return batcher.CreateBatch(t.Context(), before.keys, before.rows) },
				func() (int, error) { return before.check(t, batcher), nil },
				func() (int, error) { return batcher.UpdateBatch(t.Context(), after.keys, after.rows) },
				func() (int, error) { return after.check(t, batcher), nil },
				func() (int, error) { return batcher.DeleteBatch(t.Context(), after.keys) },
			} {
				counted := requests(t, conn)
				n, err := operation()
				drivertest.Must(t, err)
				counted = requests(t, conn) - counted
				if n != test.want[i] || counted != n {
					t.Errorf("operation %d took %d requests by the driver, %d by the server, want %d", i, n, counted, test.want[i])
				}
			}
			if rows, err := database.(drivers.Counter).Count(t.Context()); err != nil || rows != 0 {
				t.Errorf("%d rows are left: %v", rows, err)
			}
		})
	}
}

// Rows of many lengths fit into a request in ever other numbers, and yet few statements serve all batches. A connection keeps a bounded number of
// statements at the server.
func TestStatementsOfBatchesAreUsedAgainAndClosed(t *testing.T) {
	template, err := corpus.ParseTemplate(map[string]any{"large": "bytes:20000..50000"})
	drivertest.Must(t, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c })
	conn := control(t, config)
	run(t, conn, "SET GLOBAL max_allowed_packet = 1048576")
	t.Cleanup(func() { run(t, conn, "SET GLOBAL max_allowed_packet = 16777216") })
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	batcher := drivertest.Clients(t, database, config)[0].(drivers.Batcher)
	create := func(from, to uint64) {
		t.Helper()
		all := itemsOf(c, from, to, 0)
		_, err := batcher.CreateBatch(t.Context(), all.keys, all.rows)
		drivertest.Must(t, err)
	}
	status := func(name string) (n int) {
		t.Helper()
		var value string
		drivertest.Must(t, conn.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &value))
		n, err := strconv.Atoi(value)
		drivertest.Must(t, err)
		return n
	}
	prepared := status("Com_stmt_prepare")
	for batch := range uint64(10) {
		create(batch*60, batch*60+60)
	}
	if prepared = status("Com_stmt_prepare") - prepared; prepared > 3 {
		t.Errorf("10 batches of one size prepared %d statements", prepared)
	}

	open := status("Prepared_stmt_count")
	for size := range uint64(60) {
		all := itemsOf(c, 0, size+1, 0)
		all.check(t, batcher)
	}
	const mostKept = 24
	if more := status("Prepared_stmt_count") - open; more > mostKept {
		t.Errorf("the server keeps %d statements of one connection, want at most %d", more, mostKept)
	}
}

func TestABatchOfUpdatesAddsNoRowsAndSparesOthers(t *testing.T) {
	config := small(t, 1, 1, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	batcher := drivertest.Clients(t, database, config)[0].(drivers.Batcher)
	first := itemsOf(config.Corpus, 0, 10, 0)
	_, err := batcher.CreateBatch(t.Context(), first.keys, first.rows)
	drivertest.Must(t, err)

	// Two of the rows are not there.
	beyond := itemsOf(config.Corpus, 2, 12, 1)
	if _, err := batcher.UpdateBatch(t.Context(), beyond.keys, beyond.rows); !errors.Is(err, drivers.ErrNotFound) {
		t.Errorf("rows that are not there: %v", err)
	}
	first.check(t, batcher)
	if rows, err := database.(drivers.Counter).Count(t.Context()); err != nil || rows != 10 {
		t.Errorf("%d rows, want 10: %v", rows, err)
	}

	// Some rows are as they are to be already.
	second := itemsOf(config.Corpus, 0, 10, 1)
	_, err = batcher.UpdateBatch(t.Context(), second.keys[:4], second.rows[:4])
	drivertest.Must(t, err)
	for range 2 {
		_, err = batcher.UpdateBatch(t.Context(), second.keys, second.rows)
		drivertest.Must(t, err)
		second.check(t, batcher)
	}

	// A row that would be equal to another in a unique index: the server must not change the other in its place.
	drivertest.Must(t, database.(drivers.Indexer).CreateIndex(t.Context(), query.Index{Name: "unique_number", Kind: query.Ordered, Unique: true, Paths: []query.Path{{"number"}}}))
	third := itemsOf(config.Corpus, 0, 10, 2)
	third.rows[3].SetInt(&third.rows[3].Columns[1], second.rows[7].Columns[1].Int())
	if _, err := batcher.UpdateBatch(t.Context(), third.keys[3:4], third.rows[3:4]); err == nil {
		t.Error("a row equal to another in a unique index was taken")
	}
	second.check(t, batcher)
}

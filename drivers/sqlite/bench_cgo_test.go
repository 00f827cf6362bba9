//go:build cgo

package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the bare library

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// scannedRows is how many rows a scan of the benchmarks receives.
const scannedRows = 10_000

// scanned is a table of rows of about 1 KB.
func scanned(b *testing.B) (drivers.Config, drivers.Client) {
	b.Helper()
	template, err := corpus.ParseTemplate(drivertest.WideRow)
	drivertest.Must(b, err)
	config := configOf(b, corpus.KeyInteger)
	config.Corpus, err = corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(b, err)
	_, client := openIt(b, config)
	drivertest.Must(b, client.(drivers.Loader).Load(b.Context(), 0, scannedRows, 0))
	return config, client
}

// BenchmarkScan receives all columns of all rows; it is to be seen against BenchmarkBareScan.
func BenchmarkScan(b *testing.B) {
	config, client := scanned(b)
	drivertest.BenchmarkFullScan(b, client, config.Corpus, scannedRows)
}

// BenchmarkBareScan is the same by the library's own database/sql driver, with nothing around it: every column of every row is received, and forgotten.
func BenchmarkBareScan(b *testing.B) {
	config, _ := scanned(b)
	library, err := sql.Open("sqlite3", "file:"+filepath.Join(config.Dir, fileName)+"?mode=ro")
	drivertest.Must(b, err)
	defer library.Close()
	library.SetMaxOpenConns(1)
	statement, err := library.Prepare("SELECT * FROM record")
	drivertest.Must(b, err)
	drivertest.BenchmarkRows(b, scannedRows, func() (n int64) {
		rows, err := statement.Query()
		drivertest.Must(b, err)
		columns, err := rows.Columns()
		drivertest.Must(b, err)
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(sql.RawBytes)
		}
		for rows.Next() {
			drivertest.Must(b, rows.Scan(cells...))
			n++
		}
		drivertest.Must(b, rows.Err())
		drivertest.Must(b, rows.Close())
		return n
	})
}

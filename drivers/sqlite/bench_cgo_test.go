//go:build cgo

package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the bare library

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// scannedRows is how many rows a scan of the benchmarks receives.
const scannedRows = 10_000

// scanned is a table of rows of about 1 KB.
func scanned(b *testing.B) (drivers.Config, drivers.Client) {
	b.Helper()
	template, err := corpus.ParseTemplate(map[string]any{
		"age": "int:1..100", "author": "string:20", "created": "datetime", "enabled": "bool", "labels": []any{"string_enum:red,green", "string_enum:north,south"},
		"place": map[string]any{"code": "string:3", "notes": "text:100"}, "rating": "float:0..100", "stock": "int:1..5000", "summary": "text:100..400",
		"title": "string:50", "trace": "uuid", "words": "words:100;river,stone,copper,silver",
	})
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
	scan, err := query.Bind(&query.Scan{ID: "all", Project: query.Full}, config.Corpus.Template())
	drivertest.Must(b, err)
	scanner := client.(drivers.Scanner)
	statement, err := scanner.PrepareScan(b.Context(), scan)
	drivertest.Must(b, err)
	var answer drivers.Answer
	b.ReportAllocs()
	for b.Loop() {
		drivertest.Must(b, scanner.Scan(b.Context(), statement, &answer))
		if answer.Rows != scannedRows {
			b.Fatalf("%d rows", answer.Rows)
		}
	}
	b.ReportMetric(float64(b.N)*scannedRows/b.Elapsed().Seconds(), "rows/s")
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
	b.ReportAllocs()
	for b.Loop() {
		rows, err := statement.Query()
		drivertest.Must(b, err)
		columns, err := rows.Columns()
		drivertest.Must(b, err)
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(sql.RawBytes)
		}
		n := 0
		for rows.Next() {
			drivertest.Must(b, rows.Scan(cells...))
			n++
		}
		drivertest.Must(b, rows.Err())
		drivertest.Must(b, rows.Close())
		if n != scannedRows {
			b.Fatalf("%d rows", n)
		}
	}
	b.ReportMetric(float64(b.N)*scannedRows/b.Elapsed().Seconds(), "rows/s")
}

package mariadb_test

import (
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

const scannedRows = 10_000

// wideRow is a row of about 1 KB.
var wideRow = map[string]any{
	"age": "int:1..100", "author": "string:20", "cash": "decimal", "created": "datetime", "enabled": "bool", "labels": []any{"string_enum:red,green", "string_enum:north,south"},
	"place": map[string]any{"code": "string:3", "notes": "text:100"}, "rating": "float:0..100", "stock": "int:1..5000", "summary": "text:100..400", "title": "string:50",
	"trace": "uuid", "words": "words:100;river,stone,copper,silver",
}

// scanned is a table of such rows.
func scanned(b *testing.B) (drivers.Config, drivers.Client) {
	b.Helper()
	template, err := corpus.ParseTemplate(wideRow)
	drivertest.Must(b, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(b, err)
	config := small(b, 1, 1, func(config *drivers.Config) { config.Corpus = c })
	database := drivertest.Open(b, engine(b), config)
	drivertest.Must(b, database.Prepare(b.Context()))
	client := drivertest.Clients(b, database, config)[0]
	drivertest.Must(b, drivers.LoadRows(b.Context(), client, c, 0, scannedRows, 0))
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
	before := cpuTime()
	for b.Loop() {
		drivertest.Must(b, scanner.Scan(b.Context(), statement, &answer))
		if answer.Rows != scannedRows {
			b.Fatalf("%d rows", answer.Rows)
		}
	}
	report(b, before)
}

// BenchmarkBareScan is the same by the library that speaks the protocol, with nothing around it: a prepared statement whose rows are received and forgotten.
func BenchmarkBareScan(b *testing.B) {
	config, _ := scanned(b)
	address, database, _ := strings.Cut(strings.TrimPrefix(config.Endpoint, "mysql://"), "/")
	library := mysql.NewConfig()
	library.Net, library.Addr, library.DBName = "tcp", address, database
	library.User, library.Passwd = config.Credentials.User, config.Credentials.Password
	connector, err := mysql.NewConnector(library)
	drivertest.Must(b, err)
	conn, err := connector.Connect(b.Context())
	drivertest.Must(b, err)
	defer conn.Close()
	statement, err := conn.Prepare("SELECT * FROM record")
	drivertest.Must(b, err)
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		//lint:ignore SA1019 as the driver does it
		rows, err := statement.Query(nil)
		drivertest.Must(b, err)
		cells := make([]driver.Value, len(rows.Columns()))
		n := 0
		for {
			if err := rows.Next(cells); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			n++
		}
		drivertest.Must(b, rows.Close())
		if n != scannedRows {
			b.Fatalf("%d rows", n)
		}
	}
	report(b, before)
}

// report adds the rows per second, and what this process has used of the CPU for each.
func report(b *testing.B, before time.Duration) {
	rows := float64(b.N) * scannedRows
	b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(cpuTime()-before)/rows, "cpu-ns/row")
}

// cpuTime is what this process has used of the CPU, in user and in kernel mode.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

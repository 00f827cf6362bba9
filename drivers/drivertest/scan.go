package drivertest

import (
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// WideRow is a row of about 1 KB with values of every kind.
var WideRow = map[string]any{
	"age": "int:1..100", "author": "string:20", "cash": "decimal", "created": "datetime", "enabled": "bool", "labels": []any{"string_enum:red,green", "string_enum:north,south"},
	"place": map[string]any{"code": "string:3", "notes": "text:100"}, "rating": "float:0..100", "stock": "int:1..5000", "summary": "text:100..400", "title": "string:50",
	"trace": "uuid", "words": "words:100;river,stone,copper,silver",
}

// With opens a database and its clients for f, on an empty table if it is to be prepared.
func With(tb testing.TB, engine drivers.Engine, config drivers.Config, prepare bool, f func([]drivers.Client)) {
	tb.Helper()
	database, err := engine.Open(tb.Context(), config)
	Must(tb, err)
	defer database.Close()
	if prepare {
		Must(tb, database.Prepare(tb.Context()))
	}
	var clients []drivers.Client
	for i := range config.Clients {
		client, err := database.Client(tb.Context(), i)
		Must(tb, err)
		defer client.Close()
		clients = append(clients, client)
	}
	f(clients)
}

// BenchmarkFullScan receives all columns of all rows, of which there are so many.
func BenchmarkFullScan(b *testing.B, client drivers.Client, c *corpus.Corpus, rows int64) {
	b.Helper()
	scan, err := query.Bind(&query.Scan{ID: "all", Project: query.Full}, c.Template())
	Must(b, err)
	scanner := client.(drivers.Scanner)
	statement, err := scanner.PrepareScan(b.Context(), scan)
	Must(b, err)
	var answer drivers.Answer
	BenchmarkRows(b, rows, func() int64 {
		Must(b, scanner.Scan(b.Context(), statement, &answer))
		return answer.Rows
	})
}

// BenchmarkRows runs what receives so many rows, and reports the rows per second and what this process uses of the CPU for each.
func BenchmarkRows(b *testing.B, rows int64, receive func() int64) {
	b.Helper()
	b.ReportAllocs()
	before := CPUTime()
	for b.Loop() {
		if n := receive(); n != rows {
			b.Fatalf("%d rows, want %d", n, rows)
		}
	}
	all := float64(b.N) * float64(rows)
	b.ReportMetric(all/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(CPUTime()-before)/all, "cpu-ns/row")
}

// CPUTime is what this process has used of the CPU, in user and in kernel mode; 0 where the system does not tell.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// BenchmarkScan receives all columns of all rows, by the driver and by the bare library, which sends a prepared statement and takes rows in their
// binary form, with nothing around it.
func BenchmarkScan(b *testing.B) {
	running := server(b, drivers.TierOS, drivers.Profile{})
	config := comparison(b, running, wideRow)
	b.Run("driver", func(b *testing.B) {
		withClients(b, config, false, func(clients []drivers.Client) {
			scan, err := query.Bind(&query.Scan{ID: "all", Project: query.Full}, config.Corpus.Template())
			if err != nil {
				b.Fatal(err)
			}
			scanner := clients[0].(drivers.Scanner)
			statement, err := scanner.PrepareScan(b.Context(), scan)
			if err != nil {
				b.Fatal(err)
			}
			var answer drivers.Answer
			b.ReportAllocs()
			before := cpuTime()
			for b.Loop() {
				if err := scanner.Scan(b.Context(), statement, &answer); err != nil || answer.Rows != compareRows {
					b.Fatalf("%d rows, error %v", answer.Rows, err)
				}
			}
			reportRows(b, before)
		})
	})
	b.Run("bare", func(b *testing.B) {
		conn := control(b, config)
		defer conn.Close(context.Background())
		if _, err := conn.Prepare(b.Context(), "all", "SELECT * FROM durabench.record", nil); err != nil {
			b.Fatal(err)
		}
		binary := []int16{1}
		b.ReportAllocs()
		before := cpuTime()
		for b.Loop() {
			reader := conn.ExecPrepared(b.Context(), "all", nil, nil, binary)
			rows, size := 0, 0
			for reader.NextRow() {
				for _, cell := range reader.Values() {
					size += len(cell)
				}
				rows++
			}
			if _, err := reader.Close(); err != nil || rows != compareRows || size == 0 {
				b.Fatalf("%d rows of %d bytes, error %v", rows, size, err)
			}
		}
		reportRows(b, before)
	})
}

// reportRows adds the rows per second, and what this process has used of the CPU for each.
func reportRows(b *testing.B, before time.Duration) {
	rows := float64(b.N) * compareRows
	b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(cpuTime()-before)/rows, "cpu-ns/row")
}

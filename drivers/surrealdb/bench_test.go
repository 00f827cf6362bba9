package surrealdb_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/models"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// BenchmarkRequest compares what a request costs the agent through the driver and through surrealdb.go: the CPU time of this process, in which
// the server is not. The SDK decodes what it reads, which the driver leaves for later, off the clock.
//
//	go test -run '^$' -bench Request -benchmem ./drivers/surrealdb
func BenchmarkRequest(b *testing.B) {
	const rows = 200
	value := map[string]any{"number": "int", "when": "datetime", "token": "uuid", "text": "text:900", "tags": []any{"string:8", "string:8"}}
	for _, flight := range []struct {
		name    string
		threads int
	}{{"1", 1}, {"8", 8}} {
		o := load(b, value, corpus.KeyInteger, rows, flight.threads)
		keys, values := o.some(0, rows, 0)
		reference := dialSDK(b, serverOf(b).Endpoint)
		b.Run("read/driver/"+flight.name, func(b *testing.B) {
			bench(b, flight.threads, func(ctx context.Context, i int) error {
				return o.client.Read(ctx, keys[i%rows], &records[i%flight.threads])
			})
		})
		b.Run("read/sdk/"+flight.name, func(b *testing.B) {
			bench(b, flight.threads, func(ctx context.Context, i int) error {
				_, err := sdk.Query[[]map[string]any](ctx, reference.db, sdkRead, map[string]any{"id": &models.RecordID{Table: drivers.Table, ID: keys[i%rows].Int()}})
				return err
			})
		})
		ready := make([]map[string]any, rows)
		for i := range ready {
			ready[i] = sdkRow(o.data.Corpus, values[i])
		}
		b.Run("update/driver/"+flight.name, func(b *testing.B) {
			bench(b, flight.threads, func(ctx context.Context, i int) error { return o.client.Update(ctx, keys[i%rows], values[i%rows]) })
		})
		b.Run("update/sdk/"+flight.name, func(b *testing.B) {
			bench(b, flight.threads, func(ctx context.Context, i int) error {
				_, err := sdk.Query[[]any](ctx, reference.db, sdkUpdate, map[string]any{"id": &models.RecordID{Table: drivers.Table, ID: keys[i%rows].Int()}, "row": ready[i%rows]})
				return err
			})
		})
	}
}

// records receive what is read, one for each operation in flight.
var records [8]drivers.Record

// bench runs b.N operations, so many of them in flight; operation i is worker i mod threads'.
func bench(b *testing.B, threads int, operation func(ctx context.Context, i int) error) {
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	before := used(b)
	var workers sync.WaitGroup
	for worker := range threads {
		workers.Go(func() {
			for i := worker; i < b.N; i += threads {
				if err := operation(ctx, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op")
}

// used is the CPU time that this process has taken.
func used(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkFullScan compares a scan of 1,000 whole rows through the driver and through surrealdb.go, which decodes them.
//
//	go test -run '^$' -bench FullScan -benchmem ./drivers/surrealdb
func BenchmarkFullScan(b *testing.B) {
	const rows = 1000
	o := load(b, map[string]any{"number": "int", "when": "datetime", "token": "uuid", "text": "text:900", "tags": []any{"string:8", "string:8"}}, corpus.KeyInteger, rows, 1)
	b.Run("driver", func(b *testing.B) {
		scan, err := query.Bind(&query.Scan{ID: "full", Project: query.Full}, o.data.Corpus.Template())
		drivertest.Must(b, err)
		scanner := o.client.(drivers.Scanner)
		statement, err := scanner.PrepareScan(b.Context(), scan)
		drivertest.Must(b, err)
		var answer drivers.Answer
		bench(b, 1, func(ctx context.Context, _ int) error {
			if err := scanner.Scan(ctx, statement, &answer); err != nil || answer.Rows != rows {
				return fmt.Errorf("%d rows: %w", answer.Rows, err)
			}
			return nil
		})
	})
	b.Run("sdk", func(b *testing.B) {
		reference := dialSDK(b, serverOf(b).Endpoint)
		bench(b, 1, func(ctx context.Context, _ int) error {
			results, err := sdk.Query[[]map[string]any](ctx, reference.db, "SELECT * FROM "+drivers.Table, nil)
			if err != nil || len((*results)[0].Result) != rows {
				return fmt.Errorf("other than %d rows: %w", rows, err)
			}
			return nil
		})
	})
}

package postgres_test

import (
	"context"
	"testing"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// BenchmarkScan receives all columns of all rows, by the driver and by the bare library, which sends a prepared statement and takes rows in their
// binary form, with nothing around it.
func BenchmarkScan(b *testing.B) {
	running := server(b, drivers.TierOS, drivers.Profile{})
	config := comparison(b, running, drivertest.WideRow)
	b.Run("driver", func(b *testing.B) {
		drivertest.With(b, engine(b), config, false, func(clients []drivers.Client) {
			drivertest.BenchmarkFullScan(b, clients[0], config.Corpus, compareRows)
		})
	})
	b.Run("bare", func(b *testing.B) {
		conn := control(b, config)
		defer conn.Close(context.Background())
		if _, err := conn.Prepare(b.Context(), "all", "SELECT * FROM durabench.record", nil); err != nil {
			b.Fatal(err)
		}
		binary := []int16{1}
		drivertest.BenchmarkRows(b, compareRows, func() (rows int64) {
			reader := conn.ExecPrepared(b.Context(), "all", nil, nil, binary)
			size := 0
			for reader.NextRow() {
				for _, cell := range reader.Values() {
					size += len(cell)
				}
				rows++
			}
			if _, err := reader.Close(); err != nil || size == 0 {
				b.Fatalf("%d bytes, error %v", size, err)
			}
			return rows
		})
	})
}

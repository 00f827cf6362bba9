package postgres_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// BenchmarkSearch searches 768 dimensions by the driver and by the bare library, which sends the same prepared statement with a vector that is in
// PostgreSQL's form already. ns/op holds what the server takes; cpu-ns/op is what this process used of the CPU for each search, so that the
// difference is the cost of the harness.
func BenchmarkSearch(b *testing.B) {
	const dimensions, rows, budget = 768, 2000, 10
	config := vectors(b, dimensions, 1, 1)
	database, clients := drivertest.Loaded(b, engine(b), config, rows)
	index := hnsw(dimensions)
	drivertest.Must(b, database.(drivers.Indexer).CreateIndex(b.Context(), *index))
	queries := make([][]float32, 100)
	for i := range queries {
		queries[i] = held(config, i)
	}
	measure := func(b *testing.B, search func(n int) int) {
		b.Helper()
		b.ReportAllocs()
		search(0)
		before := drivertest.CPUTime()
		n := 0
		for b.Loop() {
			if found := search(n % len(queries)); found != 10 {
				b.Fatalf("%d rows", found)
			}
			n++
		}
		b.ReportMetric(float64(drivertest.CPUTime()-before)/float64(b.N), "cpu-ns/op")
	}
	b.Run("driver", func(b *testing.B) {
		searcher := clients[0].(drivers.Searcher)
		statement, err := searcher.PrepareSearch(b.Context(), nearest(10, index, budget))
		drivertest.Must(b, err)
		var answer drivers.Answer
		measure(b, func(n int) int {
			drivertest.Must(b, searcher.Search(b.Context(), statement, queries[n], &answer))
			return int(answer.Rows)
		})
	})
	b.Run("bare", func(b *testing.B) {
		conn := control(b, config)
		defer conn.Close(context.Background())
		run(b, conn, "SELECT '[0]'::vector; SET hnsw.ef_search = 10; SET enable_seqscan = off")
		_, err := conn.Prepare(b.Context(), "near", "SELECT id FROM durabench.record ORDER BY embedding <=> $1::vector LIMIT 10", nil)
		drivertest.Must(b, err)
		bound := make([][]byte, len(queries))
		for i, vector := range queries {
			bound[i] = binary.BigEndian.AppendUint32(nil, uint32(len(vector))<<16)
			for _, x := range vector {
				bound[i] = binary.BigEndian.AppendUint32(bound[i], math.Float32bits(x))
			}
		}
		binaryForm := []int16{1}
		measure(b, func(n int) (rows int) {
			reader := conn.ExecPrepared(b.Context(), "near", [][]byte{bound[n]}, binaryForm, binaryForm)
			for reader.NextRow() {
				rows++
			}
			_, err := reader.Close()
			drivertest.Must(b, err)
			return rows
		})
	})
}

package vector

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector/tile"
)

// The exact answer to 1,000 queries among 768-dimensional clustered rows, the making of the rows included.
func BenchmarkCompute(b *testing.B) {
	for _, kernel := range tile.Kernels() {
		b.Run(kernel.Name, func(b *testing.B) {
			rows := uint64(100_000)
			if kernel.Name == "go" {
				rows = 10_000
			}
			p := problem(b, mustCorpus(b, 1, "vector:768:clustered:200"), query.Cosine, rows, 10, 1000)
			for b.Loop() {
				_, err := Compute(context.Background(), p, Options{Kernel: kernel})
				require.NoError(b, err)
			}
			b.ReportMetric(2*768*1000*float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// Scoring the ten rows of an answer, half of them right.
func BenchmarkScore(b *testing.B) {
	p := problem(b, mustCorpus(b, 1, "vector:768:clustered:200"), query.Cosine, 5000, 10, 100)
	truth, err := Compute(context.Background(), p, Options{})
	require.NoError(b, err)
	s := NewScorer(p, &truth.Answers[0], 0)
	var summary Summary
	q := 0
	for b.Loop() {
		rows := append(nearestRows(&truth.Answers[0], q, 5), 1, 2, 3, 4, 5)
		summary.Add(s.Score(q, rows))
		q = (q + 1) % len(p.Queries)
	}
}

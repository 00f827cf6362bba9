package vector

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/query"
)

// Evenly spread vectors get a warning, clustered ones none, by every metric.
func TestAuditTellsWhetherThereAreNeighbourhoods(t *testing.T) {
	for _, m := range query.Metrics {
		p := problem(t, mustCorpus(t, 1, "vector:768"), m, 100_000, 10, 5)
		a, err := AuditCorpus(context.Background(), p, nil, 1000)
		require.NoError(t, err)
		require.InDelta(t, 1.05, a.Contrast, 0.05, m)
		require.Len(t, a.Warnings, 1)
		require.Contains(t, a.Warnings[0], "no neighbourhoods")
		require.Equal(t, uint64(1000), a.Looked)

		p = problem(t, mustCorpus(t, 1, "vector:768:clustered:50"), m, 100_000, 10, 5)
		a, err = AuditCorpus(context.Background(), p, nil, 1000)
		require.NoError(t, err)
		require.Greater(t, a.Contrast, 2.0, m)
		require.Empty(t, a.Warnings, m)
		require.Equal(t, p.Corpus.Digest(), a.Digest)
	}
}

// The truth knows nearer rows than a sample does.
func TestAuditUsesTheTruth(t *testing.T) {
	p := problem(t, mustCorpus(t, 1, "vector:8:clustered:500:0.1"), query.Cosine, 20_000, 10, 20)
	truth, err := Compute(context.Background(), p, Options{})
	require.NoError(t, err)
	sampled, err := AuditCorpus(context.Background(), p, nil, 200)
	require.NoError(t, err)
	exact, err := AuditCorpus(context.Background(), p, truth, 200)
	require.NoError(t, err)
	whole, err := AuditCorpus(context.Background(), p, nil, 20_000)
	require.NoError(t, err)
	require.Greater(t, exact.Contrast, sampled.Contrast)
	require.InEpsilon(t, whole.Contrast, exact.Contrast, 0.1)
}

func TestAuditFindsDuplicatesAndZeros(t *testing.T) {
	p := problem(t, mustCorpus(t, 1, "vector:4:clustered:7:0"), query.Euclidean, 1000, 3, 5)
	a, err := AuditCorpus(context.Background(), p, nil, 0)
	require.NoError(t, err)
	require.Equal(t, uint64(1000), a.Looked)
	require.Equal(t, uint64(993), a.Duplicates)
	require.Contains(t, strings.Join(a.Warnings, "\n"), "993 of 1000 rows")

	// The least number above 0 ends the range: all components are 0.
	p = problem(t, mustCorpus(t, 1, "vector:4:0..1e-45"), query.Cosine, 100, 3, 5)
	a, err = AuditCorpus(context.Background(), p, nil, 0)
	require.NoError(t, err)
	require.Equal(t, uint64(100), a.Zeros)
	require.Contains(t, strings.Join(a.Warnings, "\n"), "no direction")
}

func TestAuditIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := AuditCorpus(ctx, problem(t, mustCorpus(t, 1, "vector:4"), query.Cosine, 100, 3, 5), nil, 0)
	require.ErrorIs(t, err, context.Canceled)
}

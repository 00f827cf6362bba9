package spec

import (
	"testing"

	"pgregory.net/rapid"
)

// Every round replaces as many rows, all of which there are, and together they go through the rows before they begin again.
func TestRoundsOfChurnGoThroughTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.Int64Range(2, 10_000).Draw(t, "samples")
		churn := Churn{Share: rapid.Float64Range(1e-9, 0.999999).Draw(t, "share"), Rounds: 1}
		n := churn.Rows(samples)
		if n < 1 || n >= samples {
			t.Fatalf("%d of %d rows", n, samples)
		}
		for round := 1; round <= 100; round++ {
			first := churn.First(round, samples)
			if first < 0 || first+n > samples {
				t.Fatalf("round %d replaces %d rows from %d on, of %d", round, n, first, samples)
			}
			if before := int64(round-1) * n; before+n <= samples && first != before {
				t.Fatalf("round %d begins at %d and not at %d", round, first, before)
			}
		}
	})
}

func TestChurnIsResolved(t *testing.T) {
	for lines, want := range map[string]*Churn{
		"": nil, "churn = 0.25\n": {0.25, 1}, "churn = 0.1\nchurn_rounds = 10\n": {0.1, 10},
	} {
		request, err := buildWith(t, vectorFile("field = 'embedding'\ntop_k = 10\n"+hnsw+lines), "-d", "postgres", "-s", "1000")
		if err != nil {
			t.Fatal(err)
		}
		got := request.Spec.Scans[0].Runs[0].Search.Churn
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q: %+v", lines, got)
		}
	}
}

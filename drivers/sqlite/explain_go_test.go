//go:build !cgo

package sqlite

import (
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// The library that is translated to Go keeps samples of the values in an index, and plans for the literals: an index that finds few rows is used, and one
// that finds all of them is not. What Explain says has to be what a measured scan does.
func TestPlansAreForTheLiterals(t *testing.T) {
	if !compiledWith("ENABLE_STAT4") {
		t.Fatal("the library keeps no samples any more: this test proves nothing")
	}
	config := configOf(t, corpus.KeyInteger)
	d, client := openIt(t, config)
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, config.Corpus, 0, 3000, 0))
	index := query.Index{Name: "age", Kind: query.Ordered, Paths: []query.Path{{"age"}}}
	drivertest.Must(t, d.CreateIndex(t.Context(), index))
	drivertest.Must(t, d.Analyze(t.Context()))
	for least, used := range map[int64]bool{0: false, 120: true} {
		scan, err := query.Bind(&query.Scan{ID: "age", Project: query.Full, Where: &query.Predicate{
			Op: query.Gte, Path: query.Path{"age"}, Values: []query.Literal{{Kind: corpus.Int, Int: least}},
		}}, config.Corpus.Template())
		drivertest.Must(t, err)
		explained, err := client.(drivers.Explainer).Explain(t.Context(), scan, index)
		if err != nil || explained.Uses != used {
			t.Errorf("age ≥ %d: uses the index: %t, want %t; %q, %v", least, explained.Uses, used, explained.Text, err)
		}
	}
}

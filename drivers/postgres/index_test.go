package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// A full-text index of a scan in PostgreSQL's own words is on the expression that crud-bench's files look in, so that the server has a use for it.
func TestIndexServesTextSearchesInOwnWords(t *testing.T) {
	var words []string
	for i := range 200 {
		words = append(words, fmt.Sprintf("word%c%c", 'a'+i/26, 'a'+i%26))
	}
	template, err := corpus.ParseTemplate(map[string]any{"words": "words:40;" + strings.Join(words, ",")})
	drivertest.Must(t, err)
	data, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = data })
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	client := drivertest.Clients(t, database, config)[0]
	drivertest.Must(t, client.(drivers.Loader).Load(t.Context(), 0, 3000, 1))
	scan := &query.Scan{ID: "raw", Project: query.Full, Raw: &query.Raw{
		HasWhere: true, Where: map[string]string{"sql": "to_tsvector('english', words) @@ to_tsquery('english', 'wordaa & wordbb')"},
	}}
	indexer, explainer := database.(drivers.Indexer), client.(drivers.Explainer)
	for _, own := range []bool{false, true} {
		index := query.Index{Name: "ix_words", Kind: query.FullText, Paths: []query.Path{{"words"}}, Own: own}
		drivertest.Must(t, indexer.CreateIndex(t.Context(), index))
		drivertest.Must(t, database.(drivers.Analyzer).Analyze(t.Context()))
		explained, err := explainer.Explain(t.Context(), scan, index)
		drivertest.Must(t, err)
		if explained.Uses != own {
			t.Errorf("own %t: the index is used: %t\n%s", own, explained.Uses, explained.Text)
		}
		drivertest.Must(t, indexer.DropIndex(t.Context(), index))
	}
}

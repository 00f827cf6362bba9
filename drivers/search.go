package drivers

import (
	"context"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Searcher is a Client that can find nearest neighbours. Vector indexes are built by Indexer, with indexes of kind query.Nearest.
type Searcher interface {
	// CanSearch returns nil when the engine can run the search, Unsupported with the reason when it cannot: a metric, a strategy, a filter. It is a
	// pure function, and also called on the nil pointer Engine.Ability. A filter's literals are bound.
	CanSearch(s *query.Search) error
	// PrepareSearch renders the search, sets what it needs on each of the client's connections, and reads that back on each of them, off the clock; one that
	// answers otherwise is an error. The statement belongs to this client and may be used by all of its threads at once, until the next
	// PrepareSearch or PrepareScan of the client: settings of a search must not outlive it. A connection that is opened anew later has the settings too.
	PrepareSearch(ctx context.Context, s *query.Search) (Statement, error)
	// Search finds the rows nearest to the vector and receives their keys, the nearest first. Turning the vector into the engine's form is on the
	// clock. It keeps what came in the answer, whatever Answer.Keep says, and counts the rows.
	Search(ctx context.Context, statement Statement, vector []float32, answer *Answer) error
	// DecodeSearch hands the keys of an answer to each in the order in which they came, off the clock. A key is only valid during the call.
	DecodeSearch(statement Statement, answer *Answer, each func(key corpus.Key) error) error
}

// SearchExplainer is a Client that can say how its server runs a search.
type SearchExplainer interface {
	// ExplainSearch returns the server's own plan for the prepared search, and whether it uses the index of the search; of an exact search, whether it
	// uses none, so that it is exact.
	ExplainSearch(ctx context.Context, statement Statement, vector []float32) (Explanation, error)
}

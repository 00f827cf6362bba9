package query

import "fmt"

// Metric is how far apart two vectors are. Every metric is read in ranking orientation: the smaller, the nearer.
type Metric string

// The metrics. A zero vector has the cosine distance 2 from everything: it lies in no direction.
const (
	Cosine       Metric = "cosine"        // 1 − the cosine of the angle: 0 to 2
	Euclidean    Metric = "euclidean"     // the length of the difference
	InnerProduct Metric = "inner_product" // the inner product, negated
	Manhattan    Metric = "manhattan"     // the sum of the absolute differences
)

// Metrics are all metrics, the default first.
var Metrics = []Metric{Cosine, Euclidean, InnerProduct, Manhattan}

// Search asks for the K rows whose vectors are the nearest to a query vector, the nearest first, as plain data. The query vector is given with
// each operation.
type Search struct {
	// ID names the search in texts; letters, digits and underscores.
	ID     string `json:"id"`
	Field  Path   `json:"field"` // of a vector column
	Metric Metric `json:"metric"`
	K      int    `json:"k"`
	// Where restricts the search to rows that match; nil for all. It is bound.
	Where *Predicate `json:"where,omitempty"`
	// Index is the vector index that the search is to use; nil for an exact search, which compares every row.
	Index *Index `json:"index,omitempty"`
	// Budget is how much of the index is looked at: ef_search of HNSW, l_search of DiskANN, probes of IVFFlat; 0 for an exact search.
	Budget int `json:"budget,omitempty"`
	// Truth asks the engine to compare every vector of the index: an exact search where the rows themselves cannot be searched.
	Truth bool `json:"truth,omitempty"`
	// Iterative goes on in the index when a filter leaves fewer than K rows: IterativeStrict, IterativeRelaxed, or "" for one pass.
	Iterative string `json:"iterative,omitempty"`
}

// How a filtered search goes on when a pass over the index has found too few rows.
const (
	IterativeStrict  = "strict"  // rows come in the order of their distance
	IterativeRelaxed = "relaxed" // rows may come a little out of order
)

// Strategy is a kind of vector index.
type Strategy string

// The strategies.
const (
	BruteForce Strategy = "bruteforce" // no index: every row is compared
	HNSW       Strategy = "hnsw"
	DiskANN    Strategy = "diskann"
	IVFFlat    Strategy = "ivfflat"
	VectorSet  Strategy = "vectorset" // Redis: an HNSW graph that is a value of its own beside the rows
)

// Strategies are all strategies.
var Strategies = []Strategy{BruteForce, HNSW, DiskANN, IVFFlat, VectorSet}

// VectorIndex is what an index of kind Nearest is, beside its column.
type VectorIndex struct {
	Strategy   Strategy `json:"strategy"`
	Metric     Metric   `json:"metric"`
	Dimensions int      `json:"dimensions"`
	// The knobs of the strategies, 0 where they are of another: M and EfConstruction of HNSW and VectorSet, Degree, LBuild and Alpha of DiskANN, Lists of
	// IVFFlat.
	M              int     `json:"m,omitempty"`
	EfConstruction int     `json:"efConstruction,omitempty"`
	Degree         int     `json:"degree,omitempty"`
	LBuild         int     `json:"lBuild,omitempty"`
	Alpha          float64 `json:"alpha,omitempty"`
	Lists          int     `json:"lists,omitempty"`
	// Quantisation is the form of the vectors in the index: "" as they are, Half, or Bits, whose candidates are ranked again by the whole vectors.
	Quantisation Quantisation `json:"quantisation,omitempty"`
	// Filters are the columns by which searches on the index filter, for engines that keep them with it.
	Filters []Path `json:"filters,omitempty"`
}

// Quantisation is a shorter form of vectors in an index.
type Quantisation string

// The quantisations.
const (
	Half Quantisation = "half" // 16-bit floats
	Bits Quantisation = "bits" // one bit per component, its sign; candidates are ranked again by the whole vectors
	Int8 Quantisation = "int8" // 8-bit integers
)

// Kind returns the strategy of the index that the search uses, BruteForce without one.
func (s *Search) Kind() Strategy {
	if s.Index == nil || s.Index.Vector == nil {
		return BruteForce
	}
	return s.Index.Vector.Strategy
}

// String describes the search for errors.
func (s *Search) String() string {
	return fmt.Sprintf("search %s: the %d nearest by %s of %s, %s", s.ID, s.K, s.Metric, s.Field, s.Kind())
}

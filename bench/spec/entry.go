package spec

// ScanEntry is one [[scans]] entry of a workload file, as written.
type ScanEntry struct {
	ID         string     `toml:"id"`
	Name       string     `toml:"name"`
	Runs       []RunEntry `toml:"runs"`
	Projection string     `toml:"projection"` // ID, FULL or COUNT
	Samples    *int64     `toml:"samples"`    // the older name of Iterations
	Iterations *int64     `toml:"iterations"`
	Start      *int64     `toml:"start"`
	Offset     *int64     `toml:"offset"` // ours, of Start
	Limit      *int64     `toml:"limit"`
	After      *int64     `toml:"after"` // the index of a row: the page of those whose keys come after its own

	Where      map[string]any `toml:"where"` // as query.Decode reads it
	Order      any            `toml:"order"` // as query.DecodeOrder reads it
	Aggregates any            `toml:"aggregates"`
	GroupBy    string         `toml:"group_by"`
	Index      *IndexEntry    `toml:"index"`  // ours, of WithIndex
	Writes     []float64      `toml:"writes"` // ours, of WithWrites: the ratios

	Expect      *int64       `toml:"expect"`
	Clients     *int64       `toml:"clients"`
	Threads     *int64       `toml:"threads"`
	Measure     *Duration    `toml:"measurement_time"` // a bare number is seconds
	Warmup      *Duration    `toml:"warmup_time"`
	Least       *int64       `toml:"min_iterations"`
	Most        *int64       `toml:"max_iterations"`
	Rate        *float64     `toml:"rate"`
	Arrival     string       `toml:"arrival"`
	Condition   *Dialects    `toml:"condition"`
	OrderBy     *Dialects    `toml:"order_by"`
	WithIndex   *ScanIndex   `toml:"with_index"`
	WithWrites  []ScanWrites `toml:"with_writes"`
	VectorQuery *VectorQuery `toml:"vector_query"`
}

// RunEntry is one of several runs that share the rest of their scan; what it sets goes before what the scan sets.
type RunEntry struct {
	Name        string       `toml:"name"`
	Projection  string       `toml:"projection"`
	Samples     *int64       `toml:"samples"`
	Iterations  *int64       `toml:"iterations"`
	Measure     *Duration    `toml:"measurement_time"`
	Warmup      *Duration    `toml:"warmup_time"`
	Least       *int64       `toml:"min_iterations"`
	Most        *int64       `toml:"max_iterations"`
	Rate        *float64     `toml:"rate"`
	Arrival     string       `toml:"arrival"`
	VectorQuery *VectorQuery `toml:"vector_query"`
}

// Dialects holds a condition or an order in each query language's own words.
type Dialects struct {
	SQL       string         `toml:"sql"`
	Postgres  string         `toml:"postgres"`
	SQLite    string         `toml:"sqlite"`
	MySQL     string         `toml:"mysql"`
	Neo4j     string         `toml:"neo4j"`
	ArangoDB  string         `toml:"arangodb"`
	SurrealDB string         `toml:"surrealdb"`
	MongoDB   map[string]any `toml:"mongodb"`
}

// ScanIndex is the index that a scan is run without and then with.
type ScanIndex struct {
	Fields    []string `toml:"fields"`
	Unique    bool     `toml:"unique"`
	IndexType string   `toml:"index_type"`
	Skip      bool     `toml:"skip"`
}

// IndexEntry is the index that a scan is run without and then with, in our own form.
type IndexEntry struct {
	Fields []string `toml:"fields"`
	Kind   string   `toml:"kind"` // ordered, elements, fulltext or count; left out, the columns decide
	Unique bool     `toml:"unique"`
}

// ScanWrites mixes writes into a scan.
type ScanWrites struct {
	Ratio     *float64 `toml:"ratio"`
	Mode      string   `toml:"mode"`
	Operation string   `toml:"operation"`
}

// VectorQuery is a nearest-neighbour search.
type VectorQuery struct {
	Field         string          `toml:"field"`
	TopK          int64           `toml:"top_k"`
	Distance      string          `toml:"distance"`
	IndexStrategy *VectorStrategy `toml:"index_strategy"`
	Holdout       *VectorHoldout  `toml:"holdout"`
	Filters       []VectorFilter  `toml:"filters"`
	FilterIndex   bool            `toml:"filter_index"`
	TieEpsilon    float64         `toml:"tie_epsilon"`
	RecallTargets []float64       `toml:"recall_targets"` // ours
	Churn         *float64        `toml:"churn"`          // ours
	ChurnRounds   *int64          `toml:"churn_rounds"`   // ours
}

// VectorStrategy is how vectors are indexed; each kind uses its own knobs.
type VectorStrategy struct {
	Kind           string  `toml:"kind"`
	M              int64   `toml:"m"`
	EfConstruction int64   `toml:"ef_construction"`
	EfSearch       Sweep   `toml:"ef_search"`
	Degree         int64   `toml:"degree"`
	LBuild         int64   `toml:"l_build"`
	Alpha          float64 `toml:"alpha"`
	LSearch        Sweep   `toml:"l_search"`

	// Ours.
	Lists         int64  `toml:"lists"`
	Probes        Sweep  `toml:"probes"`
	Quantisation  string `toml:"quantisation"`   // half, bits or int8
	IterativeScan string `toml:"iterative_scan"` // strict or relaxed
}

// Sweep is one number or a list of them, each measured on the same index.
type Sweep []int64

// VectorHoldout describes the query vectors.
type VectorHoldout struct {
	Count *int64 `toml:"count"`
	Seed  *int64 `toml:"seed"`
}

// VectorFilter restricts a search to rows that match.
type VectorFilter struct {
	Name  string `toml:"name"`
	Field string `toml:"field"`
	Op    string `toml:"op"`
	Value any    `toml:"value"`
	// Where is ours, in place of the three: as query.Decode reads it.
	Where map[string]any `toml:"where"`
}

// BatchEntry is one [[batches]] entry of a workload file, as written.
type BatchEntry struct {
	Name       string `toml:"name"`
	Operation  string `toml:"operation"` // CREATE, READ, UPDATE or DELETE
	BatchSize  int64  `toml:"batch_size"`
	Samples    *int64 `toml:"samples"` // the older name of Iterations
	Iterations *int64 `toml:"iterations"`
}

// MixEntry is one [[mixes]] entry of a workload file, as written.
type MixEntry struct {
	Name          string             `toml:"name"`
	Weights       map[string]float64 `toml:"weights"`
	ScanLength    *int64             `toml:"scan_length"` // the most rows of a scan
	Distribution  string             `toml:"distribution"`
	Theta         *float64           `toml:"theta"`
	HotRows       *float64           `toml:"hot_rows"`
	HotOperations *float64           `toml:"hot_operations"`
	Clients       *int64             `toml:"clients"`
	Threads       *int64             `toml:"threads"`
	Iterations    *int64             `toml:"iterations"`
	Measure       *Duration          `toml:"measurement_time"`
	Warmup        *Duration          `toml:"warmup_time"`
	Least         *int64             `toml:"min_iterations"`
	Most          *int64             `toml:"max_iterations"`
	Rate          *float64           `toml:"rate"`
	Arrival       string             `toml:"arrival"`
}

package query

// Projection is what a scan returns of each row.
type Projection string

// The projections.
const (
	ID    Projection = "id"    // the key
	Full  Projection = "full"  // the key and every column
	Count Projection = "count" // one number: how many rows the same scan with ID would return, offset and limit included
)

// Order is one term of an order. Rows that are equal in all terms may come in any order.
type Order struct {
	Path Path `json:"path,omitempty"` // empty: the key, in the order of Key.AppendOrdered
	Desc bool `json:"desc,omitempty"`
}

// Aggregate is one value computed by the database over all rows that match, or over those of each group.
type Aggregate struct {
	Func Func `json:"func"`
	Path Path `json:"path,omitempty"` // of an Int, Float or Decimal; empty for Number
}

// Func is an aggregate function.
type Func string

// The aggregate functions.
const (
	Number Func = "count" // of rows
	Sum    Func = "sum"
	Avg    Func = "avg"
	Min    Func = "min"
	Max    Func = "max"
)

// Scan is one query, as plain data. Exactly one of these shapes: rows (Project ID or Full), a count (Project Count), or aggregates
// (Aggregates not empty; Project, Order, Offset and Limit are not used and groups come in any order).
type Scan struct {
	// ID names the scan in texts and the index in the database; letters, digits and underscores.
	ID string `json:"id"`
	// Where is nil for all rows. It is bound.
	Where   *Predicate `json:"where,omitempty"`
	Project Projection `json:"project,omitempty"`
	Order   []Order    `json:"order,omitempty"`
	Offset  int64      `json:"offset,omitempty"`
	// Limit is the most rows to return, 0 for no limit.
	Limit int64 `json:"limit,omitempty"`
	// After, when not nil, is keyset paging: the rows whose keys come after that of the row with this index, in the order of the keys. Bind sets Order
	// to the key ascending then.
	After      *uint64     `json:"after,omitempty"`
	Aggregates []Aggregate `json:"aggregates,omitempty"`
	GroupBy    Path        `json:"groupBy,omitempty"` // empty: one group of all rows that match
	// Raw holds conditions and orders in the engines' own words, of crud-bench's files, in place of Where and Order; nil for a typed scan. Its
	// answers are not known, so that its legs are unverified unless the file says how many rows to expect.
	Raw *Raw `json:"raw,omitempty"`
}

// Raw is a query in engines' own words, keyed by dialect: sql, postgres, sqlite, mysql, neo4j, arangodb, surrealdb. A dialect that is not
// there makes the scan unsupported on the engines that speak it, except that postgres and sqlite fall back to sql.
type Raw struct {
	Where map[string]string `json:"where,omitempty"`
	Order map[string]string `json:"order,omitempty"`
	// WhereDocument and OrderDocument are MongoDB's, as decoded from TOML; nil when not given.
	WhereDocument map[string]any `json:"whereDocument,omitempty"`
	OrderDocument map[string]any `json:"orderDocument,omitempty"`
	// HasWhere and HasOrder tell that the scan has a condition or an order at all, whatever the dialect.
	HasWhere bool `json:"hasWhere,omitempty"`
	HasOrder bool `json:"hasOrder,omitempty"`
}

// IndexKind is what an index is for; each engine takes its own kind of index that fits.
type IndexKind string

// The kinds of index.
const (
	Ordered  IndexKind = "ordered"  // comparisons, ranges and orders on one or more columns, in their order: a B-tree
	Elements IndexKind = "elements" // HasAny and HasAll on an array column: a GIN, a multi-valued or multikey index
	FullText IndexKind = "fulltext" // MatchAll and MatchAny on a text column
	CountAll IndexKind = "count"    // the number of all rows
	Nearest  IndexKind = "vector"   // the nearest neighbours of a vector; Index.Vector says how
)

// Index is an index to build, as plain data.
type Index struct {
	Name string    `json:"name"` // letters, digits and underscores
	Kind IndexKind `json:"kind"`
	// Paths is empty for CountAll and has one path for FullText. For Elements the first is the array, and further ones are ordered columns that an engine
	// may add.
	Paths  []Path `json:"paths,omitempty"`
	Unique bool   `json:"unique,omitempty"`
	// Raw is the engine's own name of an index type in a crud-bench file, e.g. "gin"; empty when the kind decides.
	Raw string `json:"raw,omitempty"`
	// Own tells that the scan's condition is in the engines' own words: a full-text index then has to be of the form that those find it by.
	Own bool `json:"own,omitempty"`
	// Vector is set in an index of kind Nearest, which has one path.
	Vector *VectorIndex `json:"vector,omitempty"`
}

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
	Path Path // empty: the key, in the order of Key.AppendOrdered
	Desc bool
}

// Aggregate is one value computed by the database over all rows that match, or over those of each group.
type Aggregate struct {
	Func Func
	Path Path // of a number; empty for Number
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
	ID string
	// Where is nil for all rows. It is bound.
	Where   *Predicate
	Project Projection
	Order   []Order
	Offset  int64
	// Limit is the most rows to return, 0 for no limit.
	Limit int64
	// After, when not nil, is keyset paging: the rows whose keys come after that of the row with this index, in the order of the keys. Order is
	// empty then, or the key ascending.
	After      *uint64
	Aggregates []Aggregate
	GroupBy    Path // empty: one group of all rows that match
	// Raw holds conditions and orders in the engines' own words, of crud-bench's files, in place of Where and Order; nil for a typed scan. Its
	// answers are not known, so that its legs are unverified unless the file says how many rows to expect.
	Raw *Raw
}

// Raw is a query in engines' own words, keyed by dialect: sql, postgres, sqlite, mysql, neo4j, arangodb, surrealdb. A dialect that is not
// there makes the scan unsupported on the engines that speak it, except that postgres and sqlite fall back to sql.
type Raw struct {
	Where map[string]string
	Order map[string]string
	// WhereDocument and OrderDocument are MongoDB's, as decoded from TOML; nil when not given.
	WhereDocument, OrderDocument map[string]any
	// HasWhere and HasOrder tell that the scan has a condition or an order at all, whatever the dialect.
	HasWhere, HasOrder bool
}

// IndexKind is what an index is for; each engine takes its own kind of index that fits.
type IndexKind string

// The kinds of index.
const (
	Ordered  IndexKind = "ordered"  // comparisons, ranges and orders on one or more columns, in their order: a B-tree
	Elements IndexKind = "elements" // HasAny and HasAll on an array column: a GIN, a multi-valued or multikey index
	FullText IndexKind = "fulltext" // MatchAll and MatchAny on a text column
	CountAll IndexKind = "count"    // the number of all rows
)

// Index is an index to build, as plain data.
type Index struct {
	Name   string // letters, digits and underscores
	Kind   IndexKind
	Paths  []Path // none for CountAll, one for Elements and FullText; for Elements, further paths are ordered columns that an engine may add
	Unique bool
	// Raw is the engine's own name of an index type in a crud-bench file, e.g. "gin"; empty when the kind decides.
	Raw string
}

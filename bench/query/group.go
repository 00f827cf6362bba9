package query

// Group is one line of the answer to a scan with aggregates.
type Group struct {
	Key    Literal   // of Scan.GroupBy; the zero Literal without a group
	Values []float64 // one per Scan.Aggregates; a count is exact, a sum of floats is rounded
}

package query

// Group is one line of the answer to a scan with aggregates. When no row matches there is no group; a driver leaves out the line that SQL
// returns all the same when there is no GroupBy.
type Group struct {
	Key Literal `json:"key"` // of Scan.GroupBy; the zero Literal without a group
	// Values has one number per Scan.Aggregates. A count is exact. Sums and extremes of whole numbers and of decimals are the float64 nearest to the exact
	// value; an average and a sum of floats are worked out at least in float64: never in float32, never rounded to some decimal places.
	Values []float64 `json:"values"`
}

package query

// Expected is the right answer of a scan, as far as it is determined: a scan with a limit and no order may return any of the rows that match, and at
// the ends of an ordered page any of those that are equal there.
type Expected struct {
	Matches int64 `json:"matches"` // rows that the predicate finds, those before After left out
	Rows    int64 `json:"rows"`    // rows of the answer; groups when the scan has aggregates; of a Count scan the number
	// Determined is how many of Rows are the same in every right answer, and Checksum the sum of their indexes' checksums (IndexChecksum), modulo 2⁶⁴.
	Determined int64  `json:"determined"`
	Checksum   uint64 `json:"checksum,string"`
	// Ties are the groups of equal rows that an ordered page has some of, at its first and at its last row; one when both are the same group.
	Ties   []Tie           `json:"ties,omitempty"`
	Groups []ExpectedGroup `json:"groups,omitempty"` // sorted by key
}

// Tie is a group of rows, equal in all terms of the order, of which the answer has so many, whichever they are.
type Tie struct {
	Rank []byte `json:"rank"` // what they hold, in this package's own form
	Rows int64  `json:"rows"`
}

// ExpectedGroup is a line of the answer, and how far each of its values may be off.
type ExpectedGroup struct {
	Group
	Slack []float64 `json:"slack"`
}

// IndexChecksum is the checksum of one row index in Expected.Checksum: the finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants by Stafford).
func IndexChecksum(index uint64) uint64 {
	x := index + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// expect works out the answer from what was counted in all rows: how many match, the checksum of all that do, and of an ordered page the first rows up
// to one beyond its end.
func expect(s *Scan, matches int64, checksum uint64, first []ranked) *Expected {
	e := &Expected{Matches: matches}
	from := min(s.Offset, matches)
	to := matches
	if s.Limit > 0 {
		to = min(s.Limit, matches-from) + from
	}
	e.Rows = to - from
	switch {
	case e.Rows == matches:
		e.Determined, e.Checksum = matches, checksum
	case len(s.Order) > 0 && e.Rows > 0:
		e.page(first, int(from), int(to))
	}
	return e
}

// page works out which rows of the page first[from:to] are determined. There is a row first[to] unless the page ends with the last row.
func (e *Expected) page(first []ranked, from, to int) {
	tied := func(i, j int) bool { return i >= 0 && j < len(first) && string(first[i].rank) == string(first[j].rank) }
	low, high := tied(from-1, from), tied(to-1, to)
	for i := from; i < to; i++ {
		switch {
		case low && tied(from, i):
			e.tie(first[i].rank)
		case high && tied(i, to-1):
			e.tie(first[i].rank)
		default:
			e.Determined++
			e.Checksum += IndexChecksum(first[i].index)
		}
	}
}

// tie counts a row of a tie. Rows come in order.
func (e *Expected) tie(rank []byte) {
	if last := len(e.Ties) - 1; last < 0 || string(e.Ties[last].Rank) != string(rank) {
		e.Ties = append(e.Ties, Tie{Rank: rank})
	}
	e.Ties[len(e.Ties)-1].Rows++
}

package spec

import (
	"fmt"
	"slices"
)

// RowRange is the rows From (inclusive) to To (exclusive), all at the same version.
type RowRange struct {
	From, To int64
	Version  uint32
}

// RowSet is the rows that there are: ranges in rising order that do not overlap.
type RowSet []RowRange

// After returns the rows that there are once a batch has worked on its own, and the version at which it writes or finds them. The error
// tells why the batch cannot work on the rows that there are.
func (s RowSet) After(b Batch) (RowSet, uint32, error) {
	n := b.Rows()
	if b.Operation == BatchCreate {
		for _, r := range s {
			if r.From < n {
				return s, 0, fmt.Errorf("creates the rows 0 to %d, of which %d to %d are there already", n-1, r.From, min(r.To, n)-1)
			}
		}
		return append(RowSet{{From: 0, To: n}}, s...), 0, nil
	}
	switch {
	case len(s) == 0 || s[0].From > 0:
		return s, 0, fmt.Errorf("works on rows that no CREATE batch before it has made")
	case s[0].To < n && len(s) > 1 && s[1].From == s[0].To:
		return s, 0, fmt.Errorf("works on the rows 0 to %d, of which those from %d on were not updated as often as the others", n-1, s[0].To)
	case s[0].To < n:
		return s, 0, fmt.Errorf("works on the rows 0 to %d, but only those to %d were created", n-1, s[0].To-1)
	}
	version := s[0].Version
	rest := slices.Clone(s)
	if rest[0].From = n; rest[0].From == rest[0].To {
		rest = rest[1:]
	}
	switch b.Operation {
	case BatchUpdate:
		version++
		return append(RowSet{{From: 0, To: n, Version: version}}, rest...), version, nil
	case BatchDelete:
		return rest, version, nil
	}
	return s, version, nil
}

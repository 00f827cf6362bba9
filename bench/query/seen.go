package query

// seen remembers row indexes: few of them in a map, many in one bit for each row there is.
type seen struct {
	few  map[uint64]struct{}
	many []uint64
}

// newSeen returns memory for about as many indexes as expected, each below rows.
func newSeen(expected int64, rows uint64) seen {
	if uint64(expected) > rows/256 {
		return seen{many: make([]uint64, rows/64+1)}
	}
	return seen{few: make(map[uint64]struct{}, expected)}
}

// add remembers an index below rows. It is false for one that is remembered already.
func (s *seen) add(index uint64) bool {
	if s.many != nil {
		word, bit := &s.many[index/64], uint64(1)<<(index%64)
		was := *word & bit
		*word |= bit
		return was == 0
	}
	if _, was := s.few[index]; was {
		return false
	}
	s.few[index] = struct{}{}
	return true
}

package result

import (
	"fmt"
	"math"
	"strconv"
)

// Churn is what an index goes through while it stays: in each round rows are deleted, and then the same rows inserted again.
type Churn struct {
	Index  string `json:"index"`
	Rows   int64  `json:"rows"` // that a round replaces
	Rounds int    `json:"rounds"`
	// Round is the one that a leg is of, from 1; absent of a search after all of them.
	Round int `json:"round,omitempty"`
	// ReadyNs is how long after the leg's last operation the engine first said that the index serves with nothing left to do; absent when it was not asked.
	ReadyNs *int64 `json:"readyNs,omitempty"`
}

// check checks what is said of churn.
func (c *Churn) check(p *problems, at string) {
	if c.Round > c.Rounds {
		p.add(at+"/round", "is %d, more than the %d rounds", c.Round, c.Rounds)
	}
}

// churnSection has the legs that wear indexes.
func churnSection(d *Document) section {
	s := section{title: "Churn: rows deleted and inserted again while the index stays", lines: linesOf(d, func(l *Leg) bool { return l.Churn != nil })}
	least := math.Inf(1)
	for i := range s.lines {
		leg := s.lines[i].leg
		if leg.Churn.ReadyNs != nil {
			least = min(least, float64(*leg.Churn.ReadyNs))
		}
		if leg.Measured != nil && leg.Verdict.showsLatency() {
			s.lines[i].latency = leg.Measured.Service
		}
	}
	unit := unitFor(least)
	index := func(title string, cell func(*Index) string) column {
		return column{title, func(row line) string {
			if row.leg.Index == nil {
				return absent
			}
			return cell(row.leg.Index)
		}}
	}
	s.groups = [][]column{{
		{"index", func(row line) string { return row.leg.Churn.Index }},
		{"round", func(row line) string { return fmt.Sprintf("%d of %d", row.leg.Churn.Round, row.leg.Churn.Rounds) }},
		{"rows", func(row line) string { return comma(row.leg.Churn.Rows) }},
		ofSpeed("rows/s", func(_ *Leg, m *Measured) string {
			if m.Throughput == nil {
				return absent
			}
			return figure(*m.Throughput)
		}),
		{fmt.Sprintf("index ready\nafter (%s)", unit.name), func(row line) string {
			if ns := row.leg.Churn.ReadyNs; ns != nil && row.leg.Verdict.showsRate() {
				return unit.show(float64(*ns))
			}
			return absent
		}},
		index("index\nsize", func(x *Index) string { return size(x.Bytes) }),
		index("server\nmemory", func(x *Index) string { return x.MemoryAfter.String() }),
	}, latencies(s.lines)}
	return s
}

// churnFields are the CSV's columns of churn: of the legs that do it, and of the searches after it.
func churnFields() []field {
	of := func(title string, cell func(*Churn) string) field {
		return field{title, func(_ *Document, l *Leg) string {
			switch {
			case l.Churn != nil:
				return cell(l.Churn)
			case l.Search != nil && l.Search.Churn != nil:
				return cell(l.Search.Churn)
			}
			return ""
		}}
	}
	return []field{
		of("churn (rows per round)", func(c *Churn) string { return integer(c.Rows) }),
		of("churn rounds", func(c *Churn) string { return strconv.Itoa(c.Rounds) }),
		of("churn round", func(c *Churn) string { return unlessZero(int64(c.Round)) }),
		of("index ready after churn (ns)", func(c *Churn) string { return maybe(c.ReadyNs) }),
	}
}

package main

import (
	"context"
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// lookedAt is how many rows a plan looks at, at most, to say how much the scans find. It takes a fraction of a second.
const lookedAt = 100_000

// share is how many of the rows the condition of a scan finds, by what it finds of the first rows of the corpus.
type share struct {
	Found int64 `json:"found"` // of the rows looked at
	Of    int64 `json:"of"`    // rows looked at
	Rows  int64 `json:"rows"`  // all rows
}

// sharesOf returns the shares of the scans of the steps that run, by the steps' ids. Scans in the engines' own words have none.
func sharesOf(ctx context.Context, s *spec.Spec, p *plan.Plan) (map[string]share, error) {
	corpus, err := s.Corpus()
	if err != nil {
		return nil, fmt.Errorf("look at the rows: %w", err)
	}
	data := query.Dataset{Corpus: corpus, Version: 1, Rows: uint64(min(s.Samples, lookedAt))}
	var ids []string
	var scans []*query.Scan
	for _, step := range p.Steps {
		if step.Kind == plan.ScanLeg && step.Skip == "" && step.Scan.Query.Raw == nil {
			ids = append(ids, step.ID)
			// Everything but the condition is left out: pages and groups are of what it finds.
			scans = append(scans, &query.Scan{ID: step.Scan.Query.ID, Project: query.Count, Where: step.Scan.Query.Where})
		}
	}
	found, err := data.Expect(ctx, scans, query.Options{})
	if err != nil {
		return nil, fmt.Errorf("look at the rows: %w", err)
	}
	shares := map[string]share{}
	for i, id := range ids {
		shares[id] = share{Found: found[i].Matches, Of: int64(data.Rows), Rows: s.Samples}
	}
	return shares, nil
}

// String returns the share for people, and what it comes to: "0.021 %: 21 rows", "≈ 0.02 %: 200 rows" when not every row was looked at.
func (s share) String() string {
	about := ""
	if s.Of < s.Rows {
		about = "≈ "
	}
	switch s.Found {
	case s.Of:
		return about + "all " + count(s.Rows) + " rows"
	case 0:
		if about == "" {
			return "no row"
		}
		// With so many rows looked at in vain, more than this share would be found in one case of twenty.
		return fmt.Sprintf("< %s %%: none of %s rows looked at", digits(3/float64(s.Of)), count(s.Of))
	}
	part := float64(s.Found) / float64(s.Of)
	return fmt.Sprintf("%s%s %%: %s rows", about, digits(part), count(int64(math.Round(part*float64(s.Rows)))))
}

// digits writes a share as percent with two digits that count.
func digits(part float64) string {
	percent := 100 * part
	if percent >= 10 {
		return fmt.Sprintf("%.0f", percent)
	}
	return fmt.Sprintf("%.2g", percent)
}

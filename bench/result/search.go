package result

import (
	"fmt"
	"slices"
	"strconv"
)

// Search is what a leg asked for that looked for nearest neighbours.
type Search struct {
	Field    string `json:"field"`
	Metric   string `json:"metric"` // cosine, euclidean, inner_product or manhattan
	K        int    `json:"k"`
	Strategy string `json:"strategy"` // bruteforce, hnsw, diskann, ivfflat or vectorset
	Index    string `json:"index,omitempty"`
	// Knobs are the index's, as files name them: "m 16, ef_construction 200".
	Knobs string `json:"knobs,omitempty"`
	// Budget is how much of the index was looked at, and BudgetName what the strategy calls it; absent in an exact search.
	Budget     int    `json:"budget,omitempty"`
	BudgetName string `json:"budgetName,omitempty"`
	// Exhaustive tells that every vector of the index was compared, which makes the search exact.
	Exhaustive bool `json:"exhaustive,omitempty"`
	// Target is the recall that Budget is the smallest one to reach; absent when the budget was given.
	Target    *float64 `json:"target,omitempty"`
	Iterative string   `json:"iterative,omitempty"` // strict or relaxed: how a filtered search goes on after one pass
	Filter    string   `json:"filter,omitempty"`    // its name; absent when all rows were searched
	Rows      int64    `json:"rows"`                // in the table
	Matching  int64    `json:"matching"`            // of them, how many match the filter, counted on the corpus
	Queries   int      `json:"queries"`             // different query vectors; operation n asks for the n-th, and begins again after the last
	// Warmup is how many searches were made before the clock started, and Settled whether their rate had come to rest by then; absent when there were none.
	Warmup  int64 `json:"warmup,omitempty"`
	Settled *bool `json:"settled,omitempty"`
	// Contrast is the mean distance between a query and the rows ÷ that to its nearest row, over a sample: near 1 there are no neighbourhoods, and recall
	// says little. Absent when it is not known.
	Contrast *float64 `json:"contrast,omitempty"`
	// Warnings say what stands out of the vectors, for people.
	Warnings []string `json:"warnings,omitempty"`
	// Proof says how the engine's own exact search agrees with the exact neighbours, or why that is not known.
	Proof string `json:"proof,omitempty"`
	// Published says how the neighbours that came with a data set agree with those by which the answers were scored; absent when none came.
	Published string `json:"published,omitempty"`
	// Churn is what the index had gone through; absent when it was as it was built.
	Churn *Churn `json:"churn,omitempty"`
	Truth string `json:"truth"` // digest of the exact neighbours by which the answers were scored
}

// Selectivity returns the share of the rows that match, 0 to 1.
func (s *Search) Selectivity() float64 {
	if s.Rows == 0 {
		return 0
	}
	return float64(s.Matching) / float64(s.Rows)
}

// Exact tells whether the search compares every row, so that its recall has to be 1.
func (s *Search) Exact() bool { return s.Strategy == "bruteforce" || s.Exhaustive }

// Recall is how right the answers of a search leg were: every answer is scored, after its time was taken. The share of the true neighbours that an answer has
// is of min(k, rows that match); a row that comes twice counts once.
type Recall struct {
	Scored   int64 `json:"scored"`   // answers
	Unscored int64 `json:"unscored"` // answers whose true neighbours are not known; they are in no figure
	// TieAware counts any row as found that is as near as the k-th: it is what "recall" means without another word. Strict counts the k of the truth
	// alone, Epsilon also what is a little farther, as the file allows.
	TieAware RecallFigures  `json:"tieAware"`
	Strict   RecallFigures  `json:"strict"`
	Epsilon  *RecallFigures `json:"epsilon,omitempty"`
	// Rounded counts also rows that single precision cannot tell from the k-th: what an exact search has to be 1 in, as engines count in it.
	Rounded RecallFigures `json:"rounded"`
	// ReturnedMin and ReturnedP50 are of the number of rows in an answer.
	ReturnedMin int `json:"returnedMin"`
	ReturnedP50 int `json:"returnedP50"`
	// Empty is the share of the answers, 0 to 1, that had no row, Short that of those that had fewer than min(k, rows that match).
	Empty float64 `json:"empty"`
	Short float64 `json:"short"`
	// Of all answers: rows that came twice, keys that are no rows or rows that do not match, and rows that came before a nearer one.
	Duplicates  int64 `json:"duplicates"`
	Foreign     int64 `json:"foreign"`
	OrderErrors int64 `json:"orderErrors"`
}

// RecallFigures are of the recalls of all answers, 0 to 1.
type RecallFigures struct {
	Mean float64 `json:"mean"`
	P5   float64 `json:"p5"` // 5th percentile, by nearest rank
	Min  float64 `json:"min"`
}

// ProofOfSearch returns the proof that a search leg needs: answers are scored by the exact neighbours.
func ProofOfSearch() Proof { return Proof{Content: true} }

// whySearch says what of a search leg's answers cannot be right, "" when nothing. An approximate index may miss neighbours; nothing else.
func whySearch(s *Search, r *Recall) string {
	switch {
	case s == nil || r == nil:
		return ""
	case r.Foreign > 0:
		return fmt.Sprintf("%s rows came that are not in the table or do not match the filter", comma(r.Foreign))
	case s.Exact() && r.Scored > 0 && r.Rounded.Min < 1:
		return fmt.Sprintf("an exact search has a recall of 1, and these have %s on average, %s at worst: the engine compares otherwise than the metric, or not every row",
			recallText(r.Rounded.Mean), recallText(r.Rounded.Min))
	case s.Exact() && r.OrderErrors > 0:
		return fmt.Sprintf("in an exact search the nearest come first, and %s rows came before a nearer one", comma(r.OrderErrors))
	}
	return ""
}

// checkSearch checks what a search leg says against what it measured.
func (l *Leg) checkSearch(p *problems, path func(string) string) {
	s := l.Search
	if s != nil && s.Matching > s.Rows {
		p.add(path("search/matching"), "is %d, more than the %d rows", s.Matching, s.Rows)
	}
	if l.Measured == nil {
		return
	}
	r := l.Measured.Recall
	if s == nil || r == nil {
		if r != nil || s != nil && l.Kind == "search" && l.Verdict.ended() && l.Verdict != Unverified {
			p.add(path("measured/recall"), "is %s, but the leg says of its search that it is %s", presence(r != nil), presence(s != nil))
		}
		return
	}
	for _, figures := range []*RecallFigures{&r.TieAware, &r.Strict, r.Epsilon, &r.Rounded} {
		if figures != nil && !(0 <= figures.Min && figures.Min <= figures.P5 && figures.P5 <= 1 && figures.Min <= figures.Mean && figures.Mean <= 1) {
			p.add(path("measured/recall"), "has the figures %+v, which are no recalls", *figures)
		}
	}
	if r.Strict.Mean > r.TieAware.Mean || r.TieAware.Mean > r.Rounded.Mean || r.Epsilon != nil && r.TieAware.Mean > r.Epsilon.Mean {
		p.add(path("measured/recall"), "is less with ties than without")
	}
	if why := whySearch(s, r); why != "" && l.Verdict.ended() {
		p.add(path("verdict"), "is %q, but %s", l.Verdict, why)
	}
}

// recallText writes a recall, and never one below 1 as 1, nor one above 0 as 0.
func recallText(recall float64) string {
	text := strconv.FormatFloat(recall, 'f', 3, 64)
	switch {
	case text == "1.000" && recall < 1:
		return "0.999…"
	case text == "0.000" && recall > 0:
		return "0.000…"
	}
	return text
}

// recallCell is the recall that stands beside a leg's speed.
func recallCell(l *Leg) string {
	if l.Measured == nil || l.Measured.Recall == nil || l.Measured.Recall.Scored == 0 {
		return absent
	}
	return recallText(l.Measured.Recall.TieAware.Mean)
}

// recalls are the column of recalls beside that of speeds, where there are any.
func recalls(d *Document) []column {
	for i := range d.Legs {
		if d.Legs[i].Search != nil {
			return []column{{"recall", func(row line) string {
				if row.part != "" {
					return absent
				}
				return recallCell(row.leg)
			}}}
		}
	}
	return nil
}

// searchSection has what searches asked for and how right their answers were, with their speed.
func searchSection(d *Document) section {
	s := section{title: "Nearest neighbours: recall and speed", lines: linesOf(d, func(l *Leg) bool { return l.Search != nil && l.Kind == "search" })}
	for i := range s.lines {
		if leg := s.lines[i].leg; leg.Measured != nil && leg.Verdict.showsLatency() {
			s.lines[i].latency = leg.Measured.Service
		}
	}
	of := func(title string, cell func(*Recall) string) column {
		return ofMeasured(title, func(m *Measured) string {
			if m.Recall == nil || m.Recall.Scored == 0 {
				return absent
			}
			return cell(m.Recall)
		})
	}
	s.groups = [][]column{{
		{"looked at", func(row line) string { return row.leg.Search.budget() }},
		{"rows that match", func(row line) string {
			return fmt.Sprintf("%s (%s)", comma(row.leg.Search.Matching), percent(row.leg.Search.Selectivity()))
		}},
		of("recall\n(mean)", func(r *Recall) string { return recallText(r.TieAware.Mean) }),
		of("recall\n(p5)", func(r *Recall) string { return recallText(r.TieAware.P5) }),
		of("recall\n(min)", func(r *Recall) string { return recallText(r.TieAware.Min) }),
		of("returned\n(p50)", func(r *Recall) string { return strconv.Itoa(r.ReturnedP50) }),
		of("short\nanswers", func(r *Recall) string { return percent(r.Short) }),
		of("empty\nanswers", func(r *Recall) string { return percent(r.Empty) }),
		ofSpeed("ops/s", func(_ *Leg, m *Measured) string {
			if m.Throughput == nil {
				return absent
			}
			return figure(*m.Throughput)
		}),
	}, latencies(s.lines)}
	return s
}

// budget says how much was looked at.
func (s *Search) budget() string {
	if s.Exact() {
		if s.Index != "" {
			return "every vector of the index"
		}
		return "every row"
	}
	text := s.BudgetName
	if s.Budget > 0 {
		text += " " + strconv.Itoa(s.Budget)
	}
	if s.Iterative != "" {
		text += ", " + s.Iterative
	}
	return text
}

// restless says, in one line, which legs began before the rate of their warm-up had come to rest.
func restless(legs []Leg) []string {
	var titles []string
	for _, leg := range legs {
		if s := leg.Search; s != nil && s.Settled != nil && !*s.Settled && leg.Measured != nil {
			titles = append(titles, fmt.Sprintf("%s (%s searches)", leg.Title, comma(s.Warmup)))
		}
	}
	if titles == nil {
		return nil
	}
	return []string{"the rate of the warm-up had not come to rest before: " + someOf(titles)}
}

// warnings says what stands out of the vectors, each once.
func warnings(legs []Leg) []string {
	var all []string
	for _, leg := range legs {
		if leg.Search == nil {
			continue
		}
		for _, warning := range leg.Search.Warnings {
			if !slices.Contains(all, warning) {
				all = append(all, warning)
			}
		}
	}
	return all
}

// searchNotes says what the tables leave open of searches.
func searchNotes(leg *Leg) []string {
	if leg.Measured == nil || leg.Measured.Recall == nil {
		return nil
	}
	r := leg.Measured.Recall
	var notes []string
	if r.Duplicates > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s rows came twice in an answer, and count once", leg.Title, comma(r.Duplicates)))
	}
	if r.Unscored > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s answers could not be scored, and are in no figure of recall", leg.Title, comma(r.Unscored)))
	}
	if r.OrderErrors > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s rows came before a nearer one", leg.Title, comma(r.OrderErrors)))
	}
	return notes
}

// searchFields are the CSV's columns of searches.
func searchFields() []field {
	of := func(title string, cell func(*Search) string) field {
		return field{title, func(_ *Document, l *Leg) string {
			if l.Search == nil {
				return ""
			}
			return cell(l.Search)
		}}
	}
	recall := func(title string, cell func(*Recall) string) field {
		return field{title, measured(func(m *Measured) string {
			if m.Recall == nil {
				return ""
			}
			return cell(m.Recall)
		})}
	}
	figure := func(title string, of func(*Recall) float64) field {
		return recall(title, func(r *Recall) string {
			if r.Scored == 0 {
				return ""
			}
			v := of(r)
			return number(&v)
		})
	}
	return []field{
		of("metric", func(s *Search) string { return s.Metric }),
		of("k (rows)", func(s *Search) string { return strconv.Itoa(s.K) }),
		of("strategy", func(s *Search) string { return s.Strategy }),
		of("index knobs", func(s *Search) string { return s.Knobs }),
		of("search budget", func(s *Search) string { return unlessZero(int64(s.Budget)) }),
		of("iterative scan", func(s *Search) string { return s.Iterative }),
		of("filter", func(s *Search) string { return s.Filter }),
		of("filter matching (rows)", func(s *Search) string { return integer(s.Matching) }),
		figure("recall mean (share)", func(r *Recall) float64 { return r.TieAware.Mean }),
		figure("recall p5 (share)", func(r *Recall) float64 { return r.TieAware.P5 }),
		figure("recall min (share)", func(r *Recall) float64 { return r.TieAware.Min }),
		figure("strict recall mean (share)", func(r *Recall) float64 { return r.Strict.Mean }),
		recall("answers scored", func(r *Recall) string { return integer(r.Scored) }),
		recall("answers not scored", func(r *Recall) string { return integer(r.Unscored) }),
		figure("returned p50 (rows)", func(r *Recall) float64 { return float64(r.ReturnedP50) }),
		figure("returned min (rows)", func(r *Recall) float64 { return float64(r.ReturnedMin) }),
		figure("empty answers (share)", func(r *Recall) float64 { return r.Empty }),
		figure("short answers (share)", func(r *Recall) float64 { return r.Short }),
		recall("duplicate rows", func(r *Recall) string { return integer(r.Duplicates) }),
		recall("order errors", func(r *Recall) string { return integer(r.OrderErrors) }),
	}
}

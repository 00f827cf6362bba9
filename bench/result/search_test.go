package result

import (
	"bytes"
	"strings"
	"testing"
)

// searchLeg is a valid leg of approximate searches with a filter.
func searchLeg() *Leg {
	m := fakeMeasured(1_000)
	m.Checked = 1000
	m.Recall = &Recall{
		Scored: 1000, TieAware: RecallFigures{Mean: 0.9421, P5: 0.7, Min: 0.5}, Strict: RecallFigures{Mean: 0.94, P5: 0.7, Min: 0.5},
		Rounded: RecallFigures{Mean: 0.9421, P5: 0.7, Min: 0.5}, ReturnedMin: 9, ReturnedP50: 10, Short: 0.001,
	}
	return &Leg{
		ID: "search/knn/hnsw/sel-10/ef_search-64/sequential", Title: "knn hnsw ef_search 64, sel~10%", Kind: "search", Verdict: Valid, Clients: 1, Threads: 1,
		Planned: 1000, Measured: m, Attempts: 1,
		Search: &Search{
			Field: "embedding", Metric: "cosine", K: 10, Strategy: "hnsw", Index: "ix_knn_hnsw", Knobs: "m 16, ef_construction 200", Budget: 64,
			BudgetName: "ef_search", Filter: "sel~10%", Rows: 1_000, Matching: 98, Queries: 200, Truth: "0011",
		},
		Explain: &Explanation{Text: "Index Scan using ix_knn_hnsw", Uses: new(true)},
	}
}

// exactLeg is a valid leg of exact searches of all rows.
func exactLeg() *Leg {
	leg := searchLeg()
	leg.ID, leg.Title, leg.Explain = "search/knn/exact/all/sequential", "knn exact", nil
	s := leg.Search
	s.Strategy, s.Index, s.Knobs, s.Budget, s.BudgetName, s.Filter, s.Matching = "bruteforce", "", "", 0, "", "", s.Rows
	one := RecallFigures{1, 1, 1}
	leg.Measured.Recall = &Recall{Scored: 1000, TieAware: one, Strict: one, Rounded: one, ReturnedMin: 10, ReturnedP50: 10}
	return leg
}

func TestVerdictsOfSearches(t *testing.T) {
	for _, test := range []struct {
		name   string
		leg    func() *Leg
		change func(*Leg)
		want   Verdict
		why    string
	}{
		{"an approximate search", searchLeg, func(*Leg) {}, Valid, ""},
		{"an exact search", exactLeg, func(*Leg) {}, Valid, ""},
		{"an approximate search that finds nothing right", searchLeg, func(l *Leg) { l.Measured.Recall.TieAware, l.Measured.Recall.Strict = RecallFigures{}, RecallFigures{} }, Valid, ""},
		{"an exact search that missed one row", exactLeg, func(l *Leg) {
			missed := RecallFigures{0.9999, 1, 0.9}
			l.Measured.Recall.TieAware, l.Measured.Recall.Strict, l.Measured.Recall.Rounded = missed, missed, missed
		}, Invalid, "an exact search has a recall of 1, and these have 0.999… on average, 0.900 at worst"},
		{"an exact search in which ties fell otherwise", exactLeg, func(l *Leg) { l.Measured.Recall.Strict = RecallFigures{0.98, 0.9, 0.8} }, Valid, ""},
		{"an exact search that rounds as single precision does", exactLeg, func(l *Leg) {
			l.Measured.Recall.TieAware, l.Measured.Recall.Strict = RecallFigures{0.9999, 1, 0.9}, RecallFigures{0.9999, 1, 0.9}
		}, Valid, ""},
		{"an exact search out of order", exactLeg, func(l *Leg) { l.Measured.Recall.OrderErrors = 3 }, Invalid, "3 rows came before a nearer one"},
		{"rows that do not match the filter", searchLeg, func(l *Leg) { l.Measured.Recall.Foreign = 2 }, Invalid, "2 rows came that are not in the table or do not match the filter"},
		{"nothing scored", searchLeg, func(l *Leg) { l.Measured.Checked, l.Measured.Recall = 0, &Recall{Unscored: 1000} }, Unverified, "no answer was checked"},
		{"an index that is not used", searchLeg, func(l *Leg) { *l.Explain.Uses = false }, Invalid, "index not used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			leg := test.leg()
			test.change(leg)
			f := quiet()
			f.Measured, f.Search, f.Explain, f.Proof = leg.Measured, leg.Search, leg.Explain, ProofOfSearch()
			got, why := VerdictOf(f)
			if got != test.want || !strings.Contains(why, test.why) || (test.why == "") != (why == "") {
				t.Errorf("%s: %s, want %s: %s", got, why, test.want, test.why)
			}
			leg.Verdict, leg.Why = got, why
			if err := leg.Validate(); err != nil {
				t.Errorf("with its verdict: %v", err)
			}
			if leg.Verdict = Valid; test.want == Invalid {
				if err := leg.Validate(); err == nil {
					t.Error("nothing speaks against calling it valid")
				}
			}
		})
	}
}

// A speed never stands without the recall it was had at.
func TestRecallStandsBesideEverySpeed(t *testing.T) {
	d := fakeDocument()
	d.Legs = []Leg{*exactLeg(), *searchLeg()}
	d.Run.Verdict, d.Run.Why = Judge(d.Legs)
	seal(d)
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	var table, csv, matrix, matrixCSV bytes.Buffer
	if err := WriteTable(&table, d, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(table.String(), "\n\n") {
		if strings.Contains(part, "ops/s") && strings.Count(part, "0.942") != 1 {
			t.Errorf("no recall beside these speeds:\n%s", part)
		}
	}
	for _, want := range []string{"98 (9.80 %)", "ef_search 64", "every row", "0.1 %"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
	if err := WriteCSV(&csv, d); err != nil || !strings.Contains(csv.String(), "0.9421,0.7,0.5,0.94,1000,0") {
		t.Errorf("%v: %s", err, &csv)
	}
	cell := MatrixCell{Engine: "postgres", Workload: "vector", Host: "here", Verdict: Valid}
	cell.Take(d)
	m := &Matrix{Schema: MatrixSchemaVersion, ID: "m", Name: "n", Cells: []MatrixCell{cell}}
	if err := WriteMatrixTable(&matrix, m); err != nil || !strings.Contains(matrix.String(), "recall 0.942") || !strings.Contains(matrix.String(), "recall 1.000") {
		t.Errorf("%v:\n%s", err, &matrix)
	}
	if err := WriteMatrixCSV(&matrixCSV, m); err != nil || !strings.Contains(matrixCSV.String(), ",0.9421,") {
		t.Errorf("%v:\n%s", err, &matrixCSV)
	}
}

func TestRecallIsNeverRoundedToOneOrNothing(t *testing.T) {
	for recall, want := range map[float64]string{1: "1.000", 0.99996: "0.999…", 0.9994: "0.999", 0.00001: "0.000…", 0: "0.000"} {
		if got := recallText(recall); got != want {
			t.Errorf("%v is written %s, want %s", recall, got, want)
		}
	}
}

func TestImpossibleRecallsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Leg){
		"are no recalls":              func(l *Leg) { l.Measured.Recall.TieAware.Mean = 1.2 },
		"less with ties than without": func(l *Leg) { l.Measured.Recall.Strict.Mean = 0.95 },
		"more than the 1000 rows":     func(l *Leg) { l.Search.Matching = 1001 },
		"measured/recall":             func(l *Leg) { l.Measured.Recall = nil },
	} {
		leg := searchLeg()
		change(leg)
		if err := leg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("problems %v, want %s", err, want)
		}
	}
}

package result

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeMatrix has PostgreSQL twice, at tiers that cannot be compared, another engine beside the first, and cells without numbers.
func fakeMatrix() *Matrix {
	m := &Matrix{
		Schema: MatrixSchemaVersion, ID: "night-1", Name: "night", Started: fakeStart, Finished: fakeStart.Add(90_000_000_000),
		Cells: []MatrixCell{
			{Engine: "postgres", Workload: "crud", Variant: "usual", Host: "bench", Run: "night-1-001-postgres", Verdict: Invalid},
			{Engine: "other", Workload: "crud", Variant: "usual", Host: "bench", Run: "night-1-002-other", Verdict: Valid},
			{Engine: "postgres", Workload: "crud", Variant: "memory", Host: "bench", Run: "night-1-003-postgres", Verdict: Invalid},
			{Engine: "absent", Workload: "crud", Variant: "usual", Host: "bench", Verdict: Skipped, Why: "no absentd |\n on PATH"},
			{Engine: "late", Workload: "crud", Host: "bench", Verdict: NotRun, Why: "the matrix was cancelled before it"},
		},
	}
	m.Cells[0].Take(fakeDocument())
	other := fakeDocument()
	other.Engine.Title, other.Engine.Version, other.Legs = "Other", "10.11.19-Other-0+deb12u1", other.Legs[:1]
	m.Cells[1].Take(other)
	memory := fakeDocument()
	memory.Engine.Tier = "none"
	m.Cells[2].Take(memory)
	return m
}

func TestOnlyWhatMayBeComparedStandsSideBySide(t *testing.T) {
	base := fakeMatrix().Cells[0]
	for name, change := range map[string]func(*MatrixCell){
		"workload": func(c *MatrixCell) { c.Workload = "scans" },
		"rows":     func(c *MatrixCell) { c.Rows++ },
		"corpus":   func(c *MatrixCell) { c.Corpus = "another" },
		"key":      func(c *MatrixCell) { c.Key = "uuid" },
		"tier":     func(c *MatrixCell) { c.Tier = "none" },
		"clients":  func(c *MatrixCell) { c.Clients++ },
		"threads":  func(c *MatrixCell) { c.Threads++ },
		"host":     func(c *MatrixCell) { c.Host = "other" },
		"hardware": func(c *MatrixCell) { c.HostDigest = "another" },
		"harness":  func(c *MatrixCell) { c.Harness = "v9" },
		"numbers":  func(c *MatrixCell) { c.Legs = nil },
	} {
		other := base
		change(&other)
		if base.Comparable(other) || other.Comparable(base) {
			t.Errorf("cells that differ in %s may be compared", name)
		}
	}
	other := base
	other.Engine, other.Variant, other.Run, other.Version = "other", "usual", "x", "1"
	if !base.Comparable(other) {
		t.Error("two engines under the same load may not be compared")
	}
}

func TestSummaryShowsNoSpeedWithoutItsVerdictAndNoneThatIsWrong(t *testing.T) {
	m := fakeMatrix()
	var out bytes.Buffer
	if err := WriteMatrixTable(&out, m); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"5: 1 valid, 2 invalid, 1 skipped, 1 not run", "took     1m30s",
		"crud, durability tier os, 1,000 rows", "crud, durability tier none, 1,000 rows",
		"PostgreSQL 17.5", "Other 10.11.19 ", "10,000 valid", "p99 99.0 µs", sideBySide,
		"absent crud usual on bench: skipped, no absentd | on PATH\n", "late crud on bench: not run, the matrix was cancelled before it\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, leg := range m.Cells[0].Legs {
		if bad := leg.Verdict == Invalid || leg.Verdict == Failed; bad && (leg.Rate != nil || leg.P99 != nil) {
			t.Errorf("leg %s is %s and has a speed", leg.ID, leg.Verdict)
		}
	}
	if at := strings.Index(text, "tier os"); strings.Count(text[at:strings.Index(text, "tier none")], "PostgreSQL") != 1 {
		t.Errorf("cells of two tiers are in one table:\n%s", text)
	}

	out.Reset()
	if err := WriteMatrixMarkdown(&out, m); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `no absentd \| on PATH`) {
		t.Errorf("Markdown:\n%s", &out)
	}
}

// What a document's own tables withhold, the summary does not show either.
func TestSummaryShowsWhatTheDocumentsTablesShow(t *testing.T) {
	for _, verdict := range []Verdict{Valid, GeneratorLimited, Unverified, Overloaded, Failed, Invalid, Interrupted} {
		for _, kind := range []string{"read", "scan", "index-build", "index-drop"} {
			d := fakeDocument()
			leg := d.Legs[0]
			leg.Kind, leg.Verdict = kind, verdict
			d.Legs = []Leg{leg}
			lines := tableLines(d)
			shown := func(columns []column, title string) bool {
				for _, c := range columns {
					if strings.HasPrefix(c.title, title) {
						return c.cell(lines[0]) != absent
					}
				}
				t.Fatalf("there is no column %s", title)
				return false
			}
			var cell MatrixCell
			cell.Take(d)
			got := cell.Legs[0]
			rate, p50, p99 := shown(speed(), "ops/s"), shown(latencies(lines), "p50"), shown(latencies(lines), "p99 ")
			took := !p99 && shown(latencies(lines), "mean")
			if (got.Rate != nil) != rate || (got.P50 != nil) != p50 || (got.P99 != nil) != p99 || (got.Took != nil) != took {
				t.Errorf("%s that is %s: %+v, where the table shows ops/s %t, p50 %t, p99 %t, the time alone %t", kind, verdict, got, rate, p50, p99, took)
			}
			if text := got.figure(); !strings.Contains(text, string(verdict)) || took != strings.HasPrefix(text, briefly(leg.Measured.Service.Max)) {
				t.Errorf("%s that is %s is shown as %q", kind, verdict, text)
			}
		}
	}
}

func TestVerdictOfAMatrixIsTheWorstOfWhatWasNotSkipped(t *testing.T) {
	for _, test := range []struct {
		cells []Verdict
		want  Verdict
	}{
		{[]Verdict{Skipped, Skipped}, Skipped},
		{[]Verdict{Skipped, Valid}, Valid},
		{[]Verdict{Valid, Skipped, Failed, Valid}, Failed},
		{[]Verdict{GeneratorLimited, Valid}, GeneratorLimited},
	} {
		m := &Matrix{}
		for _, v := range test.cells {
			m.Cells = append(m.Cells, MatrixCell{Verdict: v})
		}
		if got := m.Verdict(); got != test.want {
			t.Errorf("%v: %s, want %s", test.cells, got, test.want)
		}
	}
}

func TestSummaryAsCSV(t *testing.T) {
	m := fakeMatrix()
	var out bytes.Buffer
	if err := WriteMatrixCSV(&out, m); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(row []string, name string) string { return row[slices.Index(matrixColumns, name)] }
	numbers := map[string]string{}
	legs := 0
	for _, row := range rows[1:] {
		numbers[column(row, "run")+column(row, "cell_engine")] = column(row, "comparable")
		if column(row, "leg") != "" {
			legs++
		}
		rate := column(row, "ops_per_second")
		if v := column(row, "verdict"); rate != "" && (v == "" || v == string(Failed) || v == string(Invalid)) {
			t.Errorf("a speed of a leg that is %q: %v", v, row)
		}
	}
	want := map[string]string{"night-1-001-postgrespostgres": "1", "night-1-002-otherother": "1", "night-1-003-postgrespostgres": "2", "absent": "", "late": ""}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Errorf("comparable (-want +got):\n%s", diff)
	}
	if want := 2*len(m.Cells[0].Legs) + 1; legs != want {
		t.Errorf("%d lines of legs, want %d", legs, want)
	}
}

func TestSummaryIsReadAsItWasWritten(t *testing.T) {
	m := fakeMatrix()
	var out bytes.Buffer
	if err := m.Encode(&out); err != nil {
		t.Fatal(err)
	}
	got, err := DecodeMatrix(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "{", `{"schema":99}`, `{"schema":1,"id":3}`} {
		if _, err := DecodeMatrix([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

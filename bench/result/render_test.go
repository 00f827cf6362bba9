package result

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTablesMatchTheirGoldenFiles(t *testing.T) {
	table := func(o TableOptions) func(io.Writer, *Document) error {
		return func(w io.Writer, d *Document) error { return WriteTable(w, d, o) }
	}
	for _, tc := range []struct {
		file  string
		doc   *Document
		write func(io.Writer, *Document) error
	}{
		{"server.txt", fakeDocument(), table(TableOptions{})},
		{"server-100.txt", fakeDocument(), table(TableOptions{Width: 100})},
		{"server-color.txt", fakeDocument(), table(TableOptions{Color: true})},
		{"server.csv", fakeDocument(), WriteCSV},
		{"server.md", fakeDocument(), WriteMarkdown},
		{"embedded.txt", embeddedDocument(), table(TableOptions{})},
		{"embedded.csv", embeddedDocument(), WriteCSV},
		{"empty.txt", emptyDocument(), table(TableOptions{})},
		{"unprepared.txt", unpreparedDocument(), table(TableOptions{})},
		{"work.txt", workDocument(), table(TableOptions{})},
		{"work-100.txt", workDocument(), table(TableOptions{Width: 100})},
		{"work.csv", workDocument(), WriteCSV},
		{"work.md", workDocument(), WriteMarkdown},
		{"empty.csv", emptyDocument(), WriteCSV},
		{"empty.md", emptyDocument(), WriteMarkdown},
	} {
		t.Run(tc.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := tc.write(&got, tc.doc); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", tc.file)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("run with -update if this is meant:\n%s", diff)
			}
		})
	}
}

// records reads a CSV back into one map per row.
func records(t *testing.T, d *Document) []map[string]string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteCSV(&out, d); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var maps []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			if _, twice := m[rows[0][i]]; twice {
				t.Fatalf("two columns are named %q", rows[0][i])
			}
			m[rows[0][i]] = cell
		}
		maps = append(maps, m)
	}
	return maps
}

// The rows of crud-bench's tables find theirs among ours by name.
func TestCSVHasTheNamesOfCrudBench(t *testing.T) {
	got := map[string]string{}
	for _, row := range records(t, workDocument()) {
		got[row["leg"]] = row["crud-bench test"]
	}
	want := map[string]string{
		"scan/stock/full/heap/read":                              "[S]can · stock · select(*) 100% - reads - no-index (0.1s)",
		"index/stock/full/build":                                 "[I]ndex · stock · build",
		"scan/stock/full/indexed/write-15":                       "[S]can · stock · select(*) 100% - reads+writes (15%) - indexed (0.1s)",
		"scan/stock/count/indexed/read":                          "[S]can · stock · count(*) - reads - indexed (1000)",
		"index/stock/full/drop":                                  "[R]emoveIndex · stock",
		"index/words/full/build":                                 "",
		"mix/ycsb-a":                                             "",
		"mix/growth":                                             "",
		"batch/create_100":                                       "[B]atch::create_100 (1000 batches of 100)",
		"batch/read_100":                                         "[B]atch::read_100 (1000 batches of 100)",
		"search/knn/exact/all/sequential":                        "",
		"search/knn/hnsw/sel-10/ef_search-64/sequential":         "",
		"search/knn/hnsw/churned/sel-10/ef_search-64/sequential": "",
		"index/knn/hnsw/churn/2/insert":                          "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
}

// A column named p99 that held the rank, and a p90 labelled p95: user-asks 38 and 73. Every figure of the fake tells its own name.
func TestCSVLabelsStandAboveTheirOwnValues(t *testing.T) {
	row := records(t, fakeDocument())[1]
	for title, want := range map[string]string{
		"leg": "read", "verdict": "valid", "attempts": "2", "planned (operations)": "1000", "ok (operations)": "1000", "failed (operations)": "0",
		"throughput (ops/s)": "10000", "wall (ns)": "100000000", "seed": "9223372036854775809",
		"service mean (ns)": "51500", "service min (ns)": "500", "service p1 (ns)": "1000", "service p25 (ns)": "25000",
		"service p50 (ns)": "50000", "service p75 (ns)": "75000", "service p90 (ns)": "90000", "service p95 (ns)": "95000",
		"service p99 (ns)": "99000", "service p99.9 (ns)": "99900", "service p99.99 (ns)": "99990", "service max (ns)": "1000000",
		"response p99 (ns)": "", "checked (answers)": "12", "wrong (answers)": "0", "harness cost (ns/operation)": "98.4",
		"server CPU (cores)": "1.25", "server memory mean (bytes)": "104857600", "server memory peak (bytes)": "125829120",
		"server disk read (bytes)": "4096", "server disk written (bytes)": "8388608",
		"agent CPU (cores)": "0.4", "agent disk read (bytes)": "0", "agent disk written (bytes)": "512",
	} {
		if got, ok := row[title]; !ok || got != want {
			t.Errorf("column %q is %q (there: %t), want %q", title, got, ok, want)
		}
	}
}

// No silent number: what did not run, failed or answered wrongly has its word and no speed, neither zero nor other.
func TestCSVHasFiveDifferentCellsAndNoZeroForMissing(t *testing.T) {
	rows := records(t, fakeDocument())
	for i, want := range []string{"valid", "valid", "failed", "invalid", "unsupported", "skipped", "not run"} {
		row := rows[i]
		if row["verdict"] != want {
			t.Errorf("row %d: verdict %q, want %q", i, row["verdict"], want)
		}
		for title, cell := range row {
			speed := strings.HasPrefix(title, "service") || strings.HasPrefix(title, "throughput")
			if speed && (cell == "") != (want != "valid") {
				t.Errorf("%s leg: %s is %q", want, title, cell)
			}
			if fakeDocument().Legs[i].Measured == nil && regexp.MustCompile(`\((ns|bytes|operations|answers|cores|s|ops/s)\)`).MatchString(title) &&
				title != "planned (operations)" && cell != "" {
				t.Errorf("%s leg: %s is %q", want, title, cell)
			}
		}
	}
	if got := rows[3]["server disk read (bytes)"]; got != "" {
		t.Errorf("unreadable disk is %q", got)
	}
}

func TestCSVIsRFC4180(t *testing.T) {
	var out bytes.Buffer
	if err := WriteCSV(&out, fakeDocument()); err != nil {
		t.Fatal(err)
	}
	quoted := false
	for i, b := range out.Bytes() {
		if b == '"' {
			quoted = !quoted
		}
		if b == '\n' && out.Bytes()[i-1] != '\r' {
			t.Fatalf("line ends without CR at byte %d", i)
		}
	}
	if quoted {
		t.Error("a quote is left open")
	}
}

func TestTableHasOneUnitAndNoVanishingFigures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		legs   []int64 // unit of each leg's latencies, nanoseconds
		header string
	}{
		{"all below a microsecond", []int64{2, 4}, "p99 (ns)"},
		{"one below a microsecond", []int64{10, 50_000_000}, "p99 (ns)"},
		{"most of milliseconds, one below a microsecond", []int64{10, 1_000_000, 1_000_000, 2_000_000}, "p99 (µs)"},
		{"microseconds", []int64{1_000}, "p99 (µs)"},
		{"milliseconds", []int64{1_000_000, 9_000_000}, "p99 (ms)"},
		{"longer than a hundred seconds", []int64{2_000_000_000}, "p99 (s)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := fakeDocument()
			d.Legs = d.Legs[:0]
			for _, unit := range tc.legs {
				d.Legs = append(d.Legs, Leg{Title: "Leg", Verdict: Valid, Measured: &Measured{Service: fakeLatency(unit)}})
			}
			var out bytes.Buffer
			if err := WriteTable(&out, d, TableOptions{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tc.header) {
				t.Errorf("no %q in\n%s", tc.header, &out)
			}
			_, body, _ := strings.Cut(out.String(), "├")
			for line := range strings.Lines(body) {
				cells := strings.Split(line, "│")
				if len(cells) < 10 {
					continue
				}
				for _, cell := range cells[4:10] { // mean to max
					if strings.Trim(cell, " 0.") == "" {
						t.Errorf("a latency vanished in\n%s", &out)
					}
				}
			}
		})
	}
}

func TestNarrowTableIsCutBetweenColumns(t *testing.T) {
	for _, width := range []int{60, 80, 100, 132, 200} {
		var out bytes.Buffer
		if err := WriteTable(&out, fakeDocument(), TableOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if strings.ContainsAny(line, "│┌└├") && text.StringWidth(strings.TrimSpace(line)) > width {
				t.Errorf("width %d: %d columns in %s", width, text.StringWidth(line), line)
			}
		}
		for _, title := range []string{"ops/s", "p99.9", "max", "(answers)", "written", "agent CPU"} {
			if strings.Count(out.String(), title) != 1 {
				t.Errorf("width %d: %q is there %d times", width, title, strings.Count(out.String(), title))
			}
		}
	}
}

func TestOpenLoopLegShowsResponseTimesToo(t *testing.T) {
	d := fakeDocument()
	d.Legs = d.Legs[:1]
	d.Legs[0].Measured.Response = fakeLatency(2_000_000)
	var out bytes.Buffer
	if err := WriteTable(&out, d, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`Create, response time +│ +│ +– │ +103 │ +100 │ +190 │ +198 │`).MatchString(out.String()) {
		t.Errorf("no response times in\n%s", &out)
	}
	d.Legs[0].Verdict = Overloaded
	out.Reset()
	if err := WriteTable(&out, d, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "198") || !strings.Contains(out.String(), "500") {
		t.Errorf("an overloaded leg shows latencies, or no rate:\n%s", &out)
	}
}

func TestTextOfServersCannotBreakTheTable(t *testing.T) {
	var out bytes.Buffer
	if err := WriteTable(&out, fakeDocument(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("an escape sequence came through")
	}
	if !strings.Contains(out.String(), "no answer in 30 s [31m at 10.0.0.1 | gone") {
		t.Errorf("the error's text is lost in\n%s", &out)
	}
}

func TestFigures(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "0.00412": 0.004123, "0.412": 0.4123, "0.5": 0.5, "1.00": 0.99996, "4.12": 4.123, "41.2": 41.23, "100": 99.96, "412": 412.3,
		"4,123": 4123.4, "10.0": 9.999, "0.999": 0.999,
	} {
		if got := figure(v); got != want {
			t.Errorf("figure(%v) is %q, want %q", v, got, want)
		}
	}
	if got := (unit{"ns", 1}).show(0); got != "<1" {
		t.Errorf("below the clock: %q", got)
	}
}

func TestIsolationIsTold(t *testing.T) {
	steps := []IsolationStep{{Name: "swap", State: StepDone}, {Name: "governor", State: StepRefused, Why: "x"}, {Name: "nice", State: StepNotAsked}, {Name: "quiet", State: StepRefused, Why: "y"}}
	for _, test := range []struct {
		isolation *Isolation
		server    string
		want      string
	}{
		{nil, "process", ""},
		{&Isolation{Level: "none"}, "endpoint", "none"},
		{&Isolation{Level: "strict", Steps: steps[:1]}, "process", "strict"},
		{&Isolation{Level: "standard", Steps: steps, SharedCPUs: true}, "docker", "standard, refused: governor, quiet; agent and server share CPUs"},
		{&Isolation{Level: "standard", SharedCPUs: true}, "embedded", "standard"},
	} {
		if got := isolationText(test.isolation, test.server); got != test.want {
			t.Errorf("%+v: %q, want %q", test.isolation, got, test.want)
		}
	}
	d := fakeDocument()
	d.Isolation = &Isolation{Level: "standard", Steps: steps}
	var table strings.Builder
	if err := WriteTable(&table, d, TableOptions{}); err != nil || !strings.Contains(table.String(), "\nisolation standard, refused: governor, quiet\n") {
		t.Errorf("%v\n%.800s", err, table.String())
	}
}

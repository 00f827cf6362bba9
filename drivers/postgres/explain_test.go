package postgres_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// TestPlansAreThoseOfMeasuredScans runs scans as a leg does and has the server count how often it used the index: it must be as the plan says, also
// where PostgreSQL goes over from a plan for the literals to one for any.
func TestPlansAreThoseOfMeasuredScans(t *testing.T) {
	const rows, runs = 8_000, 25
	template, err := corpus.ParseTemplate(map[string]any{
		"skewed": "string_enum:" + strings.Repeat("often,", 400) + "seldom", "half": "string_enum:" + strings.Repeat("often,", 3) + "seldom", "number": "int:0..999", "text": "text:100",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		t.Fatal(err)
	}
	running := server(t, drivers.TierProcess, drivers.Profile{})
	config := drivers.Config{
		Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: 1, Threads: 1, Tier: drivers.TierProcess, Corpus: c, Logger: slog.New(slog.DiscardHandler),
	}
	database, err := engine(t).Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	if err := database.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := database.Client(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := drivers.LoadRows(t.Context(), client, c, 0, rows, 0); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"skewed", "half", "number"} {
		if err := database.(drivers.Indexer).CreateIndex(t.Context(), query.Index{Name: column, Kind: query.Ordered, Paths: []query.Path{{column}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := database.(drivers.Analyzer).Analyze(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := control(t, config)
	defer conn.Close(t.Context())
	// counts are how often the index and the table were scanned so far. Planning looks into an index for its least and its largest value, which the
	// server counts as well.
	counts := func(column string) (index, table int) {
		line := run(t, conn, "SELECT s.idx_scan, t.seq_scan FROM pg_stat_user_indexes s JOIN pg_stat_user_tables t USING (relid) WHERE s.indexrelname = 'durabench_"+column+"'")[0]
		index, _ = strconv.Atoi(line[0])
		table, _ = strconv.Atoi(line[1])
		return index, table
	}
	text := func(s string) query.Literal { return query.Literal{Kind: corpus.String, Text: s} }
	number := func(n int64) query.Literal { return query.Literal{Kind: corpus.Int, Int: n} }
	seen := make(map[bool]bool)
	for _, where := range []*query.Predicate{
		{Op: query.Eq, Path: query.Path{"skewed"}, Values: []query.Literal{text("seldom")}},
		{Op: query.Eq, Path: query.Path{"skewed"}, Values: []query.Literal{text("often")}},
		{Op: query.Eq, Path: query.Path{"half"}, Values: []query.Literal{text("seldom")}},
		{Op: query.Eq, Path: query.Path{"half"}, Values: []query.Literal{text("often")}},
		{Op: query.Lt, Path: query.Path{"number"}, Values: []query.Literal{number(5)}},
		{Op: query.Lt, Path: query.Path{"number"}, Values: []query.Literal{number(900)}},
		{Op: query.Between, Path: query.Path{"number"}, Values: []query.Literal{number(0), number(990)}},
		{Op: query.Between, Path: query.Path{"number"}, Values: []query.Literal{number(7), number(7)}},
	} {
		for _, limit := range []int64{0, 3} {
			column := where.Path.String()
			t.Run(fmt.Sprintf("%s limit %d", where, limit), func(t *testing.T) {
				scan, err := query.Bind(&query.Scan{ID: "plan", Project: query.Full, Where: where, Limit: limit}, template)
				if err != nil {
					t.Fatal(err)
				}
				client, err := database.Client(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				explained, err := client.(drivers.Explainer).Explain(t.Context(), scan, query.Index{Name: column})
				if err != nil {
					t.Fatal(err)
				}
				scanner := client.(drivers.Scanner)
				statement, err := scanner.PrepareScan(t.Context(), scan)
				if err != nil {
					t.Fatal(err)
				}
				indexBefore, tableBefore := counts(column)
				var answer drivers.Answer
				for range runs {
					if err := scanner.Scan(t.Context(), statement, &answer); err != nil {
						t.Fatal(err)
					}
				}
				if err := client.Close(); err != nil { // the server tells what it counted when a session ends
					t.Fatal(err)
				}
				index, table := counts(column)
				for deadline := time.Now().Add(10 * time.Second); index-indexBefore+table-tableBefore < runs && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
					index, table = counts(column)
				}
				// Every one of them, the first included: the plan is settled on before.
				ofIndex, ofTable := index-indexBefore, table-tableBefore
				if explained.Uses && (ofTable > 0 || ofIndex < runs) || !explained.Uses && ofTable < runs {
					t.Errorf("the plan says that the index is used: %t; of %d scans %d were of the table, and the index was looked into %d times\n%s",
						explained.Uses, runs, ofTable, ofIndex, explained.Text)
				}
				seen[explained.Uses] = true
			})
		}
	}
	if len(seen) != 2 {
		t.Errorf("all plans say the same of the index: %v", seen)
	}
}

// A scan is planned for its literals before it is measured, as often as PostgreSQL does it before it may take another plan. Another scan on the same connection sees it.
func TestScansHaveSettledOnAPlanBeforeTheyRun(t *testing.T) {
	config := vectors(t, 8, 1, 1)
	_, clients := drivertest.Loaded(t, engine(t), config, 100)
	scanner := clients[0].(drivers.Scanner)
	_, err := scanner.PrepareScan(t.Context(), &query.Scan{ID: "young", Where: bindWhere(t, config, 50), Project: query.Count})
	drivertest.Must(t, err)
	for plans, want := range map[int]int64{5: 100, 4: 0, 6: 0} {
		condition := fmt.Sprintf("EXISTS (SELECT 1 FROM pg_prepared_statements WHERE statement LIKE '%%age%%' AND statement NOT LIKE '%%EXISTS%%' AND custom_plans = %d)", plans)
		statement, err := scanner.PrepareScan(t.Context(), &query.Scan{ID: "looks", Project: query.Count, Raw: &query.Raw{HasWhere: true, Where: map[string]string{"postgres": condition}}})
		drivertest.Must(t, err)
		var answer drivers.Answer
		drivertest.Must(t, scanner.Scan(t.Context(), statement, &answer))
		if answer.Count != want {
			t.Errorf("planned %d times: %d rows say so, want %d", plans, answer.Count, want)
		}
	}
}

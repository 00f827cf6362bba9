package configs

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// share is a comment that says how much a condition finds, e.g. "# 0.02 %: …".
var share = regexp.MustCompile(`^# ([0-9.]+) %`)

// statedShares returns what the comment right before each scan of a workload file says, by the scan's id.
func statedShares(t *testing.T, text string) map[string]float64 {
	t.Helper()
	stated, last := map[string]float64{}, ""
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
			last = ""
		case strings.HasPrefix(line, "#") && share.MatchString(line):
			last = share.FindStringSubmatch(line)[1]
		case strings.HasPrefix(line, "id = ") && last != "":
			percent, err := strconv.ParseFloat(last, 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			stated[strings.Trim(line[len("id = "):], `"`)] = percent / 100
		}
	}
	return stated
}

// shippedScans returns the scans of a shipped file, and that many rows for them.
func shippedScans(t testing.TB, name string, rows int) (query.Dataset, []*query.Scan) {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := spec.NewFlags(set)
	if err := set.Parse([]string{"-d", "map", "-s", strconv.Itoa(rows), "--corpus-seed", "1", "--config", name}); err != nil {
		t.Fatal(err)
	}
	facts := spec.Facts{Engines: []spec.EngineFacts{{Name: "map", Servers: []string{"embedded"}}}, Shipped: Files()}
	request, err := spec.Build(flags, nil, facts)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	template, err := corpus.ParseTemplate(request.Spec.Value)
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		t.Fatal(err)
	}
	var scans []*query.Scan
	for _, scan := range request.Spec.Scans {
		for _, run := range scan.Runs {
			scans = append(scans, &run.Query)
		}
	}
	return query.Dataset{Corpus: c, Version: 1, Rows: uint64(rows)}, scans
}

// TestConditionsFindWhatTheirCommentsSay works out how many rows each condition of a shipped file finds and compares with the share that its comment
// states, which each must have.
func TestConditionsFindWhatTheirCommentsSay(t *testing.T) {
	const rows = 50_000
	conditions := 0
	for _, name := range Names() {
		dataset, scans := shippedScans(t, name, rows)
		data, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		stated := statedShares(t, string(data))
		expected, err := dataset.Expect(t.Context(), scans, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range expected {
			if e.Rows == 0 {
				t.Errorf("%s: scan %s finds nothing", name, scans[i].ID)
			}
			if scans[i].Where == nil {
				continue
			}
			conditions++
			want, found := stated[scans[i].ID], float64(e.Matches)/rows
			// What is stated is rounded, and the rows are a sample.
			if slack := 0.05*want + 5*math.Sqrt(want*(1-want)/rows); math.Abs(found-want) > slack {
				t.Errorf("%s: scan %s finds %.4f %% of the rows, and its comment says %.4f %%", name, scans[i].ID, 100*found, 100*want)
			}
		}
	}
	if conditions < 15 {
		t.Errorf("only %d conditions were looked at", conditions)
	}
}

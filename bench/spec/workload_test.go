package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// head is the value template of the files below; what a test adds begins on line 10.
const head = `[value]
number = "int:1..5000"
score = "float:0..100"
city = "string_enum:London,Rome"
active = "bool"
words = "words:20;one,two"
tags = ["string_enum:red,blue", "string_enum:big,small"]
place = { code = "string:3" }

`

// Each of these is refused before anything starts, with its line and what would be right.
func TestBuildRefusesWorkloadsThatCannotBe(t *testing.T) {
	scan := func(lines ...string) string {
		return head + "[[scans]]\nid = \"a\"\nname = \"a\"\n" + strings.Join(lines, "\n") + "\n"
	}
	for _, test := range []struct {
		name, file string
		want       []string // the first part of each problem up to a *
	}{
		{"column that does not exist", scan(`where = { nubmer = 21 }`), []string{
			"bench.toml:13: scans[0].where.nubmer: there is no column nubmer; did you mean number?"}},
		{"member that does not exist", scan(`where = { "place.cod" = "abc" }`), []string{
			`bench.toml:13: scans[0].where."place.cod": column place has no member cod; did you mean place.code?`}},
		{"column to order by", scan(`order = ["score desc", "nmber"]`, `limit = 5`), []string{
			"bench.toml:13: scans[0].order[1]: there is no column nmber; did you mean number?"}},
		{"column of an aggregate", scan(`aggregates = ["sum(nmber)"]`), []string{
			"bench.toml:13: scans[0].aggregates[0]: there is no column nmber; did you mean number?"}},
		{"column to group by", scan(`aggregates = ["count"]`, `group_by = "citi"`), []string{
			"bench.toml:14: scans[0].group_by: there is no column citi; did you mean city?"}},
		{"operator of another kind of column", scan(`where = { number = { prefix = "2" } }`), []string{
			"bench.toml:13: scans[0].where.number.prefix: prefix is for texts: column number is an int"}},
		{"order of what has none", scan(`where = { active = { gt = true } }`), []string{
			"bench.toml:13: scans[0].where.active.gt: gt is for numbers, texts, times, uuids and bytes: column active is a bool"}},
		{"single value on an array", scan(`where = { tags = "red" }`), []string{
			"bench.toml:13: scans[0].where.tags: eq is for single values: column tags is an array; use has_any or has_all"}},
		{"operator that there is not", scan(`where = { number = { gtt = 3 } }`), []string{
			"bench.toml:13: scans[0].where.number.gtt: column number has no members, so no gtt: it is an int; did you mean the operator gt?"}},
		{"operator of another language", scan(`where = { city = { like = "L%" } }`), []string{
			"bench.toml:13: scans[0].where.city.like: column city has no members, so no like: it is a string; operators are between, contains, *"}},
		{"value of another kind", scan(`where = { number = "many" }`), []string{
			`bench.toml:13: scans[0].where.number: "many" is a string, and the column is an int`}},
		{"sum of texts", scan(`aggregates = ["sum(city)"]`), []string{
			"bench.toml:13: scans[0].aggregates[0]: sum is of numbers: column city is a string"}},

		{"condition in the words of others", scan(`condition = { mysql = "number = 21", mongodb = { number = 21 } }`), []string{
			"bench.toml:13: scans[0].condition: there is none for sqlite: add condition.sql or condition.sqlite (there is: mysql, mongodb), " +
				"or use where, which every engine reads"}},
		{"order in the words of others", scan(`condition = { sql = "number = 21" }`, `order_by = { mysql = "score" }`), []string{
			"bench.toml:14: scans[0].order_by: there is none for sqlite: add order_by.sql or order_by.sqlite (there is: mysql), " +
				"or use order, which every engine reads"}},
		{"condition in no words", scan(`condition = { sqlite = "" }`), []string{
			"bench.toml:13: scans[0].condition: there is none for sqlite: *"}},
		{"dialect that there is not", scan(`condition = { sqlit = "number = 21" }`), []string{
			"bench.toml:13: scans[0].condition.sqlit: unknown key; did you mean sqlite?"}},

		{"offset beyond the rows", scan(`offset = 1000`, `limit = 5`), []string{
			"bench.toml:13: scans[0].offset: 1000 is beyond the 1000 rows: nothing would be found"}},
		{"offset beyond the rows, by its older name", scan(`limit = 5`, `start = 2000`), []string{
			"bench.toml:14: scans[0].start: 2000 is beyond the 1000 rows: nothing would be found"}},
		{"offset beyond the rows, whatever the engine's own words find", scan(`condition = { sql = "number = 21" }`, `start = 2000`), []string{
			"bench.toml:14: scans[0].start: 2000 is beyond the 1000 rows: nothing would be found"}},
		{"row to begin after that is not there", scan(`after = 1000`), []string{
			"bench.toml:13: scans[0].after: there is no row 1000: rows are counted from 0 to 999"}},

		{"batch larger than the engine takes", head + "[[batches]]\nname = \"b\"\noperation = \"CREATE\"\nbatch_size = 5001\nsamples = 2\n", []string{
			"bench.toml:13: batches[0].batch_size: 5001 rows are more than the 5000 that sqlite takes in a batch"}},

		{"index on a column that does not exist", scan(`index = { fields = ["nmber"] }`), []string{
			"bench.toml:13: scans[0].index.fields[0]: there is no column nmber; did you mean number?"}},
		{"index on a table", scan(`index = { fields = ["number", "place"] }`), []string{
			"bench.toml:13: scans[0].index.fields[1]: column place is of kind object: an index is on a member of it, not on the whole"}},
		{"full-text index on numbers", scan(`[scans.with_index]`, `fields = ["number"]`, `index_type = "fulltext"`), []string{
			"bench.toml:14: scans[0].with_index.fields[0]: column number is of kind int: a full-text index is on a string"}},
		{"full-text index on two columns", scan(`index = { fields = ["words", "city"], kind = "fulltext" }`), []string{
			"bench.toml:13: scans[0].index.fields: a full-text index is on one column, not 2"}},
		{"index of the elements of what has none", scan(`index = { fields = ["words.*"] }`), []string{
			"bench.toml:13: scans[0].index.fields[0]: column words is of kind string and has no elements: only arrays have"}},
		{"index of a kind that there is not", scan(`index = { fields = ["words"], kind = "fultext" }`), []string{
			`bench.toml:13: scans[0].index.kind: "fultext" is not one of ordered, elements, fulltext, count; did you mean fulltext?`}},

		{"two scans with one id", scan() + "\n[[scans]]\nid = \"A\"\nname = \"b\"\n", []string{
			`bench.toml:16: scans[1].id: "A" is taken by scans[0], line 10: the ids of their legs could not be told apart`}},
		{"two runs with one name", head + "[[scans]]\nid = \"a\"\nruns = [\n  { name = \"x\" },\n  { name = \"x\" },\n]\n", []string{
			`bench.toml:14: scans[0].runs[1].name: "x": another run of this scan has the same name, and the ids of their legs could not be told apart`}},
		{"two batches with one name", head + strings.Repeat("[[batches]]\nname = \"b\"\noperation = \"CREATE\"\nbatch_size = 5\nsamples = 2\n", 2), []string{
			"bench.toml:15: batches[1]: b: *", `bench.toml:16: batches[1].name: "b" is taken on line 11: the ids of their legs could not be told apart`}},
		{"two mixes with one name", head + strings.Repeat("[[mixes]]\nname = \"m\"\nweights = { read = 1 }\n", 2), []string{
			`bench.toml:14: mixes[1].name: "m" is taken on line 11: the ids of their legs could not be told apart`}},
		{"two mixed legs with one share of writes", scan(`writes = [0.15, 0.5, 0.15]`), []string{
			"bench.toml:13: scans[0].writes: a share of 15 % is given twice: the ids of their legs could not be told apart"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := buildWith(t, test.file, "-d", "sqlite", "-s", "1000")
			if got := problemLines(t, err); !matchAll(got, test.want) {
				t.Errorf("problems differ (-want +got):\n%s", cmp.Diff(test.want, got))
			}
		})
	}
}

// An engine that has no words of its own does not run such a scan, which is no mistake in the file.
func TestBuildTakesOthersWordsWhereTheEngineHasNone(t *testing.T) {
	file := head + "[[scans]]\nid = \"a\"\nname = \"a\"\ncondition = { mysql = \"number = 21\" }\n"
	request, err := buildWith(t, file, "-d", "map", "-s", "1000")
	if err != nil {
		t.Fatal(err)
	}
	if raw := request.Spec.Scans[0].Runs[0].Query.Raw; raw == nil || raw.Where["mysql"] != "number = 21" {
		t.Errorf("the scan is %+v", raw)
	}
}

// No batch is so large that what is kept ready for it exhausts the memory.
func TestBuildBoundsBatches(t *testing.T) {
	batch := func(size string) string {
		return "[[batches]]\nname = \"b\"\noperation = \"CREATE\"\nbatch_size = " + size + "\nsamples = 1\n"
	}
	_, err := buildWith(t, batch("1_000_001"), "-d", "map", "-s", "1")
	want := []string{"bench.toml:4: batches[0].batch_size: 1000001 rows are more than the 1000000 that a batch may have"}
	if got := problemLines(t, err); !matchAll(got, want) {
		t.Errorf("problems differ (-want +got):\n%s", cmp.Diff(want, got))
	}
	if _, err := buildWith(t, batch("1_000_000"), "-d", "map", "-s", "1"); err != nil {
		t.Error(err)
	}
}

package query_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

func TestBindGivesLiteralsTheKindOfTheirColumn(t *testing.T) {
	tmpl := template(t)
	for _, test := range []struct {
		p    *query.Predicate
		want string
	}{
		{compare(query.Eq, "number", integer(21)), "number = 21"},
		{compare(query.Eq, "number", float(21)), "number = 21"},
		{compare(query.Gt, "score", integer(16777217)), "score > 1.6777216e+07"},
		{compare(query.Gt, "score", float(0.1)), "score > 0.10000000149011612"},
		{compare(query.Eq, "grade", float(negativeZero)), "grade = 0"},
		{compare(query.Lte, "price", float(12.34)), "price <= 12.3400"},
		{compare(query.Lte, "price", integer(-3)), "price <= -3.0000"},
		{compare(query.Lte, "price", text("0.0001")), "price <= 0.0001"},
		{compare(query.Gte, "created_at", text("2024-05-31T12:00:00+02:00")), "created_at >= 2024-05-31T10:00:00Z"},
		{compare(query.Eq, "request_id", text("018BCFE5-6800-7000-8000-000000000000")), "request_id = 018bcfe5-6800-7000-8000-000000000000"},
		{compare(query.Ne, "raw", text("AAE=")), "raw != 0x0001"},
		{compare(query.In, "number", integer(3), integer(1), integer(3)), "number in (1, 3)"},
		{compare(query.In, "active", boolean(true), boolean(false)), "active in (false, true)"},
		{compare(query.Between, "city", text("a"), text("a")), `city between "a" and "a"`},
		{compare(query.IsNull, "tags"), "tags is null"},
		{compare(query.Contains, "name", text("\"\\\x00%")), `name contains ("\"\\\x00%")`},
		{compare(query.HasAll, "tags", text("gamma"), text("beta")), `tags has all ("beta", "gamma")`},
		{compare(query.HasAny, "levels", float(3)), "levels has any (3)"},
		{compare(query.MatchAny, "words", text("World!"), text("ÉTÉ"), text("hello")), `words match any ("hello", "world", "été")`},
		{compare(query.Eq, `place."dotted.name"`, integer(1)), `place."dotted.name" = 1`},
		{tree(query.Or, tree(query.Not, compare(query.Eq, "place.deep.level", integer(2))), tree(query.And, compare(query.Prefix, "name", text("x")))),
			`(not (place.deep.level = 2) or (name prefix ("x")))`},
	} {
		before := test.p.String()
		bound := bind(t, tmpl, test.p)
		if got := bound.String(); got != test.want {
			t.Errorf("%s binds to %s, want %s", before, got, test.want)
		}
		if again := bind(t, tmpl, bound); !again.Equal(bound) {
			t.Errorf("%s binds to %s when bound again", bound, again)
		}
		if test.p.String() != before {
			t.Errorf("binding changed %s to %s", before, test.p)
		}
		data, err := json.Marshal(bound)
		if err != nil {
			t.Fatal(err)
		}
		var decoded *query.Predicate
		if err := json.Unmarshal(data, &decoded); err != nil {
			t.Fatal(err)
		}
		if again := bind(t, tmpl, decoded); !again.Equal(bound) || decoded.Column() != nil {
			t.Errorf("%s came back from JSON as %s", bound, again)
		}
	}
}

var negativeZero = func() float64 { zero := 0.0; return -zero }()

func TestBindRefuses(t *testing.T) {
	tmpl := template(t)
	deep := compare(query.Eq, "number", integer(1))
	for range 80 {
		deep = tree(query.Not, deep)
	}
	for _, test := range []struct {
		p    *query.Predicate
		want string
	}{
		{compare(query.Eq, "nmber", integer(1)), "where: there is no column nmber; did you mean number?"},
		{compare(query.Eq, "place.coda", text("x")), "where: column place has no member coda; did you mean place.code?"},
		{compare(query.Eq, "number.x", integer(1)), "where: column number has no members, so no x: it is an int; operators are " + strings.Join(query.Operators(), ", ")},
		{&query.Predicate{Op: query.Eq, Values: []query.Literal{integer(1)}}, "where: no column is named"},
		{compare(query.Eq, "place", text("x")), "where: eq is for single values: column place is an object; name a member, e.g. place.code"},
		{compare(query.Eq, "tags", text("x")), "where: eq is for single values: column tags is an array; use has_any or has_all"},
		{compare(query.Lt, "active", boolean(true)), "where: lt is for numbers, texts, times, uuids and bytes: column active is a bool"},
		{compare(query.Prefix, "number", text("1")), "where: prefix is for texts: column number is an int"},
		{compare(query.MatchAll, "tags", text("x")), "where: match_all is for texts: column tags is an array"},
		{compare(query.HasAny, "words", text("x")), "where: has_any is for arrays: column words is a string"},
		{compare(query.HasAny, "mixed", integer(1)), "where: has_any is for arrays of one kind: column mixed has an int and a bool"},
		{compare(query.HasAny, "nested", integer(1)), "where: has_any is for arrays of single values: column nested has an element that is an array"},
		{compare(query.Eq, "vector", integer(1)), "where: eq is for single values: column vector is a vector"},
		{compare(query.Eq, "number", text("1")), `where: "1" is a string, and the column is an int`},
		{compare(query.Eq, "number", float(1.5)), "where: 1.5 is not a whole number"},
		{compare(query.Eq, "score", float(1e300)), "where: 1e+300 does not fit in a float32"},
		{compare(query.Eq, "price", float(0.00001)), "where: 0.00001 has more than 4 decimal places"},
		{compare(query.Eq, "created_at", text("yesterday")), `where: "yesterday" is not a time such as 2024-05-31T12:00:00Z`},
		{compare(query.Eq, "created_at", text("2024-05-31T12:00:00.5Z")), `where: "2024-05-31T12:00:00.5Z" has a fraction of a second: times are whole seconds`},
		{compare(query.Eq, "request_id", text("x")), `where: "x" is not a uuid such as 018bcfe5-6800-7000-8000-000000000000`},
		{compare(query.Eq, "request_id", query.Literal{Kind: corpus.UUID, Bytes: []byte{1}}), "where: a uuid has 16 bytes, not 1"},
		{compare(query.Eq, "raw", text("?")), `where: "?" is not base 64`},
		{compare(query.Eq, "name", text("\xff")), `where: "\xff" is not valid UTF-8`},
		{compare(query.In, "number"), "where: needs at least one value"},
		{compare(query.Eq, "number"), "where: takes one value, not 0"},
		{compare(query.Between, "number", integer(1)), "where: takes 2 values, not 1"},
		{compare(query.Between, "number", integer(2), integer(1)), "where: the range 2 to 1 is reversed: write the lower end first"},
		{compare(query.IsNull, "number", integer(1)), "where: takes no values, not 1"},
		{compare(query.Contains, "name", text("")), "where: an empty text is found in every row"},
		{compare(query.MatchAny, "words", text("hello world")), `where: "hello world" is not one word: words are runs of letters and digits`},
		{compare(query.MatchAny, "words", text("--")), `where: "--" is not one word: words are runs of letters and digits`},
		{tree(query.And), "where: needs at least one condition"},
		{tree(query.Not), "where: not takes one condition, not 0"},
		{tree(query.Or, nil), "where.args[0]: is nil"},
		{tree("xor"), `where: "xor" is not an operator`},
		{tree(query.Or, compare(query.Eq, "nmber", integer(1)), compare(query.Eq, "number", text("x"))),
			"where.args[0]: there is no column nmber; did you mean number?\nwhere.args[1]: \"x\" is a string, and the column is an int"},
		{deep, "nested too deep: at most 64 levels"},
	} {
		_, err := query.Bind(&query.Scan{Where: test.p}, tmpl)
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("bind %s: error %v, want %s", test.p, err, test.want)
		}
	}
}

func TestBindChecksTheScan(t *testing.T) {
	tmpl := template(t)
	after := uint64(7)
	for _, test := range []struct {
		scan query.Scan
		want string
	}{
		{query.Scan{Project: "all"}, `projection: "all" is none of id, full, count`},
		{query.Scan{Offset: -1, Limit: -2}, "start: must not be negative, is -1\nlimit: must not be negative, is -2"},
		{query.Scan{Order: []query.Order{{Path: query.Path{"activ"}}}}, "order[0]: there is no column activ; did you mean active?"},
		{query.Scan{Order: []query.Order{{}, {Path: query.Path{"tags"}}}}, "order[1]: rows have no order by column tags: it is an array"},
		{query.Scan{Order: []query.Order{{Path: query.Path{"active"}}}}, "order[0]: rows have no order by column active: it is a bool"},
		{query.Scan{Order: []query.Order{{Path: query.Path{"name"}}, {Path: query.Path{"name"}, Desc: true}}}, "order[1]: name is there twice"},
		{query.Scan{Order: []query.Order{{}}, Offset: 5}, "start: needs a limit when rows are in order"},
		{query.Scan{Order: []query.Order{{}}, Offset: 1 << 62, Limit: 1 << 62}, "limit: start and limit of an ordered scan may come to at most 1048576 rows"},
		{query.Scan{After: &after, Order: []query.Order{{Desc: true}}}, `after: pages by the key: leave out the order, or order by "id"`},
		{query.Scan{GroupBy: query.Path{"city"}}, `group_by: needs aggregates, e.g. aggregates = ["count"]`},
		{query.Scan{Aggregates: []query.Aggregate{{Func: query.Number}}, GroupBy: query.Path{"tags"}}, "group_by: rows cannot be grouped by column tags: it is an array"},
		{query.Scan{Aggregates: []query.Aggregate{{Func: query.Number, Path: query.Path{"city"}}, {Func: query.Sum, Path: query.Path{"city"}}, {Func: "median"}, {Func: query.Max}}},
			"aggregates[0]: count counts rows: leave out column city\naggregates[1]: sum is of numbers: column city is a string\n" +
				"aggregates[2]: \"median\" is none of count, sum, avg, min, max\naggregates[3]: no column is named"},
		{query.Scan{Aggregates: []query.Aggregate{{Func: query.Number}}, Project: query.ID, Order: []query.Order{{}}, Limit: 3},
			"projection: does not go with aggregates: they are of all rows that match\norder: does not go with aggregates: they are of all rows that match\n" +
				"limit: does not go with aggregates: they are of all rows that match"},
		{query.Scan{Raw: &query.Raw{}, Order: []query.Order{{}}}, "condition: conditions in the engines' own words do not go with where, order, after, aggregates or group_by"},
	} {
		if _, err := query.Bind(&test.scan, tmpl); err == nil || err.Error() != test.want {
			t.Errorf("bind %s: error %v, want %s", &test.scan, err, test.want)
		}
	}
	s, err := query.Bind(&query.Scan{After: &after, Offset: 100}, tmpl)
	if err == nil || err.Error() != "start: needs a limit when rows are in order" {
		t.Errorf("bind %s: %v", s, err)
	}
	if s, err = query.Bind(&query.Scan{After: &after, Offset: 100, Limit: 3}, tmpl); err != nil {
		t.Fatal(err)
	}
	if got, want := s.String(), "select full after row 7 order by id offset 100 limit 3"; got != want {
		t.Errorf("bound to %s, want %s", got, want)
	}
	if err := s.CheckRows(101); err != nil {
		t.Errorf("101 rows: %v", err)
	}
	const want = "start: 100 is beyond the 5 rows: nothing would be found\nafter: there is no row 7: rows are counted from 0 to 4"
	if err := s.CheckRows(5); err == nil || err.Error() != want {
		t.Errorf("5 rows: error %v, want %s", err, want)
	}
}

func TestDigestTellsScansApart(t *testing.T) {
	tmpl := template(t)
	scans := []query.Scan{
		{}, {Project: query.Count}, {Limit: 5}, {Offset: 5}, {Order: []query.Order{{}}}, {Order: []query.Order{{Desc: true}}},
		{Where: compare(query.Eq, "name", text(`a" or name = "b`))}, {Where: tree(query.Or, compare(query.Eq, "name", text("a")), compare(query.Eq, "name", text("b")))},
		{Where: compare(query.Contains, "name", text("a"))}, {Aggregates: []query.Aggregate{{Func: query.Number}}},
		{Aggregates: []query.Aggregate{{Func: query.Number}}, GroupBy: query.Path{"city"}},
	}
	seen := map[string]string{}
	for i := range scans {
		s, err := query.Bind(&scans[i], tmpl)
		if err != nil {
			t.Fatal(err)
		}
		if other, there := seen[s.Digest()]; there {
			t.Errorf("%s and %s share a digest", s, other)
		}
		seen[s.Digest()] = s.String()
	}
	a, _ := query.Bind(&query.Scan{ID: "a", Where: compare(query.In, "number", integer(2), integer(1))}, tmpl)
	b, _ := query.Bind(&query.Scan{ID: "b", Where: compare(query.In, "number", integer(1), float(2)), Project: query.Full}, tmpl)
	if a.Digest() != b.Digest() {
		t.Errorf("%s and %s do not share a digest", a, b)
	}
}

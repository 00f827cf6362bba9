package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/durabench/durabench/bench/query"
)

// decode decodes the condition in a TOML text and binds it.
func decode(t testing.TB, text string) (*query.Predicate, error) {
	t.Helper()
	var file struct{ Where map[string]any }
	if err := toml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	p, err := query.Decode(file.Where)
	if err != nil {
		return nil, err
	}
	s, err := query.Bind(&query.Scan{Where: p}, template(t))
	if err != nil {
		return nil, err
	}
	return s.Where, nil
}

func TestDecode(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`where = { number = 21 }`, `number = 21`},
		{`where = { number = { eq = 21 } }`, `number = 21`},
		{`where = { number = { gte = 18, lte = 21 } }`, `(number >= 18 and number <= 21)`},
		{`where = { number = 3, city = "paris" }`, `(city = "paris" and number = 3)`},
		{`where = { number = { ne = 1 }, score = { lt = 2.5 }, price = { gt = 3 } }`, `(number != 1 and price > 3.0000 and score < 2.5)`},
		{`where = { number = { in = [3, 1] } }`, `number in (1, 3)`},
		{`where = { number = { between = [1, 3] } }`, `number between 1 and 3`},
		{`where = { price = { between = ["1.5", 3.25] } }`, `price between 1.5000 and 3.2500`},
		{`where = { created_at = { gte = 2024-05-31T12:00:00+02:00, lt = 2025-01-01 } }`, `(created_at >= 2024-05-31T10:00:00Z and created_at < 2025-01-01T00:00:00Z)`},
		{`where = { created_at = 2024-05-31 12:00:00 }`, `created_at = 2024-05-31T12:00:00Z`},
		{`where = { name = { prefix = "a", suffix = "b", contains = "%" } }`, `(name contains ("%") and name prefix ("a") and name suffix ("b"))`},
		{`where = { name = { is_null = true } }`, `name is null`},
		{`where = { name = { is_null = false } }`, `not (name is null)`},
		{`where = { tags = { has_any = "alpha" } }`, `tags has any ("alpha")`},
		{`where = { tags = { has_all = ["alpha", "delta"] } }`, `tags has all ("alpha", "delta")`},
		{`where = { words = { match_all = "Hello, world" } }`, `words match all ("hello", "world")`},
		{`where = { words = { match_any = ["foo", "bar"] } }`, `words match any ("bar", "foo")`},
		{`where = { "place.code" = "x" }`, `place.code = "x"`},
		{`where = { place = { code = "x", deep.level = { gt = 1 } } }`, `(place.code = "x" and place.deep.level > 1)`},
		{`where.place.deep.level.in = [1, 2]`, `place.deep.level in (1, 2)`},
		{`where = { 'place."dotted.name"' = 1 }`, `place."dotted.name" = 1`},
		{`where = { any = [{ number = 1 }, { number = 2, city = "rome" }] }`, `(number = 1 or (city = "rome" and number = 2))`},
		{`where = { all = [{ number = { gt = 1 } }, { any = [{ active = true }, { not = { number = 5 } }] }] }`, `(number > 1 and (active = true or not (number = 5)))`},
		{`where = { not = { number = 1, active = false } }`, `not ((active = false and number = 1))`},
		{"[[where.any]]\nnumber = 1\n[[where.any]]\nnumber = 2", `(number = 1 or number = 2)`},
	} {
		p, err := decode(t, test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		} else if p.String() != test.want {
			t.Errorf("%s is %s, want %s", test.text, p, test.want)
		}
	}
}

func TestDecodeTellsColumnsFromWords(t *testing.T) {
	p, err := query.Decode(map[string]any{
		".all": map[string]any{"eq": int64(1)}, ".not": true, "a": map[string]any{".in": map[string]any{"gt": 1.5}, ".prefix": "x", "prefix": "y"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.String(), `(all = 1 and not = true and a.in > 1.5 and a.prefix = "x" and a prefix ("y"))`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`where = {}`, "where: is empty: it needs a condition, e.g. { number = { eq = 21 } }"},
		{`where = { number = {} }`, "where.number: is empty: it needs a condition, e.g. { number = { eq = 21 } }"},
		{`where = { number = [1, 2] }`, "where.number: an array needs an operator, e.g. { in = […] }, { between = […] } or { has_any = […] }"},
		{`where = { number = { in = 1 } }`, "where.number.in: needs an array of values, e.g. [18, 21]"},
		{`where = { number = { in = [] } }`, "where.number.in: needs at least one value"},
		{`where = { number = { eq = [1] } }`, "where.number.eq: takes one value, not an array"},
		{`where = { number = { between = [1] } }`, "where.number.between: needs an array of the lower and the upper end, e.g. [18, 21]"},
		{`where = { number = { between = [2, 1] } }`, "where.number.between: the range 2 to 1 is reversed: write the lower end first"},
		{`where = { number = { in = [1, "x", {}] } }`, "where.number.in[2]: is no value to compare with: write a text, a number, a time, true or false"},
		{`where = { number = { in = [1, "x"] } }`, `where.number.in[1]: "x" is a string, and the column is an int`},
		{`where = { number = { eqq = 1 } }`, "where.number.eqq: column number has no members, so no eqq: it is an int; did you mean the operator eq?"},
		{`where = { name = { is-null = true } }`, "where.name.is-null: column name has no members, so no is-null: it is a string; did you mean the operator is_null?"},
		{`where = { name = { is_null = 1 } }`, "where.name.is_null: is true or false"},
		{`where = { "place.coda" = 1 }`, `where."place.coda": column place has no member coda; did you mean place.code?`},
		{`where = { "a..b" = 1 }`, `where."a..b": path "a..b": a name is empty`},
		{`where = { '"a' = 1 }`, `where."\"a": path "\"a": the quotes do not match`},
		{`where = { score = nan }`, "where.score: NaN is not a number to compare with"},
		{`where = { created_at = 2024-05-31T12:00:00.5Z }`, "where.created_at: 2024-05-31T12:00:00.5Z has a fraction of a second: times are whole seconds"},
		{`where = { created_at = 12:00:00 }`, "where.created_at: is no value to compare with: write a text, a number, a time, true or false"},
		{`where = { words = { match_all = "--" } }`, "where.words.match_all: needs at least one value"},
		{`where = { any = { number = 1 } }`, "where.any: needs an array of conditions, e.g. { any = [{ number = 21 }, { number = 22 }] }"},
		{`where = { all = [1] }`, "where.all[0]: is no condition: write a table, e.g. { number = { eq = 21 } }"},
		{`where = { not = 1 }`, "where.not: needs a condition, e.g. { not = { number = { eq = 21 } } }"},
		{`where = { any = [{ nmber = 1 }, { tags = { has_any = [1] } }, { not = { number = { gt = "x" } } }] }`,
			"where.any[0].nmber: there is no column nmber; did you mean number?\n" +
				"where.any[1].tags.has_any: 1 is an int, and the column is a string\n" +
				`where.any[2].not.number.gt: "x" is a string, and the column is an int`},
	} {
		if p, err := decode(t, test.text); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, error %v, want %s", test.text, p, err, test.want)
		}
	}
	deep := map[string]any{"number": int64(1)}
	for range 100 {
		deep = map[string]any{"not": deep}
	}
	if _, err := query.Decode(deep); err == nil || !strings.HasSuffix(err.Error(), "nested too deep: at most 64 levels") {
		t.Errorf("a deep tree: %v", err)
	}
}

func TestDecodeOrderAndAggregates(t *testing.T) {
	order, err := query.DecodeOrder([]any{"created_at desc", "place.code", `place."dotted.name" ASC`, "id DESC"})
	want := []query.Order{
		{Path: query.Path{"created_at"}, Desc: true}, {Path: query.Path{"place", "code"}}, {Path: query.Path{"place", "dotted.name"}}, {Desc: true},
	}
	if diff := cmp.Diff(want, order); err != nil || diff != "" {
		t.Errorf("order: %v\n%s", err, diff)
	}
	for _, o := range want {
		if again, err := query.DecodeOrder(o.String()); err != nil || !cmp.Equal(again, []query.Order{o}) {
			t.Errorf("%s is read as %v, %v", o, again, err)
		}
	}
	_, err = query.DecodeOrder([]any{"a sideways", 3, "a..b", ""})
	const wantErr = "order[0]: \"sideways\" is neither asc nor desc\norder[1]: must be a column such as \"created_at\" or \"created_at desc\"\n" +
		"order[2]: path \"a..b\": a name is empty\norder[3]: path \"\": a name is empty"
	if err == nil || err.Error() != wantErr {
		t.Errorf("order: error %v, want %s", err, wantErr)
	}
	aggregates, err := query.DecodeAggregates([]any{"count", "sum(number)", "avg( place.x )"})
	wantAggregates := []query.Aggregate{{Func: query.Number}, {Func: query.Sum, Path: query.Path{"number"}}, {Func: query.Avg, Path: query.Path{"place", "x"}}}
	if diff := cmp.Diff(wantAggregates, aggregates); err != nil || diff != "" {
		t.Errorf("aggregates: %v\n%s", err, diff)
	}
	_, err = query.DecodeAggregates([]any{"sum", "sum(number", "()", []any{}})
	const wantAggregateErr = "aggregates[0]: \"sum\" is no aggregate: write count, or a function of a column such as sum(number)\n" +
		"aggregates[1]: \"sum(number\" lacks the closing parenthesis\naggregates[2]: path \"\": a name is empty\n" +
		"aggregates[3]: must be \"count\" or a function of a column such as \"sum(number)\""
	if err == nil || err.Error() != wantAggregateErr {
		t.Errorf("aggregates: error %v, want %s", err, wantAggregateErr)
	}
	if _, err := query.DecodeOrder([]any{}); err == nil {
		t.Error("an empty order is accepted")
	}
}

// FuzzDecode feeds any TOML text to Decode and Bind: nothing panics, problems name a key, and what binds has a text that binds to the same again.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`where = { number = 21 }`, `where = { any = [{ number = { in = [1, 2] } }, { not = { city = { prefix = "l%" } } }] }`,
		`where = { "place.deep" = { level = { between = [1, 2] } }, words = { match_any = "foo bar" } }`, `where = { created_at = 2024-05-31T12:00:00Z }`,
		`where = { tags = { has_all = ["alpha"] }, ".x" = { ".in" = 1 } }`, `where = { price = "1.5", score = 1e300, raw = "AA==", request_id = "x" }`,
	} {
		f.Add(text)
	}
	tmpl := template(f)
	f.Fuzz(func(t *testing.T, text string) {
		var file struct{ Where map[string]any }
		if toml.Unmarshal([]byte(text), &file) != nil {
			return
		}
		p, err := query.Decode(file.Where)
		var s *query.Scan
		if err == nil {
			s, err = query.Bind(&query.Scan{Where: p}, tmpl)
		}
		if err != nil {
			var problems query.Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%s: the error is %T", text, err)
			}
			for _, p := range problems {
				if !strings.HasPrefix(p.Key, "where") || p.Msg == "" {
					t.Fatalf("%s: problem %+v", text, p)
				}
			}
			return
		}
		if again := bind(t, tmpl, s.Where); !again.Equal(s.Where) {
			t.Fatalf("%s binds to %s and that to %s", text, s.Where, again)
		}
	})
}

package rendertest

import (
	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Scans are one scan for each thing that can be rendered. They are not bound.
func Scans() []*query.Scan {
	row := uint64(41)
	scans := []*query.Scan{
		{ID: "all", Project: query.Full},
		{ID: "all_keys", Project: query.ID},
		{ID: "count", Project: query.Count},
		{ID: "page", Project: query.ID, Offset: 5000, Limit: 100},
		{ID: "limit", Project: query.ID, Limit: 100},
		{ID: "offset", Project: query.ID, Offset: 7},
		{ID: "count_of_a_page", Project: query.Count, Offset: 5000, Limit: 100},
		{ID: "order", Project: query.ID, Order: []query.Order{{Path: query.Path{"moment"}, Desc: true}, {Path: query.Path{"deep", "text"}}, {}}, Limit: 10},
		{ID: "count_in_order", Project: query.Count, Order: []query.Order{{Path: query.Path{"moment"}}}, Limit: 10},
		{ID: "after", Project: query.ID, After: &row, Limit: 10},
		{ID: "after_where", Project: query.ID, After: &row, Limit: 10, Where: either(comparison(query.Eq, number(1), "number"), comparison(query.Eq, number(2), "number"))},
		{ID: "aggregates", Aggregates: []query.Aggregate{
			{Func: query.Number}, {Func: query.Sum, Path: query.Path{"cash"}}, {Func: query.Avg, Path: query.Path{"number"}}, {Func: query.Max, Path: query.Path{"deep", "real"}},
		}, Where: comparison(query.Eq, query.Literal{Kind: corpus.Bool, Bool: true}, "flag")},
		{ID: "groups", Aggregates: []query.Aggregate{{Func: query.Number}, {Func: query.Min, Path: query.Path{"deep", "cash"}}}, GroupBy: query.Path{"deep", "text"}},
		{ID: "raw", Project: query.Full, Raw: &query.Raw{
			HasWhere: true, HasOrder: true,
			Where: map[string]string{"sql": "number = 21 OR number = 22", "mysql": "number = 21 OR number = 22"}, Order: map[string]string{"sql": "moment DESC", "mysql": "moment DESC"},
		}},
		{ID: "raw_document", Project: query.Count, Raw: &query.Raw{HasWhere: true, WhereDocument: map[string]any{"number": map[string]any{"$in": []any{int64(21), int64(22)}}}}},
		{ID: "raw_of_others", Project: query.Full, Raw: &query.Raw{HasWhere: true, Where: map[string]string{"neo4j": "r.number = 21"}}},
	}
	where := func(id string, p *query.Predicate) {
		scans = append(scans, &query.Scan{ID: id, Project: query.ID, Where: p})
	}
	for _, literal := range literals {
		where("eq_"+literal.name, comparison(query.Eq, literal.value, literal.name))
		where("eq_nested_"+literal.name, comparison(query.Eq, literal.value, "deep", literal.name))
	}
	for _, op := range []query.Op{query.Ne, query.Lt, query.Lte, query.Gt, query.Gte} {
		where(string(op), comparison(op, number(-7), "number"))
	}
	where("in", &query.Predicate{Op: query.In, Path: query.Path{"number"}, Values: []query.Literal{number(18), number(21), number(30)}})
	where("between", &query.Predicate{Op: query.Between, Path: query.Path{"cash"}, Values: []query.Literal{{Kind: corpus.Decimal, Int: -15000}, {Kind: corpus.Decimal, Int: 15001}}})
	where("is_null", &query.Predicate{Op: query.IsNull, Path: query.Path{"text"}})
	where("is_null_nested_array", &query.Predicate{Op: query.IsNull, Path: query.Path{"deep", "it's", "tags"}})
	where("odd_names", comparison(query.Eq, number(1), "deep", "it's", "a.b"))
	for _, op := range []query.Op{query.Prefix, query.Suffix, query.Contains} {
		where(string(op), comparison(op, word(`50%_'"\`), "text"))
		where(string(op)+"_nested", comparison(op, word(`50%_'"\`), "deep", "text"))
	}
	where("prefix_at_the_end", comparison(query.Prefix, word("a\U0010ffff"), "text"))
	where("prefix_without_end", comparison(query.Prefix, word("\U0010ffff"), "text"))
	for _, op := range []query.Op{query.HasAny, query.HasAll} {
		where(string(op)+"_one", comparison(op, word(`"a'`), "tags"))
		where(string(op), &query.Predicate{Op: op, Path: query.Path{"tags"}, Values: []query.Literal{word("a"), word("b")}})
		where(string(op)+"_nested", &query.Predicate{Op: op, Path: query.Path{"deep", "it's", "tags"}, Values: []query.Literal{word("a"), word("b")}})
		where(string(op)+"_decimals", comparison(op, query.Literal{Kind: corpus.Decimal, Int: 15000}, "sums"))
	}
	for _, op := range []query.Op{query.MatchAll, query.MatchAny} {
		where(string(op), &query.Predicate{Op: op, Path: query.Path{"words"}, Values: []query.Literal{word("hello"), word("world")}})
		where(string(op)+"_nested", comparison(op, word("hello"), "deep", "text"))
	}
	where("not", &query.Predicate{Op: query.Not, Args: []*query.Predicate{comparison(query.Lt, number(5), "number")}})
	where("tree", &query.Predicate{Op: query.And, Args: []*query.Predicate{
		either(comparison(query.Eq, number(1), "number"), comparison(query.Ne, word("x"), "text")),
		{Op: query.Not, Args: []*query.Predicate{either(comparison(query.Gt, query.Literal{Kind: corpus.Float, Float: 0.5}, "real"), comparison(query.HasAny, word("a"), "tags"))}},
	}})
	return scans
}

var literals = []struct {
	name  string
	value query.Literal
}{
	{"blob", query.Literal{Kind: corpus.Bytes, Bytes: []byte{0, 255, '\''}}},
	{"cash", query.Literal{Kind: corpus.Decimal, Int: -12345}},
	{"flag", query.Literal{Kind: corpus.Bool, Bool: true}},
	{"moment", query.Literal{Kind: corpus.DateTime, Int: -1}},
	{"number", number(1<<62 + 1)},
	{"real", query.Literal{Kind: corpus.Float, Float: 0.25}},
	{"text", word(`it's "\`)},
	{"unique", query.Literal{Kind: corpus.UUID, Bytes: []byte("0123456789abcdef")}},
}

func number(n int64) query.Literal { return query.Literal{Kind: corpus.Int, Int: n} }

func word(s string) query.Literal { return query.Literal{Kind: corpus.String, Text: s} }

func comparison(op query.Op, l query.Literal, path ...string) *query.Predicate {
	return &query.Predicate{Op: op, Path: path, Values: []query.Literal{l}}
}

func either(args ...*query.Predicate) *query.Predicate {
	return &query.Predicate{Op: query.Or, Args: args}
}

package query_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/query/querytest"
)

func TestCheckPossible(t *testing.T) {
	for text, want := range map[string]string{
		`where = { city = "London" }`:                                     `where.city: finds nothing: city is one of london, new york, paris; did you mean "london"?`,
		`where = { city = { in = ["london", "rome"] } }`:                  "",
		`where = { city = { prefix = "Par" } }`:                           `where.city.prefix: finds nothing: city is one of london, new york, paris; did you mean "paris"?`,
		`where = { city = { gt = "zzz" } }`:                               `where.city.gt: finds nothing: city is one of london, new york, paris`,
		`where = { number = 0 }`:                                          "where.number: finds nothing: number is from 1 to 49",
		`where = { number = { lt = 1 } }`:                                 "where.number.lt: finds nothing: number is from 1 to 49",
		`where = { number = { lte = 1, gte = 49 } }`:                      "",
		`where = { number = { gt = 49 } }`:                                "where.number.gt: finds nothing: number is from 1 to 49",
		`where = { number = { between = [50, 60] } }`:                     "where.number.between: finds nothing: number is from 1 to 49",
		`where = { number = { in = [0, 50] } }`:                           "where.number.in: finds nothing: number is from 1 to 49",
		`where = { score = { gte = 100 } }`:                               "where.score.gte: finds nothing: score is from 0 to below 100",
		`where = { score = { lte = 0 } }`:                                 "",
		`where = { price = 20 }`:                                          "where.price: finds nothing: price is from -5.0000 to 19.9999",
		`where = { created_at = { lt = 1970-01-01T00:00:00Z } }`:          "where.created_at.lt: finds nothing: created_at is from 1970-01-01T00:00:00Z to 2030-12-31T23:59:58Z",
		`where = { name = "abcd" }`:                                       "where.name: finds nothing: name has 0 to 3 bytes",
		`where = { name = { contains = "%" } }`:                           "where.name.contains: finds nothing: name has only the characters A-Z a-z 0-9 and spaces",
		`where = { words = { match_all = "hello zebra" } }`:               "where.words.match_all: finds nothing: the words of words are hello, world, foo, bar-baz, été",
		`where = { words = { match_any = "hello zebra" } }`:               "",
		`where = { words = { match_all = "BAZ" } }`:                       "",
		`where = { words = { contains = "X" } }`:                          "where.words.contains: finds nothing: the words of words are hello, world, foo, bar-baz, été",
		`where = { tags = { has_any = ["omega"] } }`:                      "where.tags.has_any: finds nothing: tags is one of delta, gamma",
		`where = { tags = { has_any = ["omega", "alpha"] } }`:             "",
		`where = { tags = { has_all = ["omega", "alpha"] } }`:             "where.tags.has_all: finds nothing: tags is one of delta, gamma",
		`where = { name = { is_null = true } }`:                           "where.name.is_null: finds nothing: every row has a value in every column",
		`where = { any = [{ number = 0 }, { number = 1 }] }`:              "",
		`where = { any = [{ number = 0 }, { number = -1 }] }`:             "where.any[1].number: finds nothing: number is from 1 to 49",
		`where = { all = [{ number = 1 }, { any = [{ number = -1 }] }] }`: "where.all[1].any[0].number: finds nothing: number is from 1 to 49",
		`where = { not = { number = 0 } }`:                                "",
		`where = { request_id = "018bcfe5-6800-7000-8000-000000000000" }`: "",
	} {
		p, err := decode(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		if err := (&query.Scan{Where: p}).CheckPossible(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestImpossibleFindsNothing draws predicates: one that is said to find nothing must find nothing.
func TestImpossibleFindsNothing(t *testing.T) {
	d := dataset(t, 300, corpus.KeyInteger, false)
	source, rng := querytest.New(d), rand.New(rand.NewPCG(7, 7))
	var rows [300]corpus.Row
	for i := range rows {
		d.Corpus.Row(&rows[i], uint64(i), d.Version)
	}
	said := 0
	for i := range 8000 {
		p := source.Predicate(rng, i%3)
		err := (&query.Scan{Where: p}).CheckPossible()
		if err == nil {
			continue
		}
		var problems query.Problems
		if !errors.As(err, &problems) {
			t.Fatalf("the error is %T", err)
		}
		said++
		for j := range rows {
			if query.Matches(p, &rows[j]) {
				t.Fatalf("%s finds row %d and is said to find nothing: %v", p, j, err)
			}
		}
	}
	if said < 500 {
		t.Errorf("only %d were said to find nothing", said)
	}
}

package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// testFullText looks for words. Engines that need an index for it are tried with one.
func testFullText(t *testing.T, h Harness) {
	value := map[string]any{
		"words": "words:60;hello,world,foo,bar,test,search,data,query", "text": "text:20..60", "deep": map[string]any{"words": "words:30;hello,world,foo"},
	}
	m := newModel(makeCorpus(t, value, corpus.KeyString90, false), 120, nil)
	s, sc := h.scanned(t, m)
	scans := []*query.Scan{}
	for _, path := range []query.Path{{"words"}, {"deep", "words"}, {"text"}} {
		some := query.Tokens(m.value(5, path).Text)
		for _, op := range []query.Op{query.MatchAll, query.MatchAny} {
			for _, words := range [][]string{{"hello"}, {"HELLO"}, {"hello", "world"}, {"foo", "bar"}, {"hell"}, {"hello", "nowhere"}, {"nowhere"}, some[:1], some[:2], {"and"}, {"or", "not"}} {
				p := &query.Predicate{Op: op, Path: path}
				for _, word := range words {
					p.Values = append(p.Values, query.Literal{Kind: corpus.String, Text: word})
				}
				scans = append(scans, m.bind(t, &query.Scan{ID: "words", Project: query.ID, Where: p}),
					m.bind(t, &query.Scan{ID: "words", Project: query.Count, Where: p}),
					m.bind(t, &query.Scan{ID: "words", Project: query.Full, Where: p, Order: []query.Order{{}}, Limit: 9}),
					m.bind(t, &query.Scan{ID: "words", Project: query.ID, Where: &query.Predicate{Op: query.Not, Args: []*query.Predicate{p}}}))
			}
		}
	}
	all := func(what string) {
		t.Helper()
		for _, scan := range scans {
			if err := sc.check(t.Context(), scan); err != nil {
				t.Errorf("%s: %s: %v", what, describe(scan), err)
			}
		}
	}
	all("without an index")
	indexer, can := s.database.(drivers.Indexer)
	if !can || indexer.CanIndex(query.Index{Name: "w", Kind: query.FullText, Paths: []query.Path{{"words"}}}) != nil {
		t.Logf("the engine has no full-text index; %d scans of %d are refused without", sc.refused, len(scans))
		return
	}
	for i, path := range []query.Path{{"words"}, {"deep", "words"}, {"text"}} {
		index := query.Index{Name: fmt.Sprintf("words_%d", i), Kind: query.FullText, Paths: []query.Path{path}}
		must(t, indexer.CreateIndex(t.Context(), index))
		ready(t, indexer, index)
	}
	indexed := *sc
	indexed.harness.Refuses = nil // with an index there is no excuse
	*sc = indexed
	all("with an index")

	// The index hears of every kind of write.
	c := s.caller(0)
	for index := range uint64(20) {
		must(t, c.update(t.Context(), index, 3))
		m.corpus.Row(m.rows[index], index, 3)
	}
	for index := uint64(20); index < 30; index++ {
		must(t, c.delete(t.Context(), index))
		delete(m.rows, index)
	}
	for index := uint64(200); index < 220; index++ {
		must(t, c.create(t.Context(), index, 0))
		m.rows[index] = &corpus.Row{}
		m.corpus.Row(m.rows[index], index, 0)
	}
	if loader, can := c.client.(drivers.Loader); can {
		must(t, loader.Load(t.Context(), 40, 60, 5))
		for index := uint64(40); index < 60; index++ {
			m.corpus.Row(m.rows[index], index, 5)
		}
	}
	all("after writes")
}

// oddTexts are texts that tokenisers take apart in ways of their own. What their words are is what query.Tokens says.
var oddTexts = []string{
	"", " ", "...", "read/write", "and/or", "foo-bar", "foo_bar", "don't", "O'Neil's", "me@example.org", "https://example.org/path?q=1&r=two#three", "www.example.org", "/usr/local/bin",
	"-1", "3.14", "1e5", "1,000", "0x1f", "v1.2.3", "2001-02-03", "x1", "1x", "12e3abc", "C++", "<b>bold</b>", "&amp;", "a&b", "a|b", "!a", "a:*", "'quoted' \"twice\"", "back\\slash", "$1 :a ?", "%",
	"The quick, brown fox.", "the The THE", "a b c d", "to be or not to be", "is it at on in", "running runs ran", "été Été ÉTÉ ete", "e\u0301te\u0301", "Straße STRASSE", "ΣΟΦΟΣ σοφός", "İstanbul ISTANBUL ıi",
	"Ünïcödé", "漢字 かな", "東京都", "Привет МИР", "مرحبا", "👍 ok👍", "½ ² Ⅷ", "٣ ३", "a\tb\nc", "non\u00a0breaking", "zero\u200bwidth", "soft\u00adhyphen",
}

// testWords looks for every word of texts that tokenisers take apart in ways of their own, and for words that are only nearly there.
func testWords(t *testing.T, h Harness) {
	oddTexts := slices.DeleteFunc(slices.Clone(oddTexts), func(text string) bool { return h.OtherWords != nil && h.OtherWords(text) != "" })
	c := makeCorpus(t, map[string]any{"text": "string:0..100"}, corpus.KeyInteger, false)
	m := newModel(c, uint64(len(oddTexts)), func(i int, row *corpus.Row) { row.SetText(&row.Columns[0], oddTexts[i]) })
	s, sc := h.scanned(t, m)
	words := make(map[string]bool)
	for _, text := range append([]string{"wri", "writes", "example", "mple", "eте", "strasse", "σοφος", "n", "bol", "amp", "1e", "5", "000", "02", "abc"}, oddTexts...) {
		for _, word := range query.Tokens(text) {
			words[word] = h.OtherWords == nil || h.OtherWords(word) == ""
		}
	}
	path := query.Path{"text"}
	try := func(when string) {
		for word, same := range words {
			if !same {
				continue
			}
			for _, op := range []query.Op{query.MatchAll, query.MatchAny} {
				p := &query.Predicate{Op: op, Path: path, Values: []query.Literal{{Kind: corpus.String, Text: word}}}
				if err := sc.check(t.Context(), m.bind(t, &query.Scan{ID: "words", Project: query.ID, Where: p})); err != nil {
					t.Errorf("%s: %s: %v", when, p, err)
				}
			}
		}
	}
	try("without an index")
	index := query.Index{Name: "odd", Kind: query.FullText, Paths: []query.Path{path}}
	indexer, can := s.database.(drivers.Indexer)
	if !can || indexer.CanIndex(index) != nil || sc.refused > 0 && h.Lacks != nil {
		return
	}
	must(t, indexer.CreateIndex(t.Context(), index))
	ready(t, indexer, index)
	sc.noExcuse(func() { try("with an index") })
}

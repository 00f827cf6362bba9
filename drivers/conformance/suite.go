package conformance

import (
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// part is one test of the suite.
type part struct {
	name string
	run  func(*testing.T, Harness)
}

// Run runs the suite as subtests of t: what every driver has to do, and what its abilities and its server let it do.
func Run(t *testing.T, h Harness) {
	for _, test := range h.parts() {
		t.Run(test.name, func(t *testing.T) { test.run(t, h) })
	}
}

// parts are the tests that concern the engine.
func (h Harness) parts() []part {
	e, has := h.Engine, h.Engine.Abilities()
	_, scans := e.Ability.(drivers.Scanner)
	_, batches := e.Ability.(drivers.Batcher)
	_, ranges := e.Ability.(drivers.Ranger)
	_, modifies := e.Ability.(drivers.Modifier)
	_, indexes := e.DatabaseAbility.(drivers.Indexer)
	_, searches := e.Ability.(drivers.Searcher)
	tests := []part{
		{"Registration", testRegistration},
		{"Version", testVersion},
		{"Tiers", testTiers},
		{"Options", testOptions},
		{"Keys", testKeys},
		{"IntegerKeyEdges", testIntegerKeyEdges},
		{"Values", testValues},
		{"NUL", testNUL},
		{"NestedValues", testNestedValues},
		{"Vectors", testVectors},
		{"RowShapes", testRowShapes},
		{"UpdateReplacesTheWholeRow", testUpdateReplaces},
		{"Misses", testMisses},
		{"Records", testRecords},
		{"CallersMemory", testCallersMemory},
		{"Prepare", testPrepare},
		{"Concurrent", testConcurrent},
		{"SameKey", testSameKey},
		{"UseAfterClose", testUseAfterClose},
		{"Leaks", testLeaks},
	}
	for _, some := range []struct {
		concern bool
		parts   []part
	}{
		{!e.Embedded() || has.Sockets, []part{{"Sockets", testSockets}}},
		{has.Count, []part{{"Count", testCount}}},
		{has.Mark, []part{{"Mark", testMark}}},
		{has.Load, []part{{"Load", testLoad}}},
		{e.Durable(), []part{{"Reopen", testReopen}}},
		{h.Instant == "", []part{{"CancelledBefore", testCancelledBefore}, {"CancelledUnderLoad", testCancelledUnderLoad}}},
		{h.Stall != nil, []part{{"Stalled", testStalled}}},
		{scans, []part{
			{"Operators", testOperators},
			{"Texts", testTexts},
			{"Pages", testPages},
			{"Aggregates", testAggregates},
			{"Words", testWords},
			{"Answers", testAnswers},
			{"ScansAtOnce", testScansAtOnce},
			{"Literals", testLiterals},
			{"Differential", testDifferential},
		}},
		{scans && !h.lacksWords(), []part{{"FullText", testFullText}}},
		{batches, []part{{"Batches", testBatches}, {"BatchMisses", testBatchMisses}, {"BatchesAtOnce", testBatchesAtOnce}}},
		{batches && len(h.Splits) > 0, []part{{"BatchSplits", testBatchSplits}}},
		{ranges, []part{{"Ranges", testRanges}}},
		{modifies, []part{{"Modify", testModify}}},
		{modifies && h.NotAtomic == "", []part{{"ModifyAtOnce", testModifyAtOnce}}},
		{searches, []part{{"Searches", testSearches}}},
		{indexes, []part{{"Indexes", testIndexes}, {"UniqueIndexes", testUniqueIndexes}, {"IndexMistakes", testIndexMistakes}}},
	} {
		if some.concern {
			tests = append(tests, some.parts...)
		}
	}
	return tests
}

// lacksWords tells whether a peer that stands in for the engine's own server cannot look for words.
func (h Harness) lacksWords() bool {
	word := query.Literal{Kind: corpus.String, Text: "hello"}
	find := &query.Scan{ID: "words", Project: query.ID, Where: &query.Predicate{Op: query.MatchAny, Path: query.Path{"words"}, Values: []query.Literal{word}}}
	return h.Lacks != nil && h.Lacks(find) != ""
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// testAnswers takes the same answers kept, not kept, and row by row.
func testAnswers(t *testing.T, h Harness) {
	const rows = 700 // more than a driver may receive at a time
	m := newModel(makeCorpus(t, plainTemplate, corpus.KeyInteger, true), rows, nil)
	s := h.open(t, m.corpus, load(1, 2))
	must(t, drivers.LoadRows(t.Context(), s.clients[0], m.corpus, 0, rows, 0))
	sc := h.scanner(s.clients[0], m)
	ctx := t.Context()
	for _, project := range []query.Projection{query.Full, query.ID} {
		scan := m.bind(t, &query.Scan{ID: "answers", Project: project})
		if h.orders() {
			scan.Order = []query.Order{{}}
		}
		must(t, sc.check(ctx, scan))
		size, want := sc.answer.Size, page(scan, m.find(scan))
		statement, err := sc.client.PrepareScan(ctx, scan)
		must(t, err)
		var answer drivers.Answer
		for range 2 {
			must(t, sc.client.Scan(ctx, statement, &answer))
			if answer.Rows != rows || answer.Size != size || len(answer.Ends) > 0 || len(answer.Held) > 0 {
				t.Errorf("%s, not kept: %d rows of %d bytes with %d cells and %d values left, want %d of %d and none", project, answer.Rows, answer.Size, len(answer.Ends), len(answer.Held), rows, size)
			}
		}
		var got []uint64
		answer.Keep = true
		answer.Each = func() error {
			return sc.client.DecodeScan(statement, &answer, func(key corpus.Key, row *corpus.Row) error {
				index, err := m.recognise(key, row, project)
				got = append(got, index)
				return err
			})
		}
		must(t, sc.client.Scan(ctx, statement, &answer))
		must(t, m.checkRows(scan, want, want, got))
		if answer.Rows != rows || answer.Size != size {
			t.Errorf("%s, row by row: %d rows of %d bytes, want %d of %d", project, answer.Rows, answer.Size, rows, size)
		}

		// What its owner says to a row ends the scan, and nothing else.
		enough, calls := errors.New("enough"), 0
		answer.Each = func() error {
			if calls++; calls == 5 {
				return enough
			}
			return nil
		}
		if err := sc.client.Scan(ctx, statement, &answer); !errors.Is(err, enough) || calls != 5 {
			t.Errorf("%s: an answer whose owner has enough after 5 rows: error %v after %d rows", project, err, calls)
		}
		answer.Each = nil
		must(t, sc.client.Scan(ctx, statement, &answer))
		must(t, sc.verifyAnswer(&answer, statement, scan))
		s.usable(s.caller(0), 5000)
	}
}

// verifyAnswer is verify for another answer than the scanner's own.
func (sc *scanner) verifyAnswer(answer *drivers.Answer, statement drivers.Statement, scan *query.Scan) error {
	of := *sc
	of.answer = *answer
	return of.verify(statement, scan)
}

// testScansAtOnce has all threads at different scans of one client, beside other operations, cancelled again and again: each answer belongs to its scan.
func testScansAtOnce(t *testing.T, h Harness) {
	const rows = 400
	m := newModel(makeCorpus(t, plainTemplate, corpus.KeyInteger, false), rows, nil)
	s := h.open(t, m.corpus, load(2, 4))
	must(t, drivers.LoadRows(t.Context(), s.clients[0], m.corpus, 0, rows, 0))
	one := func(number int) *query.Scan {
		age := query.Literal{Kind: corpus.Int, Int: int64(number * 15)}
		scan := &query.Scan{ID: fmt.Sprintf("at_once_%d", number), Project: []query.Projection{query.Full, query.ID, query.Count}[number%3], Where: &query.Predicate{
			Op: query.Gte, Path: query.Path{"age"}, Values: []query.Literal{age},
		}}
		grouped := &query.Scan{ID: "grouped", Aggregates: []query.Aggregate{{Func: query.Number}}}
		if number%4 == 3 && h.runs(grouped) {
			scan.Project, scan.Aggregates, scan.GroupBy = "", []query.Aggregate{{Func: query.Number}}, query.Path{"active"}
		}
		return m.bind(t, scan)
	}
	scans := make([]*query.Scan, 8)
	for i := range scans {
		scans[i] = one(i)
	}
	for round := range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		if round%2 == 1 {
			time.AfterFunc(time.Duration(round)*500*time.Microsecond, cancel)
		}
		s.everyone(func(number int, c *caller) error {
			sc := h.scanner(c.client, m)
			statement, err := sc.client.PrepareScan(t.Context(), scans[number])
			if err != nil {
				return err
			}
			sc.answer.Keep = true
			for range 5 {
				err := sc.client.Scan(ctx, statement, &sc.answer)
				if err != nil && ctx.Err() != nil && drivers.ErrorClassOf(err) == drivers.ClassCancelled {
					return c.check(t.Context(), uint64(number), 0)
				}
				if err == nil {
					err = sc.verify(statement, scans[number])
				}
				if err == nil {
					err = c.check(t.Context(), uint64(number*7), 0)
				}
				if err != nil {
					return fmt.Errorf("round %d: %w", round, err)
				}
			}
			return nil
		})
		cancel()
	}
}

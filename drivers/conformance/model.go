package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// model is the rows of a table in the suite's own memory, by which every answer is checked: each scan is evaluated on all of them, one by one.
type model struct {
	corpus *corpus.Corpus
	rows   map[uint64]*corpus.Row
}

// newModel returns a model of rows that the corpus makes, each changed by change, if there is one, before it is stored.
func newModel(c *corpus.Corpus, rows uint64, change func(i int, row *corpus.Row)) *model {
	m := &model{corpus: c, rows: make(map[uint64]*corpus.Row)}
	for index := range rows {
		row := &corpus.Row{}
		c.Row(row, index, 0)
		if change != nil {
			change(int(index), row)
		}
		m.rows[index] = row
	}
	return m
}

// store creates all rows in the database.
func (m *model) store(t *testing.T, client drivers.Client) {
	t.Helper()
	var key corpus.KeyBuffer
	for index, row := range m.rows {
		if err := client.Create(t.Context(), m.corpus.Key(&key, index), row); err != nil {
			t.Fatalf("create row %d: %v", index, err)
		}
	}
}

// key returns the key's byte form.
func (m *model) key(index uint64) []byte {
	var buffer corpus.KeyBuffer
	return m.corpus.Key(&buffer, index).AppendOrdered(nil)
}

// value returns what a row has at the path.
func (m *model) value(index uint64, path query.Path) query.Literal {
	column, err := query.Resolve(m.corpus.Template(), path)
	if err != nil {
		panic(err)
	}
	values := m.rows[index].Columns
	for _, at := range column.At[:len(column.At)-1] {
		values = values[at].Elems()
	}
	return query.LiteralOf(&values[column.At[len(column.At)-1]])
}

// compare orders two rows by the terms.
func (m *model) compare(order []query.Order, x, y uint64) int {
	for _, term := range order {
		var c int
		if len(term.Path) == 0 {
			c = bytes.Compare(m.key(x), m.key(y))
		} else {
			c = m.value(x, term.Path).Compare(m.value(y, term.Path))
		}
		if c != 0 && term.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// find returns the rows that a bound scan finds, before paging, in an order that it allows.
func (m *model) find(s *query.Scan) (found []uint64) {
	for index, row := range m.rows {
		if query.Matches(s.Where, row) && (s.After == nil || bytes.Compare(m.key(index), m.key(*s.After)) > 0) {
			found = append(found, index)
		}
	}
	slices.Sort(found)
	slices.SortStableFunc(found, func(x, y uint64) int { return m.compare(s.Order, x, y) })
	return found
}

// page cuts what a scan returns out of what it finds.
func page(s *query.Scan, found []uint64) []uint64 {
	found = found[min(s.Offset, int64(len(found))):]
	if s.Limit > 0 {
		found = found[:min(s.Limit, int64(len(found)))]
	}
	return found
}

// bind binds a scan, which must be right.
func (m *model) bind(t testing.TB, s *query.Scan) *query.Scan {
	t.Helper()
	bound, err := query.Bind(s, m.corpus.Template())
	if err != nil {
		t.Fatalf("the suite's own scan %s is not right: %v", s.ID, err)
	}
	return bound
}

// scanner runs scans on a client and checks their answers by a model.
type scanner struct {
	harness Harness
	client  interface {
		drivers.Client
		drivers.Scanner
	}
	model  *model
	answer drivers.Answer
	// refused counts the scans that the harness says the engine cannot run.
	refused int
}

func (h Harness) scanner(client drivers.Client, m *model) *scanner {
	return &scanner{harness: h, client: client.(interface {
		drivers.Client
		drivers.Scanner
	}), model: m}
}

// scanned opens a database that holds the rows of a model.
func (h Harness) scanned(t *testing.T, m *model, tweaks ...tweak) (*session, *scanner) {
	t.Helper()
	s := h.open(t, m.corpus, tweaks...)
	m.store(t, s.clients[0])
	return s, h.scanner(s.clients[0], m)
}

// refusal tells whether the engine refused the scan, as it may where the harness says so, and must not elsewhere.
func (sc *scanner) refusal(s *query.Scan, err error) (refused bool, wrong error) {
	var unsupported drivers.Unsupported
	switch {
	case !errors.As(err, &unsupported):
		return false, err
	case sc.harness.Refuses == nil || !sc.harness.Refuses(s):
		return false, fmt.Errorf("refused, and the harness does not say that it may be: %w", err)
	case unsupported.Why == "":
		return false, errors.New("refused without a reason")
	}
	sc.refused++
	return true, nil
}

// check runs a bound scan and compares the answer with the model's.
func (sc *scanner) check(ctx context.Context, s *query.Scan) error {
	err := sc.client.CanScan(s)
	if refused, err := sc.refusal(s, err); refused || err != nil {
		return err
	}
	statement, err := sc.client.PrepareScan(ctx, s)
	if refused, err := sc.refusal(s, err); refused || err != nil {
		return err
	}
	if sc.harness.Lacks != nil && sc.harness.Lacks(s) != "" {
		sc.refused++
		return nil
	}
	sc.answer.Keep, sc.answer.Each = true, nil
	if err := sc.client.Scan(ctx, statement, &sc.answer); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	return sc.verify(statement, s)
}

// verify compares a kept answer with the model's.
func (sc *scanner) verify(statement drivers.Statement, s *query.Scan) error {
	found := sc.model.find(s)
	want := page(s, found)
	switch {
	case len(s.Aggregates) > 0:
		groups, err := sc.client.DecodeGroups(statement, &sc.answer)
		if err != nil {
			return fmt.Errorf("decode groups: %w", err)
		}
		if sc.answer.Rows != int64(len(groups)) {
			return fmt.Errorf("%d groups are decoded of %d", len(groups), sc.answer.Rows)
		}
		return sc.model.checkGroups(s, found, groups)
	case s.Project == query.Count:
		if sc.answer.Count != int64(len(want)) || sc.answer.Rows != 0 {
			return fmt.Errorf("counted %d (and %d rows), want %d", sc.answer.Count, sc.answer.Rows, len(want))
		}
		return nil
	}
	if sc.answer.Rows != int64(len(want)) {
		return fmt.Errorf("%d rows, want %d", sc.answer.Rows, len(want))
	}
	var got []uint64
	err := sc.client.DecodeScan(statement, &sc.answer, func(key corpus.Key, row *corpus.Row) error {
		index, err := sc.model.recognise(key, row, s.Project)
		got = append(got, index)
		return err
	})
	if err != nil {
		return err
	}
	return sc.model.checkRows(s, found, want, got)
}

// recognise returns the index of a row and checks its content, when it has any.
func (m *model) recognise(key corpus.Key, row *corpus.Row, project query.Projection) (uint64, error) {
	index, ok := m.corpus.Index(key)
	want := m.rows[index]
	if !ok || want == nil {
		return index, fmt.Errorf("key %s is of no row that was stored", key)
	}
	if project == query.Full {
		if column, wantText, gotText, same := corpus.Diff(m.corpus.Template(), want, row); !same {
			return index, fmt.Errorf("row %d: column %s is %s, want %s", index, column, gotText, wantText)
		}
	}
	return index, nil
}

// checkRows wants rows that the scan finds, none twice, and such as want in the order of the scan.
func (m *model) checkRows(s *query.Scan, found, want, got []uint64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows are decoded, want %d", len(got), len(want))
	}
	isFound := make(map[uint64]bool)
	for _, index := range found {
		isFound[index] = true
	}
	for i, index := range got {
		if !isFound[index] {
			return fmt.Errorf("row %d is there, and should not be or is there twice", index)
		}
		isFound[index] = false
		// Rows that are equal in the order may come in any, so they are compared by what they are ordered by.
		if len(s.Order) > 0 && m.compare(s.Order, index, want[i]) != 0 {
			return fmt.Errorf("place %d has row %d, which does not belong there: want one equal to row %d in the order", i, index, want[i])
		}
	}
	return nil
}

// checkGroups works out the aggregates exactly and compares.
func (m *model) checkGroups(s *query.Scan, found []uint64, got []query.Group) error {
	members := make(map[string][]uint64)
	for _, index := range found {
		key := query.Literal{}
		if len(s.GroupBy) > 0 {
			key = m.value(index, s.GroupBy)
		}
		members[key.String()] = append(members[key.String()], index)
	}
	if len(got) != len(members) {
		return fmt.Errorf("%d groups, want %d", len(got), len(members))
	}
	for _, group := range got {
		rows := members[group.Key.String()]
		if rows == nil {
			return fmt.Errorf("group %s is there, and should not be or is there twice", group.Key)
		}
		delete(members, group.Key.String())
		if len(group.Values) != len(s.Aggregates) {
			return fmt.Errorf("group %s has %d values, want %d", group.Key, len(group.Values), len(s.Aggregates))
		}
		for i, a := range s.Aggregates {
			want, exact := m.aggregate(a, rows)
			nearest, _ := want.Float64()
			if exact && group.Values[i] != nearest || !exact && !close(want, group.Values[i]) {
				return fmt.Errorf("group %s: %s of %s is %v, want %v", group.Key, a.Func, a.Path, group.Values[i], nearest)
			}
		}
	}
	return nil
}

// close tells that a float64 is a sum or an average that was worked out in float64: within a small part of what was added up.
func close(want *big.Rat, got float64) bool {
	difference := new(big.Rat)
	if difference.SetFloat64(got) == nil {
		return false
	}
	difference.Sub(difference, want).Abs(difference)
	bound := new(big.Rat).Abs(want)
	bound.Mul(bound, big.NewRat(1, 1_000_000_000))
	return difference.Cmp(bound.Add(bound, big.NewRat(1, 1_000_000_000))) <= 0
}

// aggregate works out one aggregate, and tells whether an engine has to know it exactly.
func (m *model) aggregate(a query.Aggregate, rows []uint64) (result *big.Rat, exact bool) {
	if a.Func == query.Number {
		return new(big.Rat).SetInt64(int64(len(rows))), true
	}
	for i, index := range rows {
		l := m.value(index, a.Path)
		exact = l.Kind != corpus.Float
		x := new(big.Rat)
		switch l.Kind {
		case corpus.Int:
			x.SetInt64(l.Int)
		case corpus.Decimal:
			x.SetFrac64(l.Int, 10_000)
		default:
			x.SetFloat64(l.Float)
		}
		switch {
		case i == 0:
			result = x
		case a.Func == query.Min && x.Cmp(result) < 0, a.Func == query.Max && x.Cmp(result) > 0:
			result = x
		case a.Func == query.Sum, a.Func == query.Avg:
			result.Add(result, x)
		}
	}
	if a.Func == query.Avg {
		result.Quo(result, new(big.Rat).SetInt64(int64(len(rows))))
		exact = false
	}
	return result, exact || a.Func == query.Min || a.Func == query.Max
}

// describe names a scan in failures.
func describe(s *query.Scan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.Project)
	if s.Where != nil {
		fmt.Fprintf(&b, " where %s", s.Where)
	}
	for _, o := range s.Order {
		fmt.Fprintf(&b, " order %s", o)
	}
	for _, a := range s.Aggregates {
		fmt.Fprintf(&b, " %s(%s)", a.Func, a.Path)
	}
	fmt.Fprintf(&b, " group %s offset %d limit %d", s.GroupBy, s.Offset, s.Limit)
	return b.String()
}

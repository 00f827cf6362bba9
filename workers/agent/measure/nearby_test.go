package measure

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/drivers"
)

// The nearby engine is a map that searches: exactly, or on an index that with a budget of B finds the nearest B of 100. Its option "fault" names what
// is wrong with it.
const nearbyEngine = "nearby"

// nearbyMost is the largest budget that it takes with the fault "small".
const nearbyMost = 40

func init() {
	base, ok := drivers.Lookup("map")
	if !ok {
		panic("the map engine is not registered")
	}
	base.Name, base.Title = nearbyEngine, "Nearby"
	base.Options = []drivers.Option{{Name: "fault", Values: []string{"none"}, Help: "what is wrong", Check: func(string) error { return nil }}}
	base.Ability, base.DatabaseAbility = (*nearbyClient)(nil), (*nearbyDatabase)(nil)
	open := base.Open
	base.Open = func(ctx context.Context, config drivers.Config) (drivers.Database, error) {
		fault := config.Options["fault"]
		config.Options = nil
		database, err := open(ctx, config)
		if err != nil {
			return nil, err
		}
		return &nearbyDatabase{Database: database, fault: fault, corpus: config.Corpus, indexes: map[string]bool{}}, nil
	}
	drivers.Register(base)
}

type nearbyDatabase struct {
	drivers.Database
	fault   string
	corpus  *corpus.Corpus
	indexes map[string]bool
	inserts atomic.Int64
	deletes atomic.Int64
}

func (d *nearbyDatabase) Mark(ctx context.Context, text string) error {
	return d.Database.(drivers.Marker).Mark(ctx, text)
}

func (d *nearbyDatabase) Marked(ctx context.Context) (string, error) {
	return d.Database.(drivers.Marker).Marked(ctx)
}

func (d *nearbyDatabase) Count(ctx context.Context) (int64, error) {
	return d.Database.(drivers.Counter).Count(ctx)
}

func (d *nearbyDatabase) CanIndex(query.Index) error { return nil }

func (d *nearbyDatabase) CreateIndex(_ context.Context, index query.Index) error {
	d.indexes[index.Name] = true
	return nil
}

func (d *nearbyDatabase) IndexState(_ context.Context, index query.Index) (drivers.IndexState, error) {
	ready := d.indexes[index.Name] && !(d.fault == "inserts never end" && d.inserts.Load() > 0)
	return drivers.IndexState{Exists: d.indexes[index.Name], Ready: ready, How: "it is in the map", Detail: "as it likes"}, nil
}

func (d *nearbyDatabase) DropIndex(_ context.Context, index query.Index) error {
	if !d.indexes[index.Name] {
		return drivers.ErrNotFound
	}
	delete(d.indexes, index.Name)
	return nil
}

func (d *nearbyDatabase) Client(ctx context.Context, i int) (drivers.Client, error) {
	client, err := d.Database.Client(ctx, i)
	return &nearbyClient{Client: client, database: d}, err
}

type nearbyClient struct {
	drivers.Client
	database *nearbyDatabase
}

func (c *nearbyClient) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	inserts := c.database.inserts.Add(1)
	switch fault := c.database.fault; {
	case fault == "inserts fail":
		return errors.New("disk is full")
	case fault == "inserts conflict", fault == "some inserts conflict" && inserts%3 == 0:
		return drivers.Classify(drivers.ClassConflict, errors.New("deadlock found"))
	}
	return c.Client.Create(ctx, key, row)
}

func (c *nearbyClient) Delete(ctx context.Context, key corpus.Key) error {
	c.database.deletes.Add(1)
	return c.Client.Delete(ctx, key)
}

func (c *nearbyClient) CanSearch(s *query.Search) error {
	if c != nil && c.database.fault == "small" && s.Budget > nearbyMost {
		return drivers.Unsupported{Why: "the budget is too large"}
	}
	return nil
}

func (c *nearbyClient) PrepareSearch(_ context.Context, s *query.Search) (drivers.Statement, error) {
	if s.Index != nil && !c.database.indexes[s.Index.Name] {
		return nil, drivers.ErrNotFound
	}
	return s, nil
}

func (c *nearbyClient) ExplainSearch(context.Context, drivers.Statement, []float32) (drivers.Explanation, error) {
	return drivers.Explanation{Text: "as it likes", Uses: c.database.fault != "unused"}, nil
}

// nearbyRows is how many rows it holds, at version 1.
const nearbyRows = 503

func (c *nearbyClient) Search(_ context.Context, statement drivers.Statement, wanted []float32, answer *drivers.Answer) error {
	answer.Reset()
	s, fault := statement.(*query.Search), c.database.fault
	column, err := query.Resolve(c.database.corpus.Template(), s.Field)
	if err != nil {
		return err
	}
	metric := s.Metric
	if fault == "metric" {
		metric = query.Manhattan
	}
	var found []vector.Neighbour
	var row corpus.Row
	for i := range uint64(nearbyRows) {
		c.database.corpus.Row(&row, i, 1)
		if s.Where == nil || fault == "filter" || query.Matches(s.Where, &row) {
			found = append(found, vector.Neighbour{Row: i, Distance: vector.Distance(metric, row.Columns[column.At[0]].Floats(), wanted)})
		}
	}
	slices.SortFunc(found, func(a, b vector.Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	// An index finds the nearest of a share that grows with the budget; what it misses it makes up for with farther rows.
	if missed := s.K - min(s.K*s.Budget/100, s.K); s.Index != nil && missed > 0 && len(found) >= 2*s.K {
		found = slices.Delete(found, s.K-missed, s.K)
	}
	for i := range min(s.K, len(found)) {
		one := found[i].Row
		switch fault {
		case "duplicates":
			one = found[0].Row
		case "foreign":
			one += nearbyRows
		}
		answer.Held = append(answer.Held, one)
		answer.Rows++
	}
	return nil
}

func (c *nearbyClient) DecodeSearch(_ drivers.Statement, answer *drivers.Answer, each func(corpus.Key) error) error {
	var buffer corpus.KeyBuffer
	for _, held := range answer.Held {
		if err := each(c.database.corpus.Key(&buffer, held.(uint64))); err != nil {
			return err
		}
	}
	return nil
}

package spec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Search is what a run asks for that looks for nearest neighbours, resolved.
type Search struct {
	Field      query.Path   `json:"field"`
	Dimensions int          `json:"dimensions"`
	Metric     query.Metric `json:"metric"`
	K          int          `json:"k"`
	// Index is built before the legs and dropped after them; nil for an exact search.
	Index *query.Index `json:"index,omitempty"`
	// Truth has every vector of the index compared, so that the search is exact: of engines that search vectors in indexes alone. Files do not say so.
	Truth bool `json:"truth,omitempty"`
	// Budgets are how much of the index is looked at: a leg for each, in this order; empty for an exact search.
	Budgets []int `json:"budgets,omitempty"`
	// Targets are recalls, 0 to 1: for each the smallest budget that reaches it is looked for, and a leg measures it.
	Targets   []float64 `json:"targets,omitempty"`
	Iterative string    `json:"iterative,omitempty"` // as query.Search has it
	// Filters are legs of their own, after those of all rows.
	Filters []Filter `json:"filters,omitempty"`
	// FilterIndexes are built beside Index, one for each column that is filtered by.
	FilterIndexes []query.Index `json:"filterIndexes,omitempty"`
	Holdout       Holdout       `json:"holdout"`
	// Churn is what the index goes through after the legs, before those with a budget are run again; nil for nothing.
	Churn *Churn `json:"churn,omitempty"`
	// TieEpsilon is by how much a distance may be more than the K-th, relative to it, and still count as found in ε-recall.
	TieEpsilon float64 `json:"tieEpsilon,omitempty"`
}

// Filter restricts a search to the rows that match.
type Filter struct {
	Name  string           `json:"name"` // as the file has it
	Word  string           `json:"word"` // of the ids of its legs
	Where *query.Predicate `json:"where"`
}

// Holdout are the query vectors: of the column's own kind, and never rows. Those of a data set are its first Count ones, and have no seed.
type Holdout struct {
	Count int    `json:"count"`
	Seed  uint64 `json:"seed"`
}

// The query vectors of a file that says nothing of them; crud-bench has the same.
const (
	usualHoldout     = 1000
	usualHoldoutSeed = 0xC0FFEE
)

// Bounds of searches.
const (
	mostHoldout    = 100_000
	mostNeighbours = 10_000
	mostTieEpsilon = 0.1
)

// search resolves what a run says of nearest neighbours; what it says of its own goes before what its entry says.
func (b *builder) search(entry ScanEntry, run RunEntry, path, at string) *Search {
	asked, place := entry.VectorQuery, path+".vector_query"
	if run.VectorQuery != nil {
		asked, place = run.VectorQuery, at+".vector_query"
	}
	if asked == nil {
		return nil
	}
	for _, other := range []struct {
		given bool
		key   string
	}{
		{entry.Where != nil, "where"}, {entry.Condition != nil, "condition"}, {entry.Order != nil, "order"}, {entry.OrderBy != nil, "order_by"},
		{entry.Limit != nil, "limit"}, {entry.Start != nil, "start"}, {entry.Offset != nil, "offset"}, {entry.After != nil, "after"},
		{entry.Aggregates != nil, "aggregates"}, {entry.GroupBy != "", "group_by"}, {entry.Expect != nil, "expect"},
		{entry.Index != nil, "index"}, {entry.WithIndex != nil, "with_index"}, {len(entry.Writes) > 0, "writes"}, {len(entry.WithWrites) > 0, "with_writes"},
	} {
		if other.given {
			b.fileProblem(path+"."+other.key, "does not go with vector_query, which says what is looked for, and in which index")
		}
	}
	if !b.given("seed") && b.Mode != ModeQuery {
		b.fileProblem(place, "a search for nearest neighbours needs a seed, so that every engine and run has the same vectors: add seed = 1, or give --corpus-seed")
	}
	s := &Search{Metric: query.Cosine, TieEpsilon: asked.TieEpsilon}
	s.Dimensions = b.searchField(s, asked.Field, place)
	if asked.Distance != "" {
		s.Metric = b.metric(asked.Distance, place)
	}
	s.K = int(asked.TopK)
	switch {
	case asked.TopK < 1 || asked.TopK > mostNeighbours:
		b.fileProblem(place+".top_k", "must be from 1 to %d, is %d", mostNeighbours, asked.TopK)
		s.K = 1
	case !b.bad["samples"] && b.Samples > 0 && asked.TopK > b.Samples:
		b.fileProblem(place+".top_k", "%d is more than the %d rows of this run (--samples)", asked.TopK, b.Samples)
	}
	if !(s.TieEpsilon >= 0 && s.TieEpsilon <= mostTieEpsilon) {
		b.fileProblem(place+".tie_epsilon", "must be from 0 to %g, is %g", mostTieEpsilon, s.TieEpsilon)
	}
	if name := b.dataSetOf(s.Field); name != "" {
		b.dataHoldout(s, asked.Holdout, name, place)
	} else {
		b.holdout(s, asked.Holdout, place)
	}
	b.filters(s, asked, entry, place)
	b.strategy(s, asked, place)
	if given := asked.IndexStrategy; given != nil && slices.Contains(query.Strategies, query.Strategy(given.Kind)) {
		b.churn(s, asked, place)
	}
	return s
}

// searchField finds the column and returns how many components it has, 0 when that is not known.
func (b *builder) searchField(s *Search, name, place string) int {
	var err error
	if s.Field, err = query.ParsePath(name); err != nil {
		b.fileProblem(place+".field", "%v", err)
		return 0
	}
	if b.template == nil {
		return 0
	}
	column, err := query.Resolve(b.template, s.Field)
	switch {
	case err != nil:
		b.fileProblem(place+".field", "%v", err)
	case column.Field.Kind != corpus.Vector:
		b.fileProblem(place+".field", "column %s is of kind %s; nearest neighbours are those of vectors, e.g. %s = \"vector:768:clustered:200\"", s.Field, column.Field.Kind, s.Field)
	case len(s.Field) > 1:
		b.fileProblem(place+".field", "%s lies in an object; a vector that is searched is a column of its own", s.Field)
	default:
		return column.Field.Dim
	}
	return 0
}

// dataSetOf returns the name of the data set that a column has its vectors of, "" when it has none.
func (b *builder) dataSetOf(field query.Path) string {
	if b.template == nil {
		return ""
	}
	column, err := query.Resolve(b.template, field)
	if err != nil {
		return "" // which was said
	}
	return column.Field.DataSet()
}

// metric reads a distance by its name.
func (b *builder) metric(name, place string) query.Metric {
	if name == "dot" {
		return query.InnerProduct
	}
	metric, err := oneOf(name, query.Metrics...)
	if err != nil {
		b.fileProblem(place+".distance", "%v", err)
		return query.Cosine
	}
	return metric
}

// holdout takes how many query vectors there are.
func (b *builder) holdout(s *Search, asked *VectorHoldout, place string) {
	s.Holdout = Holdout{Count: usualHoldout, Seed: usualHoldoutSeed}
	if asked == nil {
		return
	}
	if asked.Count != nil {
		s.Holdout.Count = int(*asked.Count)
		if *asked.Count < 1 || *asked.Count > mostHoldout {
			b.fileProblem(place+".holdout.count", "must be from 1 to %d, is %d", mostHoldout, *asked.Count)
		}
	}
	if asked.Seed != nil {
		s.Holdout.Seed = uint64(*asked.Seed)
		if *asked.Seed < 0 {
			b.fileProblem(place+".holdout.seed", "must be at least 0, is %d", *asked.Seed)
		}
	}
}

// filters resolves the conditions that restrict a search, and the indexes on what they are on.
func (b *builder) filters(s *Search, asked *VectorQuery, entry ScanEntry, place string) {
	names, columns := map[string]bool{}, map[string]bool{}
	for i, filter := range asked.Filters {
		at := fmt.Sprintf("%s.filters[%d]", place, i)
		word := slug(filter.Name)
		switch {
		case word == "":
			b.fileProblem(at+".name", "%q: a filter needs a name with a letter or digit in it", filter.Name)
		case word == AllRows:
			b.fileProblem(at+".name", "%q is the name of the legs without a filter", filter.Name)
		case names[word]:
			b.fileProblem(at+".name", "%q: another filter has the same name, and the ids of their legs could not be told apart", filter.Name)
		}
		names[word] = true
		where := b.filter(filter, at)
		if where == nil {
			continue
		}
		s.Filters = append(s.Filters, Filter{Name: filter.Name, Word: word, Where: where})
		for _, path := range where.Paths() {
			if name := path.String(); asked.FilterIndex && !columns[name] && !b.skipIndexes {
				columns[name] = true
				b.filterIndex(s, path, entry.ID, at)
			}
		}
	}
	if asked.FilterIndex && len(asked.Filters) == 0 {
		b.fileProblem(place+".filter_index", "there are no filters")
	}
}

// AllRows is the word in place of a filter's in the ids of legs that search all rows.
const AllRows = "all"

// filterIndex adds the index on a column that is filtered by.
func (b *builder) filterIndex(s *Search, path query.Path, scan, at string) {
	if b.template != nil {
		column, err := query.Resolve(b.template, path)
		if err != nil {
			return // which Bind has said
		}
		if why := unfit(query.Ordered, column.Field.Kind, 0); why != "" {
			b.fileProblem(at, "column %s is of kind %s: %s", path, column.Field.Kind, why)
			return
		}
	}
	s.FilterIndexes = append(s.FilterIndexes, query.Index{Name: indexName(scan + "_filter_" + path.String()), Kind: query.Ordered, Paths: []query.Path{path}})
}

// filter reads one condition, in crud-bench's form or ours, and returns it bound.
func (b *builder) filter(filter VectorFilter, at string) *query.Predicate {
	where, own := filter.Where, filter.Where != nil
	if own && (filter.Field != "" || filter.Op != "" || filter.Value != nil) {
		b.fileProblem(at+".where", "does not go with field, op and value")
		return nil
	}
	if !own {
		if filter.Field == "" || filter.Op == "" || filter.Value == nil {
			b.fileProblem(at, "needs field, op and value, or where")
			return nil
		}
		if !slices.Contains(query.Operators(), filter.Op) {
			b.fileProblem(at+".op", "%q is not one of %s", filter.Op, strings.Join(query.Operators(), ", "))
			return nil
		}
		where = map[string]any{filter.Field: map[string]any{filter.Op: filter.Value}}
	}
	p, err := query.Decode(where)
	if err == nil && b.template != nil {
		var bound *query.Scan
		if bound, err = query.Bind(&query.Scan{ID: "filter", Project: query.ID, Where: p}, b.template); err == nil {
			p, err = bound.Where, bound.CheckPossible()
		}
	}
	if problems := (query.Problems)(nil); errors.As(err, &problems) {
		for _, problem := range problems {
			key := at
			if own {
				key += "." + problem.Key
			}
			b.fileProblem(key, "%s", problem.Msg)
		}
		return nil
	}
	return p
}

// knob is one number of a strategy.
type knob struct {
	name   string
	given  int64
	to     *int
	most   int64
	wanted bool // by the strategy that was asked for
}

// strategy resolves how the vectors are indexed.
func (b *builder) strategy(s *Search, asked *VectorQuery, place string) {
	place += ".index_strategy"
	given := asked.IndexStrategy
	if given == nil {
		b.fileProblem(place, "is missing: { kind = \"bruteforce\" } for an exact search, or an index such as { kind = \"hnsw\", m = 16, ef_construction = 200, ef_search = 64 }")
		return
	}
	kind, err := oneOf(given.Kind, query.Strategies...)
	if err != nil {
		b.fileProblem(place+".kind", "%v", err)
		return
	}
	graph, disk, lists := kind == query.HNSW || kind == query.VectorSet, kind == query.DiskANN, kind == query.IVFFlat
	vector := &query.VectorIndex{Strategy: kind, Metric: s.Metric, Dimensions: s.Dimensions, Alpha: given.Alpha}
	for _, k := range []knob{
		{"m", given.M, &vector.M, 1000, graph}, {"ef_construction", given.EfConstruction, &vector.EfConstruction, 100_000, graph},
		{"degree", given.Degree, &vector.Degree, 1000, disk}, {"l_build", given.LBuild, &vector.LBuild, 100_000, disk},
		{"lists", given.Lists, &vector.Lists, 1_000_000, lists},
	} {
		switch {
		case k.wanted && (k.given < 1 || k.given > k.most):
			b.fileProblem(place+"."+k.name, "must be from 1 to %d for %s, is %d", k.most, kind, k.given)
		case !k.wanted && k.given != 0:
			b.fileProblem(place+"."+k.name, "is no knob of %s", kind)
		}
		*k.to = int(k.given)
	}
	switch {
	case disk && !(given.Alpha >= 1 && given.Alpha <= 10):
		b.fileProblem(place+".alpha", "must be from 1 to 10, is %g", given.Alpha)
	case !disk && given.Alpha != 0:
		b.fileProblem(place+".alpha", "is no knob of %s", kind)
	}
	b.budgets(s, asked, kind, place)
	b.forms(s, given, vector, place)
	if kind == query.BruteForce {
		return
	}
	for _, filter := range s.Filters {
		for _, path := range filter.Where.Paths() {
			if !slices.ContainsFunc(vector.Filters, func(p query.Path) bool { return slices.Equal(p, path) }) {
				vector.Filters = append(vector.Filters, path)
			}
		}
	}
	s.Index = &query.Index{Kind: query.Nearest, Paths: []query.Path{s.Field}, Vector: vector}
}

// budgets takes how much of the index is looked at, by the name that the strategy has for it.
func (b *builder) budgets(s *Search, asked *VectorQuery, kind query.Strategy, place string) {
	given := asked.IndexStrategy
	sweeps := []struct {
		name  string
		sweep Sweep
		kinds []query.Strategy
	}{
		{"ef_search", given.EfSearch, []query.Strategy{query.HNSW, query.VectorSet}},
		{"l_search", given.LSearch, []query.Strategy{query.DiskANN}},
		{"probes", given.Probes, []query.Strategy{query.IVFFlat}},
	}
	for _, sweep := range sweeps {
		key := place + "." + sweep.name
		if !slices.Contains(sweep.kinds, kind) {
			if sweep.sweep != nil {
				b.fileProblem(key, "is no knob of %s", kind)
			}
			continue
		}
		if len(sweep.sweep) == 0 && len(asked.RecallTargets) == 0 {
			b.fileProblem(key, "is missing: a number, or a list of them to measure each on the same index")
		}
		least := int64(s.K)
		if kind == query.IVFFlat {
			least = 1
		}
		for _, budget := range sweep.sweep {
			switch {
			case budget < least || budget > math.MaxInt32:
				b.fileProblem(key, "%d: a search for %d rows has to look at least at so many", budget, least)
			case slices.Contains(s.Budgets, int(budget)):
				b.fileProblem(key, "%d is given twice: the ids of their legs could not be told apart", budget)
			}
			s.Budgets = append(s.Budgets, int(budget))
		}
	}
	s.Targets = asked.RecallTargets
	for i, target := range s.Targets {
		key := strings.TrimSuffix(place, ".index_strategy") + ".recall_targets"
		switch {
		case kind == query.BruteForce:
			b.fileProblem(key, "an exact search has a recall of 1")
		case !(target > 0 && target <= 1):
			b.fileProblem(key, "a recall is more than 0 and at most 1, is %g", target)
		case slices.Contains(s.Targets[:i], target):
			b.fileProblem(key, "%g is given twice", target)
		}
	}
}

// forms takes how vectors are kept in the index, and how a filtered search goes on.
func (b *builder) forms(s *Search, given *VectorStrategy, vector *query.VectorIndex, place string) {
	exact := vector.Strategy == query.BruteForce
	if given.Quantisation != "" {
		form, err := oneOf(given.Quantisation, query.Half, query.Bits, query.Int8)
		if err != nil {
			b.fileProblem(place+".quantisation", "%v", err)
		} else if exact {
			b.fileProblem(place+".quantisation", "an exact search compares the vectors as they are")
		}
		vector.Quantisation = form
	}
	if given.IterativeScan != "" {
		how, err := oneOf(given.IterativeScan, query.IterativeStrict, query.IterativeRelaxed)
		if err != nil {
			b.fileProblem(place+".iterative_scan", "%v", err)
		} else if exact {
			b.fileProblem(place+".iterative_scan", "an exact search looks at every row")
		}
		s.Iterative = how
	}
}

// nameSearchIndexes names the indexes of runs, apart from each other: an index is built anew for each.
func nameSearchIndexes(id string, runs []Run) {
	for i := range runs {
		if search := runs[i].Search; search != nil && search.Index != nil {
			search.Index.Name = indexName(id + "_" + runs[i].Word)
		}
	}
}

// Sequential is the volume of a search's legs that have one search at a time: their latency is not that of a queue.
func (r Run) Sequential() Volume {
	v := r.Volume
	v.Clients, v.Threads, v.Rate = 1, 1, nil
	return v
}

// Concurrent is the volume of a search's legs under load; ok is false when the run asks for one search at a time.
func (r Run) Concurrent() (v Volume, ok bool) {
	return r.Volume, r.Rate != nil || r.Clients*r.Threads > 1
}

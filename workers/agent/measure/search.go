package measure

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// search looks for nearest neighbours over and over. Every answer is kept and scored by the exact neighbours, after the leg.
func (s *session) search(ctx context.Context, task agent.Task) agent.Outcome {
	j := &searchJob{session: s, task: task}
	return s.leg(ctx, task, work{prepare: j.prepare, worker: j.worker, report: j.report, checksAll: true})
}

// searchJob is the work of a search leg.
type searchJob struct {
	session *session
	task    agent.Task

	clients    []drivers.Client // of the session's database as it was when the leg began
	search     *query.Search    // bound
	known      *neighbourhood
	answer     *vector.Answer // the exact neighbours, among the rows that match
	statements []drivers.Statement

	lock    sync.Mutex
	workers []*searchWorker // workers are made several at a time
}

// prepare works out what is to be found, makes sure that the engine's own exact search finds it, readies the search on every client, has the server
// prove that it uses the index, and warms it up.
func (j *searchJob) prepare(ctx context.Context, leg *result.Leg) (*refusal, error) {
	if err := j.bind(ctx); err != nil {
		return nil, err
	}
	s := j.session
	leg.Search = j.describe()
	if index := j.search.Index; index != nil {
		leg.Index = describeIndex(*index)
	}
	if err := s.ensureIndexes(ctx, j.task, j.task.Step.Search.Indexes()); err != nil {
		return nil, err
	}
	if churn := j.task.Step.Search.Churned; churn != nil {
		if err := s.ensureWorn(ctx, j.task, churn); err != nil {
			return nil, err
		}
	}
	if j.search.Index != nil && !j.search.Truth {
		proof, refused, err := j.proveExact(ctx)
		if refused != nil || err != nil {
			return refused, err
		}
		leg.Search.Proof = proof
	}
	if j.task.Step.Search.Target > 0 {
		leg.Search.Budget = 0 // it is not known
		if refused, err := j.findBudget(ctx); refused != nil || err != nil {
			return refused, err
		}
		leg.Search.Budget = j.search.Budget
	}
	if err := j.prepareStatements(ctx); err != nil {
		return nil, err
	}
	var err error
	if leg.Explain, err = j.explain(ctx); err != nil {
		return nil, err
	}
	if uses := leg.Explain.Uses; uses != nil && !*uses {
		why := "index not used: the server's own plan for the search does without it"
		if j.search.Index == nil {
			why = "not exact: the server's own plan for the search uses an index"
		}
		return &refusal{verdict: result.Invalid, why: why, measured: untimed(time.Now())}, nil
	}
	return nil, j.warmUp(ctx, leg.Search)
}

// bind finds out what is to be found.
func (j *searchJob) bind(ctx context.Context) error {
	s, asked := j.session, j.task.Step.Search
	j.clients = s.database.clients
	var err error
	if j.search, err = query.BindSearch(&asked.Query, s.corpus.Template()); err != nil {
		return &problem{agent.ErrorSpec, fmt.Errorf("search %s: %w", asked.Query.ID, err)}
	}
	if j.known, err = s.neighbourhood(ctx, j.task, asked.Truth); err != nil {
		return err
	}
	j.answer, err = j.known.answer(asked.Query.Where)
	return err
}

// describe tells the result what is searched.
func (j *searchJob) describe() *result.Search {
	asked, q := j.task.Step.Search, j.search
	d := &result.Search{
		Field: q.Field.String(), Metric: string(q.Metric), K: q.K, Strategy: string(q.Kind()), Budget: q.Budget, Iterative: q.Iterative, Filter: asked.Filter,
		Rows: int64(j.known.problem.Rows), Matching: j.answer.Matches, Queries: len(j.known.problem.Queries), Truth: j.known.truth.Digest,
		Warnings: j.known.warnings, Published: j.known.published,
	}
	if j.known.audit.Contrast > 0 {
		d.Contrast = &j.known.audit.Contrast
	}
	if q.Index != nil {
		d.Index, d.Knobs = q.Index.Name, knobs(q.Index.Vector)
	}
	if q.Budget > 0 {
		d.BudgetName = plan.BudgetName(q.Kind())
	}
	d.Exhaustive = q.Truth
	if asked.Churned != nil {
		d.Churn = describeChurn(asked.Churned, d.Rows)
	}
	if asked.Target > 0 {
		d.Target = &asked.Target
	}
	return d
}

// knobs writes an index's knobs as files name them.
func knobs(v *query.VectorIndex) string {
	var parts []string
	for _, knob := range []struct {
		name  string
		value int
	}{{"m", v.M}, {"ef_construction", v.EfConstruction}, {"degree", v.Degree}, {"l_build", v.LBuild}, {"lists", v.Lists}} {
		if knob.value != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", knob.name, knob.value))
		}
	}
	if v.Alpha != 0 {
		parts = append(parts, fmt.Sprintf("alpha %g", v.Alpha))
	}
	if v.Quantisation != "" {
		parts = append(parts, "quantisation "+string(v.Quantisation))
	}
	return strings.Join(parts, ", ")
}

// prepareStatements readies the search on the clients that run it.
func (j *searchJob) prepareStatements(ctx context.Context) error {
	clients := j.clients[:max(j.task.Step.Clients, 1)]
	j.statements = make([]drivers.Statement, len(clients))
	j.task.Say("preparing the search")
	group, preparing := errgroup.WithContext(ctx)
	group.SetLimit(preparersAtOnce)
	for i, client := range clients {
		searcher, err := j.session.searcher(client)
		if err != nil {
			return err
		}
		if err := searcher.CanSearch(j.search); err != nil {
			return err
		}
		group.Go(func() (err error) {
			if j.statements[i], err = searcher.PrepareSearch(preparing, j.search); err != nil {
				return fmt.Errorf("prepare search %s on client %d: %w", j.search.ID, i+1, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// searcher returns the client's ability to find nearest neighbours.
func (s *session) searcher(client drivers.Client) (drivers.Searcher, error) {
	searcher, ok := client.(drivers.Searcher)
	if !ok {
		return nil, drivers.Unsupported{Why: s.engine.Title + " has no searches for nearest neighbours here"}
	}
	return searcher, nil
}

// explain asks the server whether the search uses the index, or, when it is to be exact, whether it uses none.
func (j *searchJob) explain(ctx context.Context) (*result.Explanation, error) {
	explainer, ok := j.clients[0].(drivers.SearchExplainer)
	if !ok {
		return &result.Explanation{Note: j.session.engine.Title + " does not tell how it runs a search: that it uses the index could not be proven"}, nil
	}
	j.task.Say("asking for the server's plan")
	explanation, err := explainer.ExplainSearch(ctx, j.statements[0], j.known.problem.Queries[0])
	if err != nil {
		return nil, fmt.Errorf("ask %s how it runs search %s: %w", j.session.where(), j.search.ID, err)
	}
	told := &result.Explanation{Text: explanation.Text, Uses: &explanation.Uses}
	for _, index := range j.task.Step.Search.FilterIndexes {
		if !explanation.Uses && strings.Contains(explanation.Text, index.Name) {
			// With an index on what is filtered by it may be less work to compare all rows that match, and then the answer is exact.
			told.Uses, told.Note = new(true), fmt.Sprintf("the server takes the index %s on %s and compares every row that matches, without the index of vectors", index.Name, index.Paths[0])
		}
	}
	return told, nil
}

// searchOnce makes a search that is not measured, within the time that an operation may take.
func (s *session) searchOnce(ctx context.Context, searcher drivers.Searcher, statement drivers.Statement, wanted []float32, answer *drivers.Answer) error {
	ctx, cancel := s.bounded(ctx, 0)
	defer cancel()
	return searcher.Search(ctx, statement, wanted, answer)
}

// decodeFound decodes an answer to the indexes of its rows, in its order, appended to rows; -1 stands for a key that is none of the corpus.
func (s *session) decodeFound(searcher drivers.Searcher, statement drivers.Statement, answer *drivers.Answer, rows []int64) ([]int64, error) {
	err := searcher.DecodeSearch(statement, answer, func(key corpus.Key) error {
		row := int64(-1)
		if index, ok := s.corpus.Index(key); ok {
			row = int64(index)
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return rows, fmt.Errorf("decode the answer: %w", err)
	}
	return rows, nil
}

// scorer makes a scorer of the search's answers, for one goroutine.
func (j *searchJob) scorer() *vector.Scorer {
	problem := j.known.problem
	problem.K = j.search.K
	return vector.NewScorer(problem, j.answer, j.task.Step.Search.TieEpsilon)
}

package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/workers/agent"
)

// neighbourhood is the exact neighbours by which searches are scored.
type neighbourhood struct {
	asked   *plan.Neighbours
	problem vector.Problem
	truth   *vector.Truth
	audit   *vector.Audit
	// warnings are what stands out of the vectors, and published how the neighbours that came with them agree with ours; "" when none came.
	warnings  []string
	published string
}

// neighbours works out the exact neighbours of query vectors. They are kept below the user's cache directory, where every engine and every run of the same
// data finds them, and so is how far an execution came that was cut short.
func (s *session) neighbours(ctx context.Context, task agent.Task) agent.Outcome {
	if _, err := s.neighbourhood(ctx, task, task.Step.ID); err != nil {
		return failed(task, err)
	}
	return agent.Outcome{}
}

// neighbourhood returns the exact neighbours of the task's step. The id is that of the step that works them out.
func (s *session) neighbourhood(ctx context.Context, task agent.Task, id string) (*neighbourhood, error) {
	if known := s.neighbourhoods[id]; known != nil {
		return known, nil
	}
	step := task.Step
	if step.Neighbours == nil {
		return nil, &problem{agent.ErrorSpec, fmt.Errorf("the step %s does not say by which exact neighbours it is scored", step.ID)}
	}
	n := &neighbourhood{asked: step.Neighbours}
	queries, err := vector.Queries(s.corpus, n.asked.Field, n.asked.Holdout.Seed, n.asked.Holdout.Count)
	if err != nil {
		return nil, &problem{agent.ErrorSpec, fmt.Errorf("query vectors of %s: %w", n.asked.Field, err)}
	}
	n.problem = vector.Problem{
		Corpus: s.corpus, Rows: uint64(step.Rows), Version: step.Version, Field: n.asked.Field, Metric: n.asked.Metric, K: n.asked.K, Queries: queries,
	}
	for _, filter := range n.asked.Filters {
		bound, err := query.BindSearch(&query.Search{ID: "filter", Where: filter}, s.corpus.Template())
		if err != nil {
			return nil, &problem{agent.ErrorSpec, fmt.Errorf("filter %s: %w", filter, err)}
		}
		n.problem.Filters = append(n.problem.Filters, bound.Where)
	}
	if err := s.computeNeighbours(ctx, task, n); err != nil {
		return nil, err
	}
	task.Say("looking at the vectors")
	if n.audit, err = vector.AuditCorpus(ctx, n.problem, n.truth, 0); err != nil {
		return nil, err
	}
	n.warnings = slices.Clone(n.audit.Warnings)
	if err := s.comparePublished(task, n); err != nil {
		return nil, err
	}
	if s.neighbourhoods == nil {
		s.neighbourhoods = map[string]*neighbourhood{}
	}
	s.neighbourhoods[id] = n
	return n, nil
}

// computeNeighbours works them out, or reads them from the cache, and refuses a filter that leaves nothing to find.
func (s *session) computeNeighbours(ctx context.Context, task agent.Task, n *neighbourhood) error {
	options := vector.Options{}
	if dir, err := home.Cache(); err != nil {
		s.logger.Warn("exact neighbours are not kept", "error", err)
	} else {
		options.Dir = filepath.Join(dir, "neighbours")
	}
	began := time.Now()
	var said atomic.Int64
	options.Say = func(done, of uint64) {
		now := time.Now()
		if last := said.Load(); done == 0 || now.UnixNano()-last < int64(time.Second) || !said.CompareAndSwap(last, now.UnixNano()) {
			return
		}
		left := time.Duration(float64(now.Sub(began)) * (float64(of)/float64(done) - 1)).Round(time.Second)
		task.Say(fmt.Sprintf("working out the exact neighbours of %d vectors: %s of %s rows, %s left", len(n.problem.Queries), humanize.Comma(int64(done)),
			humanize.Comma(int64(of)), left))
	}
	var err error
	if n.truth, err = vector.Compute(ctx, n.problem, options); err != nil {
		return fmt.Errorf("work out the exact neighbours of %s: %w", n.asked.Field, err)
	}
	for i, answer := range n.truth.Answers {
		if filter := n.problem.Filters[i]; filter != nil && answer.Matches == 0 {
			return &problem{agent.ErrorSpec, fmt.Errorf("the filter %s matches none of the %d rows: there is nothing to find", filter, n.problem.Rows)}
		}
	}
	return nil
}

// answer returns the exact neighbours among the rows that match a search's filter.
func (n *neighbourhood) answer(where *query.Predicate) (*vector.Answer, error) {
	at := n.asked.Answer(where)
	if at < 0 {
		return nil, &problem{agent.ErrorSpec, fmt.Errorf("no exact neighbours were worked out for the filter %s", where)}
	}
	return &n.truth.Answers[at], nil
}

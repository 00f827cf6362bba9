package measure

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// analyze brings the server's statistics up to date, so that plans follow from the data that is there. Engines without statistics have nothing
// to do.
func (s *session) analyze(ctx context.Context, task agent.Task) agent.Outcome {
	if err := s.ready(ctx, task); err != nil {
		return failed(task, err)
	}
	if err := s.refreshStatistics(ctx, task); err != nil {
		return failed(task, err)
	}
	return agent.Outcome{}
}

// refreshStatistics is what an analyze step does, also after rows or an index were made again, off the clock: without it the server would plan
// what follows by what it knew of the data before.
func (s *session) refreshStatistics(ctx context.Context, task agent.Task) error {
	analyzer, ok := s.database.Database.(drivers.Analyzer)
	if !ok {
		return nil
	}
	task.Say("bringing statistics up to date")
	if err := analyzer.Analyze(ctx); err != nil {
		return fmt.Errorf("bring the statistics of %s up to date: %w", s.where(), err)
	}
	return nil
}

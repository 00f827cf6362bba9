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
	analyzer, ok := s.database.Database.(drivers.Analyzer)
	if !ok {
		return agent.Outcome{}
	}
	task.Say("bringing statistics up to date")
	if err := analyzer.Analyze(ctx); err != nil {
		return failed(task, fmt.Errorf("bring the statistics of %s up to date: %w", s.where(), err))
	}
	return agent.Outcome{}
}

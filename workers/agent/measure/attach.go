package measure

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/workers/agent"
)

// attach opens a database that an earlier run loaded, changes nothing in it, and makes sure that the rows are all there: a benchmark
// of fewer rows than it says would look faster than it is.
func (s *session) attach(ctx context.Context, task agent.Task) agent.Outcome {
	if err := s.Close(); err != nil {
		s.logger.Warn("close before attaching", "error", err)
	}
	task.Say("opening " + s.where())
	db, err := s.open(ctx)
	if err != nil {
		return failed(task, err)
	}
	s.database = db
	// What the load has marked is what is known again after a loss. A load by a build without marks has left none.
	if s.mark, _, err = s.foundMark(ctx); err != nil {
		return s.abandon(task, err)
	}
	if s.mark != nil && s.mark.Loading != nil {
		return s.abandon(task, &problem{agent.ErrorDataset, fmt.Errorf("loading %s again was cut short: load it again", s.where())})
	}
	if err := db.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return s.abandon(task, fmt.Errorf("connect to %s: %w", s.where(), err))
	}
	task.Say("counting the rows")
	rows, err := db.count(ctx)
	if err != nil {
		return s.abandon(task, err)
	}
	if want := s.setup.Spec.Samples; rows != nil && *rows != want {
		return s.abandon(task, &problem{agent.ErrorDataset, fmt.Errorf("%s holds %d rows and the load left %d: load it again", s.where(), *rows, want)})
	}
	if len(s.data) > 0 {
		task.Say("reading the files of data sets into memory")
		s.data.Warm()
	}
	s.trusted = true
	return agent.Outcome{Engine: s.found(db)}
}

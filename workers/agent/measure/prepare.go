package measure

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/workers/agent"
)

// prepare opens the database, reads back what it is, leaves an empty table and connects every client.
func (s *session) prepare(ctx context.Context, task agent.Task) agent.Outcome {
	// A step that is prepared anew starts from nothing.
	if err := s.Close(); err != nil {
		s.logger.Warn("close before preparing", "error", err)
	}
	task.Say("opening " + s.where())
	db, err := s.open(ctx)
	if err != nil {
		return failed(task, err)
	}
	s.database = db
	task.Say("preparing the table")
	if err := s.empty(ctx); err != nil {
		return s.abandon(task, err)
	}
	if err := db.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return s.abandon(task, fmt.Errorf("connect to %s: %w", s.where(), err))
	}
	if len(s.data) > 0 {
		task.Say("reading the files of data sets into memory")
		s.data.Warm()
	}
	s.trusted = true
	return agent.Outcome{Engine: s.found(db)}
}

// abandon closes a database that cannot be used, so that nothing of it stays.
func (s *session) abandon(task agent.Task, err error) agent.Outcome {
	if closing := s.Close(); closing != nil {
		s.logger.Warn("close after a failure", "error", closing)
	}
	return failed(task, err)
}

package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

const (
	// clearTimeout bounds the removal of what a build or a drop that failed has left.
	clearTimeout = time.Minute
	// clearTimeoutCancelled is the bound when the step was cancelled: its outcome is not waited for much longer.
	clearTimeoutCancelled = 20 * time.Second
)

// clearIndex sees to it, after the build or the drop of an index that came to nothing, that the legs which follow are not measured with the index
// or with what there is of it. The outcome says whether it could: in time of its own, as the step's may be over.
func (s *session) clearIndex(ctx context.Context, task agent.Task, outcome agent.Outcome) agent.Outcome {
	leg := outcome.Leg
	if leg == nil || holds(leg.Verdict) {
		return outcome
	}
	limit := clearTimeout
	if ctx.Err() != nil {
		limit = clearTimeoutCancelled
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	task.Say("removing what is left of the index")
	if err := s.removeIndex(ctx, *task.Step.Index); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		s.logger.Error("what is left of an index is not removed", "index", task.Step.Index.Name, "error", err)
		if leg.Index == nil {
			leg.Index = describeIndex(*task.Step.Index)
		}
		if leg.Index.Note != "" {
			leg.Index.Note += "; "
		}
		leg.Index.Note += "what is left of it could not be removed: " + err.Error()
		return outcome
	}
	outcome.Cleared = true
	return outcome
}

// removeIndex drops an index and makes sure that it is gone.
func (s *session) removeIndex(ctx context.Context, index query.Index) error {
	if s.database == nil {
		return errors.New("there is no connection to " + s.where() + " any more")
	}
	indexer, err := s.indexer()
	if err != nil || indexer.CanIndex(index) != nil {
		return nil // there never was one
	}
	if err := indexer.DropIndex(ctx, index); err != nil && !errors.Is(err, drivers.ErrNotFound) {
		return fmt.Errorf("drop index %s: %w", index.Name, err)
	}
	return isGone(ctx, indexer, index)
}

// isGone asks the server whether an index that was dropped is gone.
func isGone(ctx context.Context, indexer drivers.Indexer, index query.Index) error {
	state, err := indexer.IndexState(ctx, index)
	switch {
	case err != nil:
		return fmt.Errorf("look for index %s, which was dropped: %w", index.Name, err)
	case state.Exists:
		return fmt.Errorf("index %s is still there after it was dropped", index.Name)
	}
	return nil
}

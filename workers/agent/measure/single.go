package measure

import (
	"context"
	"errors"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// single runs a leg that is one operation, which tells itself how long it took. Of an operation that does not come back nothing is reported: it
// may still be writing what there is to report.
func (s *session) single(
	ctx context.Context, task agent.Task, w work, operation func(context.Context) (time.Duration, error), report func(*result.Leg),
) agent.Outcome {
	if err := s.ready(ctx, task); err != nil {
		return failed(task, err)
	}
	leg := legOf(task.Step)
	if refused, err := w.prepare(ctx, &leg); err != nil {
		return failed(task, err)
	} else if refused != nil {
		leg.Verdict, leg.Why, leg.Measured = refused.verdict, refused.why, refused.measured
		return agent.Outcome{Leg: &leg}
	}
	var unsupported drivers.Unsupported
	back := true
	w.report = func(_ *load.Result, leg *result.Leg) {
		if back {
			report(leg)
		}
	}
	outcome := s.measure(ctx, task, w, leg, func(ctx context.Context) (*load.Result, error) {
		measured, err := load.Once(ctx, time.Duration(s.setup.Spec.OperationTimeout), classify, func(ctx context.Context) (time.Duration, error) {
			took, err := operation(ctx)
			errors.As(err, &unsupported)
			return took, err
		})
		back = measured.Stopped != load.StoppedStuck
		return measured, err
	})
	if back && unsupported.Why != "" && outcome.Leg != nil {
		outcome.Leg.Verdict, outcome.Leg.Why, outcome.Leg.Measured = result.Unsupported, unsupported.Why, nil
	}
	return outcome
}

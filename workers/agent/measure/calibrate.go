package measure

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// dryEngine is the engine that does nothing and so shows what the harness itself costs.
const dryEngine = "dry"

// calibrate runs the read leg on the dry engine, with the run's own keys and number in flight: what it shows is the floor below which the
// run's results say nothing about its database.
func (s *session) calibrate(ctx context.Context, task agent.Task) agent.Outcome {
	step := task.Step
	engine, ok := drivers.Lookup(dryEngine)
	if !ok {
		return failed(task, &problem{agent.ErrorSpec, fmt.Errorf("engine %q, which calibrates, is not in this build", dryEngine)})
	}
	opened, err := engine.Open(ctx, drivers.Config{
		Clients: step.Clients, Threads: step.Threads, Tier: drivers.TierNone, Corpus: s.corpus, Logger: s.logger,
	})
	if err != nil {
		return failed(task, fmt.Errorf("open the dry engine: %w", err))
	}
	dry := &database{Database: opened, engine: engine}
	defer func() {
		if err := dry.close(); err != nil {
			s.logger.Warn("close the dry engine", "error", err)
		}
	}()
	if err := dry.Prepare(ctx); err != nil {
		return failed(task, fmt.Errorf("prepare the dry engine: %w", err))
	}
	if err := dry.connect(ctx, step.Clients, task.Say); err != nil {
		return failed(task, fmt.Errorf("open the dry engine: %w", err))
	}

	task.Say("")
	slots := keySlots(step.Clients * step.Threads)
	checks := newChecks(s.corpus)
	measured, err := load.Run(ctx, load.Leg{
		Clients: step.Clients, Threads: step.Threads, Samples: step.Samples,
		OperationTimeout: time.Duration(s.setup.Spec.OperationTimeout),
		Verify:           load.VerifyNone, Classify: classify, Progress: task.Progress,
	}, func(client, _ int) (load.Worker, error) {
		return &reader{corpus: s.corpus, client: dry.clients[client], checks: checks, slots: make([]keySlot, slots)}, nil
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && (measured.OK == 0 || measured.Failed > 0) {
		err = fmt.Errorf("%d of %d operations failed: %s", measured.Failed, measured.OK+measured.Failed, firstText(measured.Errors))
	}
	if err != nil {
		return failed(task, fmt.Errorf("calibrate: %w", err))
	}
	latency, err := result.LatencyFrom(measured.Service)
	if err != nil {
		return failed(task, fmt.Errorf("calibrate: %w", err))
	}
	s.calibration = &result.Calibration{
		NsPerOp: costPerOperation(measured, step.Clients*step.Threads),
		ClockNs: float64(load.MeasureClock()),
		Samples: measured.OK,
		P99Ns:   latency.P99,
	}
	return agent.Outcome{Calibration: s.calibration}
}

// costPerOperation is the time that an operation takes a core, in nanoseconds: workers beyond the cores wait for their turn and cost
// nothing meanwhile.
func costPerOperation(measured *load.Result, workers int) float64 {
	cores := min(workers, runtime.GOMAXPROCS(0))
	return float64(measured.Wall) * float64(cores) / float64(measured.OK)
}

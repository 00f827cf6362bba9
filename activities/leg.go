package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/process"
	"github.com/durabench/durabench/workers/agent"

	"github.com/durabench/durabench/activities/secrets"
)

// CauseWorkerLost is the cause of the interruption of a leg whose worker went away while the agent measured on.
const CauseWorkerLost = "worker-lost"

// maxFailures is how many attempts in a row may find no agent before the run is given up. Attempts are not counted by Temporal, as most
// of them only take over waiting from a worker that was stopped.
const maxFailures = 3

// cancelTimeout bounds how long a cancelled leg takes to stop and to keep what it has.
const cancelTimeout = 45 * time.Second

// Leg runs steps in the run's agent.
type Leg struct {
	// Executable is the program that serves as an agent, see agent.Launch.
	Executable string
	// Idle is how long an agent that nobody asks for lives on, so that a new worker finds it.
	Idle time.Duration
	// Machine is handed to the agent, which holds it for as long as it lives; nil hands over none.
	Machine *Machine
}

// RunLegInput says which step to run.
type RunLegInput struct {
	Run    Run           `json:"run"`
	Server StartedServer `json:"server"`
	Step   plan.Step     `json:"step"`
	// Lost has what earlier results of this step said of their losses: executions that do not count.
	Lost []agent.Loss `json:"lost,omitempty"`
}

// StepResult is what a step came to, in the few numbers that a workflow needs; the whole is on the agent's disk until PutLeg stores it.
type StepResult struct {
	Step          string                `json:"step"`
	Verdict       result.Verdict        `json:"verdict,omitempty"` // timed steps
	Why           string                `json:"why,omitempty"`
	OK            int64                 `json:"ok"`
	Failed        int64                 `json:"failed"`
	Rate          *float64              `json:"rate,omitempty"` // successful operations per second
	P50           *int64                `json:"p50,omitempty"`  // ns
	P99           *int64                `json:"p99,omitempty"`  // ns
	WallNs        int64                 `json:"wallNs,omitempty"`
	Attempts      int                   `json:"attempts,omitempty"`
	Interruptions []result.Interruption `json:"interruptions,omitempty"` // of waiting for the step; the agent notes those of the step itself
	// Cleared tells, after the build or the drop of an index that came to nothing, that nothing of the index is left in the database.
	Cleared bool `json:"cleared,omitempty"`
	// Lost is there when the database server was lost under the step. The server has to be recovered, and the step run again with this loss
	// among those that it is told of, unless Final.
	Lost *agent.Loss `json:"lost,omitempty"`
	// Final tells that the step is not to be run again all the same: it was lost too often.
	Final bool `json:"final,omitempty"`
}

// RunLeg runs one step in the run's agent and waits for it. An attempt after the first finds the step where it is: the agent has gone on
// measuring without a worker, or has finished, and nothing is repeated. When the workflow is cancelled the step is, too, and what it has
// measured until then is its result. A step whose database server was lost is a result that says so: the workflow brings the server back.
func (l *Leg) RunLeg(ctx context.Context, in RunLegInput) (StepResult, error) {
	begun, failures := time.Now(), failuresBefore(ctx)
	beat := startBeat(ctx, Heartbeat{Step: in.Step.ID, Waiting: "reaching the agent", Failures: failures})
	defer beat.stop()
	ctx, release := untilStop(ctx)
	defer release()

	client, status, lost, err := l.begin(ctx, in)
	if lost != nil {
		return StepResult{Step: in.Step.ID, Lost: lost}, nil
	}
	if err != nil {
		beat.tell(Heartbeat{Step: in.Step.ID, Waiting: "reaching the agent", Failures: failures + 1})
		return StepResult{}, l.explain(ctx, in, failures+1, err)
	}
	defer client.Close()
	var interruptions []result.Interruption
	if status.Adopted && activity.GetInfo(ctx).Attempt > 1 {
		interruptions = append(interruptions, takenOver(client.Info(), status, begun))
		activity.GetLogger(ctx).Info("step is taken over", "step", in.Step.ID, "state", status.State)
	}
	outcome, err := client.Wait(ctx, in.Step.ID, func(s agent.Status) {
		beat.set(Heartbeat{Step: in.Step.ID, Attempt: s.Attempt, Waiting: s.Waiting, Progress: s.Progress})
	})
	if err != nil && cancelled(ctx) {
		beat.set(Heartbeat{Step: in.Step.ID, Waiting: "stopping"})
		outcome, err = stopStep(ctx, client, in.Step.ID)
	}
	if err != nil {
		return StepResult{}, l.explain(ctx, in, 1, err)
	}
	if lost, err = lossOf(ctx, in.Server, outcome, status.Attempt); err != nil {
		return StepResult{}, l.explain(ctx, in, 1, err)
	}
	if lost == nil {
		interruptions = append(interruptions, serverEnds(ctx, in.Server, outcome.Leg)...)
	}
	return l.conclude(in, outcome, interruptions, lost)
}

// takenOver tells how an attempt that began then has found its step, which an earlier attempt had the agent begin.
func takenOver(agentInfo agent.Info, status agent.Status, begun time.Time) result.Interruption {
	found := result.Interruption{At: time.Now().UTC(), Cause: CauseWorkerLost}
	switch {
	case agentInfo.Started.After(begun):
		// This attempt has started it: the one that ran the step is gone, and was so when the step had come to its end.
		found.Cause, found.Note = agent.CauseAgentLost, "the agent ended when the leg was over; its result was on disk and nothing was repeated"
	case status.State == agent.Finished:
		found.Note = "another attempt took over waiting when the leg was over; nothing was repeated"
	default:
		found.Note = "another attempt took over waiting; the agent went on and nothing was repeated"
	}
	return found
}

// failuresBefore returns how many attempts before this one, in a row, found no agent.
func failuresBefore(ctx context.Context) int {
	var last Heartbeat
	if !activity.HasHeartbeatDetails(ctx) || activity.GetHeartbeatDetails(ctx, &last) != nil {
		return 0
	}
	return last.Failures
}

// untilStop returns a context that also ends when the worker is being stopped: waiting is given up at once then, as the agent needs none.
func untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancelCause(ctx)
	stop := activity.GetWorkerStopChannel(ctx)
	go func() {
		select {
		case <-stop:
			cancel(errStopping)
		case <-bounded.Done():
		}
	}()
	return bounded, func() { cancel(nil) }
}

var errStopping = errors.New("the worker is stopping")

// begin finds or starts the agent and has it begin the step. A server that was lost before the step is told instead.
func (l *Leg) begin(ctx context.Context, in RunLegInput) (*agent.Client, agent.Status, *agent.Loss, error) {
	credentials, err := credentialsOf(ctx, in.Run, in.Server)
	if err != nil {
		return nil, agent.Status{}, nil, permanent(TypeCredentials, err)
	}
	setup := agent.Setup{
		RunID: in.Run.ID, Spec: in.Run.Spec, Server: string(in.Server.Mode), Endpoint: in.Server.Endpoint,
		ServerPID: in.Server.PID, IdleSeconds: int(l.Idle / time.Second),
	}
	if in.Server.Mode == drivers.Embedded {
		setup.Dir = in.Server.Dir
	}
	client, err := agent.Launch(ctx, l.Executable, in.Run.Dir, setup, credentials, l.Machine.startAgent(ctx, in.Run))
	if err != nil {
		return nil, agent.Status{}, nil, err
	}
	if err := l.Machine.release(in.Run.ID); err != nil { // it is the agent's now
		activity.GetLogger(ctx).Warn("the machine's lock is not handed over cleanly", "error", err)
	}
	if !client.Info().Has(in.Step.ID) {
		lost, err := lossBefore(ctx, in.Server, in.Step.ID)
		if err != nil || lost != nil {
			client.Close()
			return nil, agent.Status{}, lost, err
		}
	}
	status, err := client.Start(ctx, in.Step, in.Lost...)
	if err != nil {
		client.Close()
		return nil, agent.Status{}, nil, err
	}
	return client, status, nil, nil
}

// credentialsOf finds what the database wants to be shown.
func credentialsOf(ctx context.Context, run Run, server StartedServer) (drivers.Credentials, error) {
	switch server.Mode {
	case drivers.Endpoint:
		return secrets.Read(run.ID)
	case drivers.Process:
		return process.Credentials(server.Dir)
	case drivers.Docker:
		return containerCredentials(ctx, run)
	default:
		return drivers.Credentials{}, nil
	}
}

// serverEnds tells of a server of ours that ended since the leg was begun: one that ended before is not this leg's story.
func serverEnds(ctx context.Context, server StartedServer, leg *result.Leg) []result.Interruption {
	if server.Mode != drivers.Docker || leg == nil {
		return nil
	}
	end, err := containerEnd(context.WithoutCancel(ctx), server)
	switch {
	case err != nil:
		activity.GetLogger(ctx).Warn("cannot tell whether the server ran all the time", "error", err)
		return nil
	case end == nil, leg.Measured != nil && end.At.Before(leg.Measured.Started):
		return nil
	}
	return []result.Interruption{*end}
}

// stopStep cancels a running step and returns what it came to.
func stopStep(ctx context.Context, client *agent.Client, id string) (agent.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if err := client.Cancel(ctx, id); err != nil {
		return agent.Outcome{}, fmt.Errorf("cancel step %s: %w", id, err)
	}
	return client.Wait(ctx, id, nil)
}

// explain tells Temporal what to do about an error of the agent's.
func (l *Leg) explain(ctx context.Context, in RunLegInput, failures int, err error) error {
	err = fmt.Errorf("step %s: %w", in.Step.ID, err)
	var typed *temporal.ApplicationError
	switch {
	case stopping(ctx) || errors.Is(context.Cause(ctx), errStopping):
		return draining("step " + in.Step.ID + " goes on in the agent")
	case cancelled(ctx):
		return temporal.NewCanceledError(err.Error())
	case errors.As(err, &typed):
		return typed
	case errors.Is(err, agent.ErrDifferentStep):
		return permanent(TypeSpec, err)
	case failures >= maxFailures:
		return permanent(TypeAgent, fmt.Errorf("%w (given up after %d attempts)", err, failures))
	default:
		return passing(TypeAgent, err)
	}
}

// conclude turns an outcome into what the workflow gets.
func (l *Leg) conclude(in RunLegInput, outcome agent.Outcome, interruptions []result.Interruption, lost *agent.Loss) (StepResult, error) {
	final := lost != nil && lost.Attempt >= agent.MaxAttempts
	if lost != nil && !final {
		return StepResult{Step: in.Step.ID, Lost: lost, Interruptions: interruptions}, nil
	}
	if outcome.Error != "" {
		err := fmt.Errorf("step %s: %s", in.Step.ID, outcome.Error)
		if outcome.ErrorClass == agent.ErrorCancelled {
			return StepResult{}, temporal.NewCanceledError(err.Error())
		}
		return StepResult{}, permanent(typeOf(outcome.ErrorClass), err)
	}
	if final {
		interruptions = append(interruptions, result.Interruption{At: lost.At, Cause: lost.Cause, Note: lost.Note})
	}
	came := summarise(outcome, interruptions)
	came.Lost, came.Final = lost, final
	return came, nil
}

// summarise keeps of an outcome what a workflow needs.
func summarise(outcome agent.Outcome, interruptions []result.Interruption) StepResult {
	s := StepResult{Step: outcome.Step.ID, Interruptions: interruptions, Cleared: outcome.Cleared}
	leg := outcome.Leg
	if leg == nil {
		return s
	}
	s.Verdict, s.Why, s.Attempts = leg.Verdict, shorten(leg.Why), leg.Attempts
	if m := leg.Measured; m != nil {
		s.OK, s.Failed, s.Rate, s.WallNs = m.OK, m.Failed, m.Throughput, m.WallNs
		if m.Service != nil {
			s.P50, s.P99 = &m.Service.P50, &m.Service.P99
		}
	}
	return s
}

// shorten keeps a text fit for histories; the whole of it is in the document.
func shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut-- // not in the middle of a character
	}
	return text[:cut] + "…"
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/pidspace"
)

// keepRetry is the pause between two tries to write an outcome.
const keepRetry = 2 * time.Second

// closeTimeout bounds how long an agent that was told to quit waits for its running step to stop.
const closeTimeout = 30 * time.Second

// Serve is the agent of the run in dir: it takes steps until it is told to quit, ctx ends, or nobody asks for it any more. Only one
// agent serves a directory.
func Serve(ctx context.Context, dir string, newExecutor NewExecutor) error {
	lock, err := lockFileNow(filepath.Join(dir, lockFile))
	if err != nil {
		return fmt.Errorf("serve %s: %w", dir, err)
	}
	defer lock.Close()
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the agent's log: %w", err)
	}
	defer log.Close()
	level := new(slog.LevelVar)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))

	err = serve(ctx, dir, newExecutor, logger, level)
	if err != nil {
		logger.Error("agent ends", "error", err)
	}
	return err
}

func serve(ctx context.Context, dir string, newExecutor NewExecutor, logger *slog.Logger, level *slog.LevelVar) error {
	setup, credentials, err := readSetup(dir)
	if err != nil {
		return err
	}
	steps, err := openLedger(filepath.Join(dir, stepsDir))
	if err != nil {
		return err
	}
	executor, err := newExecutor(setup, credentials, steps.outcomes(), logger)
	if err != nil {
		return err
	}
	s := &server{
		info: Info{
			Protocol: Protocol, RunID: setup.RunID, Setup: setup.digest(), PID: os.Getpid(), Started: time.Now().UTC(), Revision: revision(),
		},
		idle:     time.Duration(setup.IdleSeconds) * time.Second,
		steps:    steps,
		executor: executor,
		logger:   logger,
		level:    level,
		asked:    time.Now(),
		quit:     make(chan struct{}),
		idled:    make(chan struct{}, 1),
	}
	err = s.listen(ctx, dir)
	return errors.Join(err, executor.Close())
}

// server holds the state of a serving agent.
type server struct {
	info     Info
	idle     time.Duration
	executor Executor
	logger   *slog.Logger
	level    *slog.LevelVar

	mu      sync.Mutex
	steps   *ledger
	running *execution
	asked   time.Time     // when the last request ended or the last step finished
	asking  int           // requests that are being answered
	closing bool          // no more steps are taken
	quit    chan struct{} // closed when the agent was told to quit
	idled   chan struct{} // woken when asked or running changes
}

// execution is the step that runs now.
type execution struct {
	entry  *entry
	cancel context.CancelFunc
	done   chan struct{} // closed when the outcome is on disk

	mu       sync.Mutex
	progress *load.Progress
	waiting  string
}

// listen serves requests on the run's socket until it is time to end, and leaves no socket behind.
func (s *server) listen(ctx context.Context, dir string) error {
	socket, remove, err := socketPath(dir)
	if err != nil {
		return err
	}
	defer remove()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", socket, err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return errors.Join(fmt.Errorf("protect the socket: %w", err), listener.Close())
	}
	start, err := processStart(s.info.PID)
	if err != nil {
		return errors.Join(fmt.Errorf("identify this process: %w", err), listener.Close())
	}
	self := identity{PID: s.info.PID, StartTime: start, Space: pidspace.Here(), Socket: socket, Protocol: Protocol, Revision: s.info.Revision}
	if err := writeJSON(filepath.Join(dir, identityFile), self); err != nil {
		return errors.Join(fmt.Errorf("publish the agent: %w", err), listener.Close())
	}
	defer os.Remove(filepath.Join(dir, identityFile))

	// Requests that wait for a step are let go when the agent ends.
	base, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	web := &http.Server{
		Handler:           s.handler(),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
	s.logger.Info("agent serves", "run", s.info.RunID, "pid", s.info.PID, "finished", len(s.steps.finished()))
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }() // from here on, s.mu guards the steps

	var cause string
	select {
	case <-ctx.Done():
		cause = "asked by a signal"
	case <-s.quit:
		cause = "told to quit"
	case <-s.idleFor():
		cause = fmt.Sprintf("nobody asked for %v", s.idle)
	case err = <-failed:
		cause = "its socket failed"
	}
	s.stop()
	s.logger.Info("agent ends", "because", cause)
	release()
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return errors.Join(err, web.Shutdown(shutdown))
}

// stop takes no more steps, cancels the one that runs and waits until its outcome is kept.
func (s *server) stop() {
	s.mu.Lock()
	s.closing = true
	running := s.running
	s.mu.Unlock()
	if running == nil {
		return
	}
	running.cancel()
	select {
	case <-running.done:
	case <-time.After(closeTimeout):
		s.logger.Warn("the running step does not stop", "step", running.entry.Step.ID, "waited", closeTimeout)
	}
}

// idleFor returns a channel that is closed when no step has run and nobody has asked anything for the idle time. A step that runs
// keeps the agent alive: its outcome is worth having even if the one who asked for it is gone, and the time counts from its end.
func (s *server) idleFor() <-chan struct{} {
	over := make(chan struct{})
	if s.idle <= 0 {
		return over
	}
	go func() {
		timer := time.NewTimer(s.idle)
		defer timer.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-s.idled:
			case <-timer.C:
			}
			s.mu.Lock()
			left := s.idle - time.Since(s.asked)
			if s.running != nil || s.asking > 0 {
				left = s.idle
			}
			if left <= 0 {
				s.closing = true
			}
			s.mu.Unlock()
			if left <= 0 {
				close(over)
				return
			}
			timer.Reset(left)
		}
	}()
	return over
}

// touch notes that the agent is wanted.
func (s *server) touch() {
	s.asked = time.Now()
	select {
	case s.idled <- struct{}{}:
	default:
	}
}

// start takes a step: it is begun, or found to be there already.
func (s *server) start(asked Begin) (Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := asked.Step
	known := s.steps.steps[step.ID]
	if known != nil && !sameStep(known.Step, step) {
		return Status{}, &requestError{codeDifferent, fmt.Sprintf("step %s is known with another content", step.ID)}
	}
	again := known != nil && known.outcome != nil && known.lost(asked.Lost) && len(known.Begun) < MaxAttempts
	if known != nil && !again && (known.outcome != nil || s.running != nil && s.running.entry == known) {
		status := s.status(known)
		status.Adopted = true
		return status, nil
	}
	if s.closing {
		return Status{}, &requestError{codeClosing, "the agent is ending"}
	}
	if s.running != nil {
		return Status{}, &requestError{codeBusy, fmt.Sprintf("step %s cannot start while step %s runs", step.ID, s.running.entry.Step.ID)}
	}
	if again {
		if err := s.steps.putAside(known); err != nil {
			return Status{}, err
		}
	}
	if known != nil && len(known.Begun) >= MaxAttempts {
		if err := s.steps.finish(known, lostOutcome(known)); err != nil {
			return Status{}, err
		}
		return s.status(known), nil
	}
	e, err := s.steps.begin(asked, time.Now().UTC())
	if err != nil {
		return Status{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &execution{entry: e, cancel: cancel, done: make(chan struct{})}
	s.running = run
	s.logger.Info("step starts", "step", step.ID, "attempt", len(e.Begun))
	go s.execute(ctx, run)
	return s.status(e), nil
}

// execute runs a step and keeps its outcome before anyone is told.
func (s *server) execute(ctx context.Context, run *execution) {
	e := run.entry
	outcome := s.run(ctx, run)
	outcome.Step = e.Step
	if outcome.Leg != nil {
		outcome.Leg.Attempts = len(e.Begun)
		outcome.Leg.Interruptions = append(losses(e), outcome.Leg.Interruptions...)
	}
	run.cancel()

	for !s.finish(run, outcome) {
		time.Sleep(keepRetry)
	}
	s.logger.Info("step finished", "step", e.Step.ID, "result", describe(outcome))
}

// finish keeps the outcome of the running step and frees the agent for the next. It tells whether there is no more to do: a disk that
// is full keeps the step running until there is room, and only the end of the agent gives the outcome up.
func (s *server) finish(run *execution, outcome Outcome) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.steps.finish(run.entry, outcome); err != nil {
		s.logger.Error("outcome not kept", "step", run.entry.Step.ID, "error", err)
		run.say("waiting until the result can be written: " + err.Error())
		if !s.closing {
			return false
		}
	}
	s.running = nil
	s.touch()
	close(run.done)
	return true
}

// run calls the executor and turns a panic in it into a failed step, so that the legs measured before it are not lost.
func (s *server) run(ctx context.Context, run *execution) (outcome Outcome) {
	step := run.entry.Step
	defer func() {
		if p := recover(); p != nil {
			s.logger.Error("step panics", "step", step.ID, "panic", p, "stack", stack())
			outcome = failedOutcome(step, fmt.Sprintf("a fault in the harness or the driver: %v", p))
		}
	}()
	if step.Timed {
		// A measuring process writes nothing that can wait.
		s.level.Set(slog.LevelWarn)
		defer s.level.Set(slog.LevelInfo)
	}
	return s.executor.Run(ctx, Task{
		Step: step, Attempt: len(run.entry.Begun), Progress: run.report, Say: run.say,
		Remember: func(value any) error { return s.steps.remember(run.entry, value) },
		Recall:   func(into any) (bool, error) { return s.steps.recall(run.entry, into) },
	})
}

func (e *execution) report(p load.Progress) {
	e.mu.Lock()
	e.progress = &p
	e.mu.Unlock()
}

func (e *execution) say(text string) {
	e.mu.Lock()
	e.waiting = text
	e.mu.Unlock()
}

// status says where a step is. The caller holds the server's lock.
func (s *server) status(e *entry) Status {
	status := Status{ID: e.Step.ID, State: Running, Attempt: len(e.Begun), Outcome: e.outcome}
	if e.outcome != nil {
		status.State = Finished
		return status
	}
	if s.running != nil && s.running.entry == e {
		s.running.mu.Lock()
		status.Progress, status.Waiting = s.running.progress, s.running.waiting
		s.running.mu.Unlock()
	}
	return status
}

// losses lists the executions of a step that do not count. Those that nobody has told of ended with their agent.
func losses(e *entry) []result.Interruption {
	var lost []result.Interruption
	told := map[int]bool{}
	for _, loss := range e.Lost {
		told[loss.Attempt] = true
		lost = append(lost, result.Interruption{At: loss.At, Cause: loss.Cause, Note: loss.Note})
	}
	for attempt := 1; attempt < len(e.Begun); attempt++ {
		if told[attempt] {
			continue
		}
		lost = append(lost, result.Interruption{
			At:    e.Begun[attempt].At,
			Cause: CauseAgentLost,
			Note: fmt.Sprintf("the agent of attempt %d, begun at %s, ended while the step ran; nothing of that attempt is in the result",
				attempt, e.Begun[attempt-1].At.Format(time.RFC3339)),
		})
	}
	slices.SortStableFunc(lost, func(a, b result.Interruption) int { return a.At.Compare(b.At) })
	return lost
}

// failedOutcome is the outcome of a step that could not even be tried.
func failedOutcome(step plan.Step, why string) Outcome {
	if !step.Timed {
		return Outcome{Step: step, Error: why, ErrorClass: ErrorInfrastructure}
	}
	return Outcome{Step: step, Leg: &result.Leg{
		ID: step.ID, Title: step.Title, Kind: string(step.Kind), Verdict: result.Failed, Why: why,
		Clients: step.Clients, Threads: step.Threads, Planned: step.Samples,
	}}
}

// lostOutcome is the outcome of a step that took every agent with it.
func lostOutcome(e *entry) Outcome {
	outcome := failedOutcome(e.Step, fmt.Sprintf("the agent ended each of the %d times that this step ran; agent.out and agent.log in the run's "+
		"directory have its last words", len(e.Begun)))
	if outcome.Leg != nil {
		outcome.Leg.Attempts = len(e.Begun)
		outcome.Leg.Interruptions = losses(e)
	}
	return outcome
}

// describe tells in a word how a step ended.
func describe(o Outcome) string {
	switch {
	case o.Leg != nil && o.Leg.Why != "":
		return string(o.Leg.Verdict) + ": " + o.Leg.Why
	case o.Leg != nil:
		return string(o.Leg.Verdict)
	case o.Error != "":
		return "error: " + o.Error
	default:
		return "done"
	}
}

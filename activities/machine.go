package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/host"
)

// Machine has the machine to itself for a run, on behalf of all activities of one worker: its lock, which says so to everybody on this machine,
// and its isolation. The lock is the worker's until the run's agent lives, which holds it from then on, and again the worker's once the agent has
// ended, until everything is put back. A worker that is lost in between loses it, and the next one takes it anew.
type Machine struct {
	LockDir string // of the lock file, host.LockDir for real runs
	Journal string // directory of the isolation journal
	// Temporal names the server that the runs are on, for those who find the machine held.
	Temporal string
	// Ours returns the processes whose load is no reason to wait for a quiet machine, such as a Temporal server of ours. It may be nil.
	Ours func() []int
	// Logger may be nil.
	Logger *slog.Logger
	// Patience is how long one attempt waits for a machine that somebody else holds; 0 is heldPatience.
	Patience time.Duration

	mu    sync.Mutex
	locks map[string]*host.HostLock // by run
}

// Placed says where agent and server of a run belong. It travels with the run.
type Placed struct {
	Agent  host.Placement `json:"agent,omitzero"`
	Server host.Placement `json:"server,omitzero"`
	// Changed tells that settings of the machine were changed for the run.
	Changed bool `json:"changed,omitempty"`
}

// heldPatience is how long one attempt waits for a machine that somebody else holds: others want the worker, too.
const heldPatience = 20 * time.Second

// IsolationOf is the isolation that a spec asks for, as the machine takes it.
func IsolationOf(s *spec.Spec) host.Isolation {
	asked := s.Isolation
	if asked == nil {
		asked = &spec.Isolation{Level: string(host.None)}
	}
	return host.Isolation{
		Level: host.Level(asked.Level), Without: asked.Without, Services: asked.Services, Load: asked.Load, Wait: time.Duration(asked.Wait),
		Nice: asked.Nice, IO: asked.IO, Server: likelyMode(s),
	}
}

// likelyMode is the way in which the database will be had, as far as isolation is concerned: process and container alike need CPUs of their own.
func likelyMode(s *spec.Spec) string {
	engine, _ := drivers.Lookup(s.Database)
	switch {
	case s.Server != "":
		return s.Server
	case s.Endpoint != "":
		return string(drivers.Endpoint)
	case len(engine.Modes) > 0:
		return string(engine.Modes[0])
	}
	return ""
}

// PrepareLimit bounds one attempt to prepare the host for a spec.
func PrepareLimit(s *spec.Spec) time.Duration { return 5*time.Minute + IsolationOf(s).Patience() }

// hold makes sure that the machine is held for the run, by us or by its agent. Of a holder before, that was killed, it puts back what was changed.
func (m *Machine) hold(ctx context.Context, runID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[runID] != nil {
		return nil
	}
	lock, err := host.Lock(m.LockDir, host.Holder{RunID: runID, Temporal: m.Temporal, Journal: m.Journal})
	var held *host.HeldError
	if errors.As(err, &held) && held.By(runID) {
		return nil
	}
	if err != nil {
		return err
	}
	if m.locks == nil {
		m.locks = map[string]*host.HostLock{}
	}
	m.locks[runID] = lock
	if before := lock.Previous(); before != nil && before.RunID != runID {
		if err := lock.PutBack(ctx); err != nil {
			m.logger().Warn("what a killed run changed on this machine is not put back", "run", before.RunID, "journal", before.Journal, "error", err)
		}
	}
	return nil
}

// awaitHold waits a while for somebody else to leave the machine. Its error may be gone at the next attempt.
func (m *Machine) awaitHold(ctx context.Context, beat *beat, runID string) error {
	m.releaseOthers(runID)
	for end := time.Now().Add(cmp.Or(m.Patience, heldPatience)); ; {
		err := m.hold(ctx, runID)
		var held *host.HeldError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &held):
			return permanent(TypePreflight, err)
		case time.Now().After(end):
			return passing(TypeInfrastructure, err)
		}
		beat.set(Heartbeat{Waiting: "waiting for the machine: it is held by " + held.Holder.String()})
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// releaseOthers lets go of the machine for runs that were here before: the one that comes now has the host's lease.
func (m *Machine) releaseOthers(runID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, lock := range m.locks {
		if id != runID {
			m.logger().Info("run gives way on this machine", "run", id, "to", runID, "error", lock.Close())
			delete(m.locks, id)
		}
	}
}

// release lets go of the machine. Whoever the lock was passed to holds on.
func (m *Machine) release(runID string) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	lock := m.locks[runID]
	delete(m.locks, runID)
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// holds tells whether this worker holds the machine for the run.
func (m *Machine) holds(runID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.locks[runID] != nil
}

// isolate makes the machine ready for a run. The caller holds it.
func (m *Machine) isolate(ctx context.Context, run Run, beat *beat) (Placed, *result.Isolation, error) {
	isolation := IsolationOf(&run.Spec)
	if m.Ours != nil {
		isolation.Ours = m.Ours()
	}
	isolated, err := isolation.Apply(ctx, m.Journal, run.ID, func(line string) { beat.set(Heartbeat{Waiting: line}) })
	var refused *host.RefusedError
	switch {
	case errors.As(err, &refused):
		return Placed{}, &isolated.Record, permanent(TypePreflight, refused)
	case err != nil && ctx.Err() != nil:
		return Placed{}, nil, err
	case err != nil:
		return Placed{}, nil, permanent(TypePreflight, fmt.Errorf("isolate the machine: %w", err))
	}
	if cpus := run.Spec.CPUs; cpus != "" {
		isolated.Record.ServerCPUs, isolated.Record.CPUNote = cpus, "the server's CPUs are those that --cpus gives"
		isolated.Record.SharedCPUs = isolated.Record.AgentCPUs == "" || host.Overlap(cpus, isolated.Record.AgentCPUs)
	}
	id, _, changed := host.Left(m.Journal)
	return Placed{Agent: isolated.Agent, Server: isolated.Server, Changed: changed && id == run.ID}, &isolated.Record, nil
}

// again changes the machine again for a run that goes on, when a worker or another run has meanwhile put back what was changed for it: its own worker
// and agent were killed. Nothing is waited for, and no cache dropped, in the middle of a run.
func (m *Machine) again(ctx context.Context, run Run) error {
	if id, _, left := host.Left(m.Journal); !run.Placed.Changed || left && id == run.ID {
		return nil
	}
	isolation := IsolationOf(&run.Spec)
	isolation.Without = append(slices.Clone(isolation.Without), host.StepQuiet, host.StepCaches)
	if _, err := isolation.Apply(ctx, m.Journal, run.ID, nil); err != nil {
		return fmt.Errorf("isolate the machine again: %w", err)
	}
	return nil
}

// startAgent returns how the run's agent is started: on its CPUs, holding the machine.
func (m *Machine) startAgent(ctx context.Context, run Run) func(*exec.Cmd) error {
	return func(cmd *exec.Cmd) error {
		if m == nil {
			return run.Placed.Agent.Start(cmd)
		}
		if err := m.hold(ctx, run.ID); err != nil {
			return err
		}
		if err := m.again(ctx, run); err != nil {
			return err
		}
		m.mu.Lock()
		if lock := m.locks[run.ID]; lock != nil {
			lock.Pass(cmd)
		}
		m.mu.Unlock()
		return run.Placed.Agent.Start(cmd)
	}
}

// restore puts back what was changed for the run, and lets go of the machine.
func (m *Machine) restore(ctx context.Context, runID string) error {
	// Whoever has come meanwhile holds the machine, and may have a journal of its own where ours was.
	problem := m.hold(ctx, runID)
	id, _, left := host.Left(m.Journal)
	if left && (id == runID || m.holds(runID)) {
		if err := host.Restore(ctx, m.Journal); err != nil {
			return err // with the machine held: this is tried again
		}
	}
	var held *host.HeldError
	if errors.As(problem, &held) {
		problem = nil
	}
	return errors.Join(problem, m.release(runID))
}

func (m *Machine) logger() *slog.Logger {
	if m.Logger == nil {
		return discard
	}
	return m.Logger
}

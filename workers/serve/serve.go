// Package serve runs the Temporal workers of one bench host, in a program of their own (workers) or inside the starter.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/workflows"
)

const (
	// DefaultAgentIdle is how long an agent waits for a new worker: long enough for an upgrade that needs a person.
	DefaultAgentIdle = 30 * time.Minute
	// DefaultStopTimeout is how long activities may take to let go when the worker is stopped. Those that wait for an agent need none of
	// it.
	DefaultStopTimeout = 10 * time.Second
)

// Options says what to serve.
type Options struct {
	// Host is the name of this machine, whose queue is served; the machine's own name when it is empty.
	Host string
	// Control makes this process also serve the workflows. At least one worker of an installation must.
	Control bool
	// Executable is the program to start agents from; it must have measure.Command. Empty is the running program.
	Executable string
	// Work is the directory for the working directories of runs; empty is home.Work.
	Work string
	// AgentIdle is how long an agent that nobody asks for lives on; 0 is DefaultAgentIdle.
	AgentIdle time.Duration
	// StopTimeout is how long activities may take to let go; 0 is DefaultStopTimeout.
	StopTimeout time.Duration
	// Temporal names the server that the runs are on, for others who find this machine held by one, and to tell its runs from those of other
	// servers: the address with the namespace.
	Temporal string
	// Namespace is that of the client; empty is the default one.
	Namespace string
	// Logger is told of starts and stops; nil is silence. What the SDK logs goes to the client's own logger.
	Logger *slog.Logger
	// Ready, if set, is called once the queues are served.
	Ready func()

	// data is where this installation keeps its things: it names the owner of what is started.
	data string
}

// Run serves the host's queue, and with Control the workflows, until ctx ends or a worker cannot go on. The end of ctx is no error: it is
// how a worker is stopped. Measuring goes on in the agent meanwhile, and the next worker takes over waiting for it.
func Run(ctx context.Context, c client.Client, o Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	fatal := make(chan error, 2)
	workers, err := o.start(c, func(err error) {
		select {
		case fatal <- err:
		default:
		}
	})
	defer stopAll(workers)
	if err != nil {
		return err
	}
	o.reclaim(ctx)
	relieved := make(chan struct{})
	relieving, stop := context.WithCancel(ctx)
	go func() {
		defer close(relieved)
		o.relieve(relieving, c)
	}()
	defer func() {
		stop()
		<-relieved
	}()
	o.Logger.Info("worker serves", "host", o.Host, "queue", workflows.HostQueue(o.Host), "control", o.Control, "work", o.Work)
	if o.Ready != nil {
		o.Ready()
	}
	select {
	case <-ctx.Done():
		o.Logger.Info("worker stops", "host", o.Host)
		return nil
	case err := <-fatal:
		return fmt.Errorf("serve host %s: %w", o.Host, err)
	}
}

// HostName returns the name of this machine, as Options.Host defaults to it.
func HostName() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the machine's name: %w; give the host a name", err)
	}
	return name, nil
}

// complete fills in the defaults.
func (o *Options) complete() error {
	var err, problem error
	if o.Host == "" {
		o.Host, problem = HostName()
		err = errors.Join(err, problem)
	}
	if o.Executable == "" {
		o.Executable, problem = os.Executable()
		err = errors.Join(err, problem)
	}
	if o.Work == "" {
		o.Work, problem = home.Work()
		err = errors.Join(err, problem)
	}
	o.data, problem = home.Data()
	err = errors.Join(err, problem)
	if o.AgentIdle <= 0 {
		o.AgentIdle = DefaultAgentIdle
	}
	if o.StopTimeout <= 0 {
		o.StopTimeout = DefaultStopTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return err
}

// start starts the workers; those that were started are returned with an error, too.
func (o *Options) start(c client.Client, fatal func(error)) ([]worker.Worker, error) {
	host := worker.New(c, workflows.HostQueue(o.Host), worker.Options{
		// One thing at a time on a machine that is measured. Whole runs are kept apart by more than this.
		MaxConcurrentActivityExecutionSize: 1,
		DisableWorkflowWorker:              true,
		Identity:                           identity(workflows.HostQueue(o.Host)),
		WorkerStopTimeout:                  o.StopTimeout,
		// Activities choose their own pace; the default would hold their heartbeats back for most of the timeout.
		MaxHeartbeatThrottleInterval: time.Second,
		OnFatalError:                 fatal,
	})
	reaper := o.reaper(c)
	machine := &activities.Machine{LockDir: reaper.LockDir, Journal: reaper.Journal, Temporal: o.Temporal, Ours: ours, Logger: o.Logger}
	host.RegisterActivity(&activities.Host{Name: o.Host, Work: o.Work, Machine: machine, Reaper: reaper})
	host.RegisterActivity(&activities.Server{Logger: o.Logger, Owner: o.data})
	host.RegisterActivity(&activities.Agent{Machine: machine})
	host.RegisterActivity(&activities.Leg{Executable: o.Executable, Idle: o.AgentIdle, Machine: machine})
	host.RegisterActivity(&activities.Dataset{})
	host.RegisterActivity(&activities.Results{})
	host.RegisterActivity(&activities.Matrix{Logger: o.Logger})
	if err := host.Start(); err != nil {
		return nil, fmt.Errorf("serve queue %s: %w", workflows.HostQueue(o.Host), err)
	}
	started := []worker.Worker{host}
	if !o.Control {
		return started, nil
	}
	control := worker.New(c, workflows.ControlQueue, worker.Options{WorkerStopTimeout: o.StopTimeout, OnFatalError: fatal})
	control.RegisterWorkflow(workflows.Benchmark)
	control.RegisterWorkflow(workflows.HostLease)
	control.RegisterWorkflow(workflows.Matrix)
	control.RegisterActivity(&activities.Lease{Client: c})
	if err := control.Start(); err != nil {
		return started, fmt.Errorf("serve queue %s: %w", workflows.ControlQueue, err)
	}
	return append(started, control), nil
}

// stopAll stops the workers at the same time, as each may take its whole timeout.
func stopAll(workers []worker.Worker) {
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(w.Stop)
	}
	group.Wait()
}

// Package server runs a Temporal server in one process: frontend, history,
// matching, worker and the Web UI over a SQLite file, so that durabench is
// durable on one machine without Docker.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporal"
)

// Retention is how long the history of a finished run is kept by default. Runs
// are compared weeks apart, and their histories are small.
const Retention = 90 * 24 * time.Hour

// Options configures Start.
type Options struct {
	// DB is the SQLite file. It and its directory are created when missing.
	DB string
	// Host is the IP address to listen on; the default is the loopback address.
	Host string
	// Port and UIPort are what clients and browsers talk to; zero picks a free one.
	Port, UIPort int
	// Headless leaves the Web UI out.
	Headless bool
	// MetricsPort serves Prometheus metrics at /metrics; zero serves none.
	MetricsPort int
	// Namespace is created when missing.
	Namespace string
	// Retention applies to a namespace created now; the default is Retention.
	Retention time.Duration
	// Attributes are the search attributes the namespace must have; the default
	// is Attributes.
	Attributes map[string]enumspb.IndexedValueType
	// Dynamic are dynamic configuration values by key.
	Dynamic map[string]any
	// Logger receives the server's log; the default discards it.
	Logger *slog.Logger
}

// Server is a running Temporal server.
type Server struct {
	// Address is the host:port at which clients on this machine reach it.
	Address string
	// UI is the URL of the Web UI, empty without one.
	UI string
	// Metrics is the URL of the Prometheus metrics, empty without them.
	Metrics string

	fault *fault
	// undo stops what was started, in reverse order.
	undo []func(context.Context) error
}

// Start boots the server and returns once it serves the namespace. When it
// returns an error, nothing it started is left running and the database file is
// free again. One file serves one server at a time, in this process and any
// other.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	if o, err = o.settled(); err != nil {
		return nil, err
	}
	s := &Server{fault: newFault()}
	defer func() {
		if err != nil {
			// The caller's context may be what ended the start.
			stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
			defer cancel()
			err = errors.Join(err, s.Stop(stopCtx))
		}
	}()

	lock, err := lockStore(o.DB)
	if err != nil {
		return nil, err
	}
	s.onStop(func(context.Context) error { return lock.Close() })
	warnOfOlder(o.DB, o.Logger)
	if err := prepareStore(ctx, o); err != nil {
		return nil, err
	}

	ui, err := s.bindUI(o)
	if err != nil {
		return nil, err
	}
	ends, err := bindCore(o)
	if err != nil {
		return nil, err
	}
	s.Address = hostPort(reachable(ends.host), ends.frontend)
	if ends.metrics != 0 {
		s.Metrics = "http://" + hostPort(reachable(ends.host), ends.metrics) + "/metrics"
	}
	if err := s.startCore(o, ends); err != nil {
		return nil, err
	}
	if ui != nil {
		served, err := startUI(ui, s.Address, o.Namespace, s.fault, o.Logger)
		if err != nil {
			return nil, err
		}
		s.onStop(func(ctx context.Context) error { served.stop(ctx); return nil })
	}

	c, err := client.NewLazyClient(client.Options{HostPort: s.Address, Namespace: o.Namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("connect to own server at %s: %w", s.Address, err)
	}
	defer c.Close()
	if err := s.awaitReady(ctx, c, o.Namespace); err != nil {
		return nil, err
	}
	if err := addAttributes(ctx, c, o.Namespace, o.Attributes, o.Logger); err != nil {
		return nil, err
	}
	return s, nil
}

// Failed is closed when the running server has failed beyond recovery; Err says
// why. The server must still be stopped.
func (s *Server) Failed() <-chan struct{} { return s.fault.done }

// Err returns what broke the server, or nil.
func (s *Server) Err() error { return s.fault.get() }

// Stop stops the server and releases the file. When ctx ends first it returns an
// error, and the process should exit: the file is made to survive that.
func (s *Server) Stop(ctx context.Context) error {
	var problems []error
	for len(s.undo) > 0 {
		last := len(s.undo) - 1
		undo := s.undo[last]
		s.undo = s.undo[:last]
		err := within(ctx, undo)
		if err != nil {
			problems = append(problems, fmt.Errorf("stop temporal server at %s: %w", s.Address, err))
		}
		if ctx.Err() != nil && err != nil {
			// What is still running needs what comes next, the lock above all.
			break
		}
	}
	return errors.Join(problems...)
}

func (s *Server) onStop(undo func(context.Context) error) { s.undo = append(s.undo, undo) }

// within runs f and gives up waiting when ctx ends.
func within(ctx context.Context, f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settled checks the options and fills in the defaults.
func (o Options) settled() (Options, error) {
	if o.DB == "" || o.Namespace == "" {
		return o, errors.New("a database file and a namespace are required")
	}
	for _, p := range []int{o.Port, o.UIPort, o.MetricsPort} {
		if p < 0 || p > 65535 {
			return o, fmt.Errorf("port %d is not between 0 and 65535", p)
		}
	}
	file, err := filepath.Abs(o.DB)
	if err != nil {
		return o, fmt.Errorf("locate database %s: %w", o.DB, err)
	}
	o.DB = file
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return o, fmt.Errorf("database %s is not a regular file", file)
	}
	if o.Host, err = bindAddress(o.Host); err != nil {
		return o, err
	}
	if o.Retention <= 0 {
		o.Retention = Retention
	}
	if o.Attributes == nil {
		o.Attributes = Attributes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// bindUI takes the port of the Web UI early, so that a taken one is refused
// before anything runs.
func (s *Server) bindUI(o Options) (net.Listener, error) {
	if o.Headless {
		return nil, nil
	}
	l, err := listen(o.Host, o.UIPort, "web ui")
	if err != nil {
		return nil, err
	}
	// Closing twice is harmless: the UI closes it too once it serves.
	s.onStop(func(context.Context) error { _ = l.Close(); return nil })
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("bind web ui port %d on %s: listener has no TCP address", o.UIPort, o.Host)
	}
	s.UI = "http://" + hostPort(reachable(o.Host), addr.Port)
	return l, nil
}

// bindCore settles the ports of the services.
func bindCore(o Options) (endpoints, error) {
	wanted := []wantedPort{
		{"frontend", o.Host, o.Port},
		{"frontend http", o.Host, 0},
		{"history", loopback, 0},
		{"matching", loopback, 0},
		{"worker", loopback, 0},
	}
	if o.MetricsPort != 0 {
		wanted = append(wanted, wantedPort{"metrics", o.Host, o.MetricsPort})
	}
	ports, err := pickPorts(wanted...)
	if err != nil {
		return endpoints{}, err
	}
	e := endpoints{host: o.Host, frontend: ports[0], http: ports[1], history: ports[2], matching: ports[3], worker: ports[4]}
	if o.MetricsPort != 0 {
		e.metrics = ports[5]
	}
	return e, nil
}

// startCore starts the services. They run on a goroutine of their own because
// the server ends the goroutine that meets a fatal error (see logAdapter.Fatal).
func (s *Server) startCore(o Options, e endpoints) error {
	result := make(chan error, 1)
	go func() {
		ended := errors.New("start ended early")
		defer func() {
			// Ending a goroutine inside a sync.OnceValue comes out of it as a
			// panic, so the recorded error goes first.
			r := recover()
			if err := s.Err(); err != nil {
				ended = err
			} else if r != nil {
				ended = fmt.Errorf("panic: %v", r)
			}
			result <- ended
		}()
		core, err := newCore(o, e, logAdapter{log: o.Logger, fault: s.fault})
		if err != nil {
			ended = err
			return
		}
		s.onStop(func(ctx context.Context) error { return s.stopCore(ctx, core, o) })
		ended = core.Start()
	}()
	if err := <-result; err != nil {
		return fmt.Errorf("start temporal server at %s: %w", s.Address, err)
	}
	return nil
}

func (s *Server) stopCore(ctx context.Context, core temporal.Server, o Options) error {
	if err := core.Stop(); err != nil {
		return err
	}
	if err := checkpoint(ctx, o.DB); err != nil {
		o.Logger.Info("write-ahead log left in place", "file", o.DB, "error", err)
	}
	return nil
}

// awaitReady returns when the frontend answers a visibility query in the
// namespace, which takes every service but the worker.
func (s *Server) awaitReady(ctx context.Context, c client.Client, namespace string) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, err := c.CountWorkflow(attempt, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace})
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-s.Failed():
			return fmt.Errorf("start temporal server at %s: %w", s.Address, s.Err())
		case <-ctx.Done():
			return fmt.Errorf("wait for temporal server at %s: %w (last error: %v)", s.Address, ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

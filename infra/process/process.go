// Package process runs database servers without Docker: it starts the server's own binary, found on this machine, in a directory of its own.
//
// A server outlives the program that started it and is found again by its directory, which holds all there is to know of it:
//
//	state.json   what runs, as which process, with which settings (State)
//	password     the generated password, mode 0600
//	lock         held while somebody starts or stops the server
//	server/      the server's own: its files, its data in data/, its log in server.log
//
// Start is idempotent: it adopts the server that runs in the directory, and restarts one that died on the data that it left. Whatever fails, no
// process is left behind.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/host"
)

// What went wrong, for callers that branch on it. Trying again cures none of these but ErrNotReady.
var (
	// ErrNotInstalled tells that the server's binary is not on this machine. The error says what to install.
	ErrNotInstalled = errors.New("server is not installed")
	// ErrOptions tells that no server can be started of what was asked for.
	ErrOptions = errors.New("the server cannot be started as asked")
	// ErrAccount tells that there is no account that the server could run as.
	ErrAccount = errors.New("no account for the server")
	// ErrDirectory tells that the directory cannot be used: not writable, or closed to the account that the server runs as.
	ErrDirectory = errors.New("directory cannot be used")
	// ErrPortTaken tells that the port that was asked for is in use.
	ErrPortTaken = errors.New("port is taken")
	// ErrNotReady tells that the server exited or gave no answer in time. The error carries the end of its log.
	ErrNotReady = errors.New("server is not ready")
	// ErrExited is an ErrNotReady of a server that ended by itself. Once may be an accident; one that does it again will go on doing it.
	ErrExited = fmt.Errorf("%w", ErrNotReady)
)

const (
	// readyTimeout is how long a server may take to answer, when the caller does not say.
	readyTimeout = time.Minute
	// initTimeout is how long the making of a data directory may take.
	initTimeout = 2 * time.Minute
	// portAttempts is how often another free port is tried when somebody else takes the one that was found.
	portAttempts = 3
)

// Options say which server to start and how.
type Options struct {
	// Engine is the engine's title, for messages.
	Engine string
	// Server describes the server.
	Server *drivers.Server
	// RunID names the run that the server belongs to; its processes carry it in their environment.
	RunID string
	// Dir is the server's directory. It is made if need be, and is only ever used for this server.
	Dir string
	// Binary is the server's binary; empty to find one.
	Binary string
	// Host is the address to listen on; empty for 127.0.0.1.
	Host string
	// Port is the port to listen on; 0 for a free one.
	Port int
	// Profile, Tier, Resources and Connections decide the settings, as in drivers.Launch.
	Profile     drivers.Profile
	Tier        drivers.Tier
	Resources   drivers.Resources
	Connections int
	// Placement is on what CPUs, at which rank and with which limits the server runs.
	Placement host.Placement
	// Ready makes a real connection to the server and is called until it returns nil. Nil takes a server for ready that accepts TCP connections.
	Ready func(context.Context, *Running) error
	// ReadyTimeout is how long the server may take to be ready; 0 for a minute.
	ReadyTimeout time.Duration
	// Logger may be nil.
	Logger *slog.Logger
}

// Running is a server that runs.
type Running struct {
	State
	// Dir is the server's directory, Data its data directory and Log its log file.
	Dir, Data, Log string
	// Credentials open the server.
	Credentials drivers.Credentials `json:"-"`
	// Adopted tells that the server was running already, Restarted that it was started on data that an earlier one left.
	Adopted, Restarted bool
}

// Start makes sure that the server runs in the directory and is ready.
func Start(ctx context.Context, o Options) (running *Running, err error) {
	s, err := open(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.unlock()) }()
	if s.state.alive() {
		if s.launch, err = s.plan(s.state.Port); err != nil {
			return nil, err
		}
		if s.digest() == s.state.Digest {
			// One that dies under our hands, as after a kill -9 that is still under way, is started again like one that is dead.
			if running, err := s.adopt(ctx); err == nil || s.state.alive() {
				return running, err
			}
		} else {
			s.log.Info("server runs with other settings, restarting it", "engine", o.Engine, "pid", s.state.PID)
		}
	}
	before := s.state.PID
	if err := s.stop(ctx); err != nil {
		return nil, fmt.Errorf("stop the server that ran before: %w", err)
	}
	awaitReaped(ctx, before)
	return s.startAnew(ctx)
}

// reapTimeout bounds the wait for the parent of a process that has ended to take note of that.
const reapTimeout = 10 * time.Second

// awaitReaped returns when the number of a process that has ended is free, or after reapTimeout: until then PostgreSQL takes the number in its lock file for
// that of a server that still runs. The parent is whoever started it, or init.
func awaitReaped(ctx context.Context, pid int) {
	ctx, cancel := context.WithTimeout(ctx, reapTimeout)
	defer cancel()
	for pid > 0 && ctx.Err() == nil {
		if p, err := lookUp(pid); err != nil || !p.zombie {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// adopt takes over a server that runs.
func (s *server) adopt(ctx context.Context) (*Running, error) {
	running := s.running()
	running.Adopted = true
	// Not our child, or not surely: whether it lives is asked of the system.
	if err := s.waitReady(ctx, running, nil); err != nil {
		return nil, err
	}
	s.log.Info("server adopted", "engine", s.Engine, "pid", running.PID, "endpoint", running.Endpoint)
	return running, nil
}

// startAnew starts the server on the data that is there, or on fresh data.
func (s *server) startAnew(ctx context.Context) (*Running, error) {
	restarted := s.state.Initialised
	for attempt := 1; ; attempt++ {
		port, err := s.choosePort()
		if err != nil {
			return nil, err
		}
		if s.launch, err = s.plan(port); err != nil {
			return nil, err
		}
		if err := s.makeData(ctx); err != nil {
			return nil, err
		}
		running, err := s.run(ctx)
		if err == nil {
			running.Restarted = restarted
			s.log.Info("server started", "engine", s.Engine, "pid", running.PID, "endpoint", running.Endpoint, "restarted", restarted)
			return running, nil
		}
		if s.Port != 0 || attempt == portAttempts || !errors.Is(err, errAddressInUse) || ctx.Err() != nil {
			return nil, err
		}
		s.state.Port = 0
	}
}

// Alive returns the server that runs in the directory; nil when none does.
func Alive(dir string) (*Running, error) {
	state, err := readState(dir)
	if err != nil || !state.alive() {
		return nil, err
	}
	credentials, err := Credentials(dir)
	if err != nil {
		return nil, err
	}
	paths := pathsOf(dir)
	return &Running{State: state, Dir: dir, Data: paths.data, Log: paths.log, Credentials: credentials}, nil
}

// Credentials reads what opens the server in the directory, for a process that has nothing else of it.
func Credentials(dir string) (drivers.Credentials, error) {
	state, err := readState(dir)
	if err != nil {
		return drivers.Credentials{}, err
	}
	password, err := os.ReadFile(pathsOf(dir).password)
	if err != nil {
		return drivers.Credentials{}, fmt.Errorf("read the password of the server: %w", err)
	}
	return drivers.Credentials{User: state.User, Password: string(password)}, nil
}

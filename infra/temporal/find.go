package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/infra/home"
)

// tick is how often a long wait is reported.
const tick = 5 * time.Second

// FindOptions configures Find. The zero value does what `starter run` wants.
type FindOptions struct {
	// Namespace to run in; the default is TEMPORAL_NAMESPACE, then DefaultNamespace.
	Namespace string
	// Dir keeps the database, log and state of a server of ours; the default is
	// home.Temporal().
	Dir string
	// Cache keeps built programs; the default is home.Cache().
	Cache string
	// Source is a clone of durabench; the default is DURABENCH_SOURCE, then the
	// clone around the working directory or around the running program.
	Source string
	// NoStart looks only for a server that runs: a worker must join one and has
	// no use for an empty one of its own.
	NoStart bool
	// Progress is told, in sentences without a full stop, what takes its time and
	// what is out of the ordinary. It is called from one goroutine at a time.
	Progress func(message string)
}

// ErrNotRunning says that no server runs and none was to be started.
var ErrNotRunning = errors.New("no temporal server is running")

// Find returns the Temporal server to use and makes this process one of its
// users: it must be given to Server.Stop or Server.Leave in the end. The order
// in which it looks is in the package comment. A server of the environment is
// not contacted here; Server.Dial does that.
func Find(ctx context.Context, o FindOptions) (*Server, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Namespace == "" {
		o.Namespace = os.Getenv(EnvNamespace)
	}
	if s, err := named(o.Namespace); s != nil || err != nil {
		return s, err
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	dir, err := directoryOf(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := dir.open(); err != nil {
		return nil, err
	}

	s, err := dir.attach(ctx, o, nil)
	if s != nil || err != nil {
		return s, err
	}
	if o.NoStart {
		return nil, fmt.Errorf("%w on this machine and %s is not set; start one with `starter up`", ErrNotRunning, EnvAddress)
	}
	// Choosing may build for minutes, during which others may use, start and stop
	// servers: the lock is not held.
	p, err := choose(ctx, o)
	if err != nil {
		return nil, err
	}
	return dir.attach(ctx, o, &p)
}

// named returns the server the environment names, or nil. A profile counts when
// it was asked for, not when a configuration file merely happens to exist.
func named(namespace string) (*Server, error) {
	if os.Getenv(EnvAddress) == "" && os.Getenv("TEMPORAL_PROFILE") == "" && os.Getenv("TEMPORAL_CONFIG_FILE") == "" {
		return nil, nil
	}
	opts, err := ClientOptions(Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return &Server{
		Address:   opts.HostPort,
		UI:        os.Getenv(EnvUI),
		Namespace: opts.Namespace,
		Origin:    OriginAddress,
	}, nil
}

func directoryOf(dir string) (directory, error) {
	var err error
	if dir == "" {
		dir, err = home.Temporal()
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("find temporal directory: %w", err)
	}
	return directory(dir), nil
}

// attach returns the server of the directory as one of its users. If none runs
// it starts one with the program, or returns nil without one.
func (d directory) attach(ctx context.Context, o FindOptions, p *program) (*Server, error) {
	lock, err := waitLock(ctx, d.startLock(), unix.LOCK_EX, func(waited time.Duration) {
		o.Progress(fmt.Sprintf("waiting for another durabench process that starts or stops the temporal server (%s)", waited.Round(time.Second)))
	})
	if err != nil {
		return nil, fmt.Errorf("find temporal server: %w", err)
	}
	defer lock.release()

	state, err := d.running(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Namespace: o.Namespace, Origin: OriginRunning, LogFile: d.log(), dir: d}
	if state == nil {
		if p == nil {
			return nil, nil
		}
		if state, err = d.start(ctx, o, *p); err != nil {
			return nil, err
		}
		s.Origin, s.Started = p.origin, true
	}
	s.Address, s.UI, s.PID, s.Version = state.Address, state.UI, state.PID, state.Version
	// Whoever stops a server holds the start lock too, so this is not contended.
	if s.use, err = tryLock(d.usersLock(), unix.LOCK_SH); err != nil {
		return nil, fmt.Errorf("use temporal server at %s: %w", s.Address, err)
	}
	return s, nil
}

// answerWait is how long a server whose process lives may take to answer. One
// that was just started by a process that then died may be on its way up.
const answerWait = 30 * time.Second

// running returns the state of the server that runs, or nil when none does.
func (d directory) running(ctx context.Context) (*State, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	var last error
	for {
		state, pid, err := d.described()
		if err != nil || pid == 0 {
			return nil, err
		}
		if state != nil {
			if last = answers(ctx, state.Address, state.Namespace); last == nil {
				return state, nil
			}
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("temporal server of %s runs as process %d but does not answer: %w; see %s, or end it with `kill %d`",
				d, pid, orElse(last, errors.New("it is not ready")), d.log(), pid)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// described returns what the files say of a server whose process lives: its
// state, once it is ready, and its process, zero when there is none.
func (d directory) described() (*State, int, error) {
	state, err := readJSON[State](d.state())
	if err != nil {
		return nil, 0, fmt.Errorf("find temporal server: %w", err)
	}
	record, err := readJSON[launchRecord](d.launch())
	if err != nil {
		return nil, 0, fmt.Errorf("find temporal server: %w", err)
	}
	if record != nil && !record.alive() {
		d.forget(record.PID)
		if state != nil && state.PID == record.PID {
			state = nil
		}
		record = nil
	}
	switch {
	case state != nil && (processID{PID: state.PID}).alive():
		return state, state.PID, nil
	case record != nil:
		return nil, record.PID, nil
	}
	if state != nil {
		_ = os.Remove(d.state())
	}
	return nil, 0, nil
}

// answers tells whether a Temporal server serves at the address.
func answers(ctx context.Context, address, namespace string) error {
	opts, err := ClientOptions(Options{Address: address, Namespace: namespace})
	if err != nil {
		return err
	}
	c, err := dialOnce(ctx, opts, 2*time.Second)
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

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
// users: it must be given to Server.Stop in the end. The order
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

// named returns the server the environment names, or nil. A profile or
// configuration file counts when it was asked for, not when it merely exists.
func named(namespace string) (*Server, error) {
	if os.Getenv(EnvAddress) == "" && os.Getenv("TEMPORAL_PROFILE") == "" && os.Getenv("TEMPORAL_CONFIG_FILE") == "" {
		return nil, nil
	}
	opts, err := fromEnvironment()
	if err != nil || opts.HostPort == "" {
		return nil, err
	}
	s := &Server{Address: opts.HostPort, UI: os.Getenv(EnvUI), Origin: OriginAddress}
	for _, s.Namespace = range []string{namespace, opts.Namespace, DefaultNamespace} {
		if s.Namespace != "" {
			break
		}
	}
	return s, nil
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
func (d directory) attach(ctx context.Context, o FindOptions, p *program) (s *Server, err error) {
	lock, err := waitLock(ctx, d.startLock(), unix.LOCK_EX, func(waited time.Duration) {
		o.Progress(fmt.Sprintf("waiting for another durabench process that starts or stops the temporal server (%s)", waited.Round(time.Second)))
	})
	if err != nil {
		return nil, fmt.Errorf("find temporal server: %w", err)
	}
	defer lock.release()

	orphans, err := d.used()
	if err != nil {
		return nil, fmt.Errorf("find temporal server: %w", err)
	}
	// Whoever stops a server holds the start lock too, so this is not contended.
	use, err := tryLock(d.usersLock(), unix.LOCK_SH)
	if err != nil {
		return nil, fmt.Errorf("find temporal server: %w", err)
	}
	defer func() {
		if s == nil {
			use.release()
		}
	}()
	state, err := d.running(ctx)
	if err != nil {
		return nil, err
	}
	started := state == nil
	if started {
		if p == nil {
			return nil, nil
		}
		if state, err = d.start(ctx, o, *p, orphans); err != nil {
			return nil, err
		}
	}
	s = &Server{
		Address:   state.Address,
		UI:        state.UI,
		Namespace: o.Namespace,
		Origin:    OriginRunning,
		Version:   state.Version,
		PID:       state.PID,
		LogFile:   d.log(),
		Started:   started,
		dir:       d,
		use:       use,
		process:   known(state.PID),
	}
	if started {
		s.Origin = p.origin
	}
	return s, nil
}

// used tells whether other processes use the server, or did when it was lost. The caller holds the start lock and does not count.
func (d directory) used() (bool, error) {
	nobody, err := tryLock(d.usersLock(), unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	nobody.release()
	return false, nil
}

// answerWait is how long a server whose process lives may take to answer. One
// that was just started by a process that then died may be on its way up.
const answerWait = 30 * time.Second

// running returns the state of the server that runs, or nil when none does. The
// caller holds the start lock.
func (d directory) running(ctx context.Context) (*State, error) {
	limited, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	for {
		state, record, err := d.described()
		if err != nil || (state == nil && record == nil) {
			return nil, err
		}
		if state != nil {
			if err = answers(limited, state.Address, state.Namespace); err == nil {
				return state, nil
			}
		}
		select {
		case <-limited.Done():
		case <-time.After(200 * time.Millisecond):
			continue
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case state == nil:
			// Whoever started it died before it was ready, and it never will be.
			if err := record.end(ctx); err != nil {
				return nil, fmt.Errorf("end half-started temporal server: %w", err)
			}
			d.forget(record.PID)
			return nil, nil
		}
		return nil, fmt.Errorf("temporal server of %s runs as process %d but does not answer: %w; see %s, or end it with `kill %d`",
			d, state.PID, err, d.log(), state.PID)
	}
}

// described returns what the files say of a server whose process lives: its
// state once it is ready, and how it was started when it is one of ours.
func (d directory) described() (*State, *launchRecord, error) {
	state, err := readJSON[State](d.state())
	if err != nil {
		return nil, nil, fmt.Errorf("find temporal server: %w", err)
	}
	record, err := readJSON[launchRecord](d.launch())
	if err != nil {
		return nil, nil, fmt.Errorf("find temporal server: %w", err)
	}
	if record != nil && !record.alive() {
		if state != nil && state.PID == record.PID {
			state = nil
		}
		d.forget(record.PID)
		record = nil
	}
	if state != nil && !(processID{PID: state.PID}).alive() {
		_ = os.Remove(d.state())
		state = nil
	}
	return state, record, nil
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

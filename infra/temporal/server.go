package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.temporal.io/sdk/client"
	"golang.org/x/sys/unix"
)

// Origin is how a server was found.
type Origin string

const (
	// OriginAddress is a server that the environment names.
	OriginAddress Origin = "TEMPORAL_ADDRESS"
	// OriginRunning is one of ours that ran already.
	OriginRunning Origin = "running"
	// OriginTemporald is our own program, started now.
	OriginTemporald Origin = "temporald"
	// OriginCLI is the temporal CLI's development server, started now.
	OriginCLI Origin = "temporal CLI"
)

// Server is a Temporal server that was found. As long as it is not stopped, this
// process counts as one of its users.
type Server struct {
	// Address is the host:port for clients and workers.
	Address string
	// UI is the URL of the Web UI, empty when unknown.
	UI string
	// Namespace is the one to run in. It may have to be created: EnsureNamespace.
	Namespace string
	// Origin says how the server was found.
	Origin Origin
	// Version of the Temporal server, when known.
	Version string
	// PID is the server's process, zero when it is not one of ours.
	PID int
	// LogFile is where the server's output goes, empty when it is not one of ours.
	LogFile string
	// Started says that this process started the server.
	Started bool

	dir directory
	use *flock
	// process is the server's, for good; without its birth where the system does not tell.
	process processID
}

// Dial connects to the server. Of the options, the address is the server's, and
// the namespace is the server's unless given.
func (s *Server) Dial(ctx context.Context, o Options) (client.Client, error) {
	if s.Origin != OriginAddress {
		o.Address = s.Address
	}
	if o.Namespace == "" {
		o.Namespace = s.Namespace
	}
	c, err := Dial(ctx, o)
	if err != nil && s.LogFile != "" {
		if tail := logTail(s.LogFile, 0); tail != "" {
			err = fmt.Errorf("%w\nlast lines of %s:\n%s", err, s.LogFile, tail)
		}
	}
	return c, err
}

// Stop gives up this process's use of the server and stops the server, when it
// is one that durabench started and nobody else uses it. It tells whether the server was stopped. A context that ends cuts the
// server's own clean-up short and kills it; a caller that was interrupted should
// pass a fresh one.
func (s *Server) Stop(ctx context.Context) (stopped bool, err error) {
	if s.dir == "" {
		return false, nil
	}
	s.use.release()
	stopped, err = s.dir.stop(ctx)
	if err != nil {
		return stopped, fmt.Errorf("stop temporal server at %s: %w", s.Address, err)
	}
	return stopped, nil
}

// stop ends the server of the directory, unless it is not ours or in use.
func (d directory) stop(ctx context.Context) (bool, error) {
	// Nobody must find the server and begin to use it while it goes down.
	lock, err := waitLock(ctx, d.startLock(), unix.LOCK_EX, nil)
	if err != nil {
		return false, err
	}
	defer lock.release()
	record, err := readJSON[launchRecord](d.launch())
	if err != nil || record == nil {
		return false, err
	}
	users, err := tryLock(d.usersLock(), unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer users.release()
	_ = os.Remove(d.last()) // nobody looks for it any more
	if !record.alive() {
		d.forget(record.PID)
		return false, nil
	}
	if err := record.end(ctx); err != nil {
		return false, err
	}
	d.forget(record.PID)
	return true, nil
}

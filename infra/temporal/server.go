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

// Server is a Temporal server that was found. As long as it is neither stopped
// nor left, this process counts as one of its users.
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

// Leave gives up this process's use of the server and keeps the server, also
// when later users stop it; Shutdown ends it. A detached run leaves its server.
func (s *Server) Leave(ctx context.Context) error {
	if s.dir == "" {
		return nil
	}
	defer s.use.release()
	lock, err := waitLock(ctx, s.dir.startLock(), unix.LOCK_EX, nil)
	if err != nil {
		return fmt.Errorf("keep temporal server at %s: %w", s.Address, err)
	}
	defer lock.release()
	record, err := readJSON[launchRecord](s.dir.launch())
	if err != nil || record == nil || record.PID != s.PID {
		return err // A server that is not ours stays anyway.
	}
	record.Keep = true
	return writeJSON(s.dir.launch(), record)
}

// Stop gives up this process's use of the server and stops the server, when it
// is one that durabench started, nobody else uses it and nobody left it to be
// kept. It tells whether the server was stopped. A context that ends cuts the
// server's own clean-up short and kills it; a caller that was interrupted should
// pass a fresh one.
func (s *Server) Stop(ctx context.Context) (stopped bool, err error) {
	if s.dir == "" {
		return false, nil
	}
	s.use.release()
	stopped, err = s.dir.stop(ctx, false)
	if err != nil {
		return stopped, fmt.Errorf("stop temporal server at %s: %w", s.Address, err)
	}
	return stopped, nil
}

// ErrInUse says that a server is used by another durabench process.
var ErrInUse = errors.New("another durabench process uses it")

// Shutdown stops the server of ours in dir (the default is home.Temporal()), kept
// or not, unless somebody uses it. It tells whether there was one.
func Shutdown(ctx context.Context, dir string) (stopped bool, err error) {
	d, err := directoryOf(dir)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(string(d)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	stopped, err = d.stop(ctx, true)
	if err != nil {
		return stopped, fmt.Errorf("stop temporal server of %s: %w", d, err)
	}
	return stopped, nil
}

// stop ends the server of the directory. With force, one that is to be kept is
// stopped too, and one in use is an error.
func (d directory) stop(ctx context.Context, force bool) (bool, error) {
	// Nobody must find the server and begin to use it while it goes down.
	lock, err := waitLock(ctx, d.startLock(), unix.LOCK_EX, nil)
	if err != nil {
		return false, err
	}
	defer lock.release()
	record, err := readJSON[launchRecord](d.launch())
	if err != nil || record == nil || (record.Keep && !force) {
		return false, err
	}
	users, err := tryLock(d.usersLock(), unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		if force {
			return false, ErrInUse
		}
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

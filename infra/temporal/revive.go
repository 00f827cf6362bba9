package temporal

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Revive starts the server again when it is one of ours and its process is gone, on its own data and at the address that it had: the clients
// and workers that are connected to it reconnect by themselves. Of several users that do it at once, one starts it. It tells whether the server was
// gone. A server that is not ours is somebody else's to start.
func (s *Server) Revive(ctx context.Context, o FindOptions) (revived bool, err error) {
	if s.dir == "" || s.lives(ctx) {
		return false, nil
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	p, err := choose(ctx, o)
	if err != nil {
		return false, err
	}
	lock, err := waitLock(ctx, s.dir.startLock(), unix.LOCK_EX, nil)
	if err != nil {
		return false, fmt.Errorf("start temporal server again: %w", err)
	}
	defer lock.release()
	if err := s.dir.forgetEnded(s.process); err != nil {
		return false, fmt.Errorf("start temporal server again: %w", err)
	}
	state, err := s.dir.running(ctx)
	if err != nil {
		return false, err
	}
	if state == nil {
		o.Progress(fmt.Sprintf("the temporal server, process %d, is gone; starting it again at %s", s.PID, s.Address))
		awaitFree(ctx, portOf(s.Address), portOfURL(s.UI))
		if state, err = s.dir.startAt(ctx, s.Namespace, p, portOf(s.Address), portOfURL(s.UI)); err != nil {
			return false, err
		}
	}
	if state.Address != s.Address {
		return false, fmt.Errorf("the temporal server was lost and is now at %s instead of %s, where this command looks for it: start the command again", state.Address, s.Address)
	}
	s.PID, s.process = state.PID, known(state.PID)
	return true, nil
}

// lives tells whether the server is still there. A number alone, of a process whose start is not known, may be another's by now: then it has to answer.
func (s *Server) lives(ctx context.Context) bool {
	if s.process.Birth == "" {
		return answers(ctx, s.Address, s.Namespace) == nil
	}
	return s.process.alive()
}

// forgetEnded removes the state of a server that has surely ended, and whose number may be another process's by now.
func (d directory) forgetEnded(id processID) error {
	if id.Birth == "" || id.alive() {
		return nil
	}
	state, err := readJSON[State](d.state())
	if err != nil || state == nil || state.PID != id.PID {
		return err
	}
	record, err := readJSON[launchRecord](d.launch())
	if err != nil || record != nil && record.PID == id.PID && record.alive() {
		return err // somebody has started it again, and it has got the number again
	}
	return os.Remove(d.state())
}

// portOf returns the port of an address, 0 for any when there is none.
func portOf(address string) int {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}

func portOfURL(text string) int {
	u, err := url.Parse(text)
	if err != nil {
		return 0
	}
	return portOf(u.Host)
}

package temporal

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"golang.org/x/sys/unix"
)

// Revive starts the server again when it is one of ours and its process is gone, on its own data and at the address that it had: the clients
// and workers that are connected to it reconnect by themselves. Of several users that do it at once, one starts it. It tells whether the server was
// gone. A server that is not ours is somebody else's to start.
func (s *Server) Revive(ctx context.Context, o FindOptions) (revived bool, err error) {
	if s.dir == "" || (processID{PID: s.PID}).alive() {
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
	s.PID = state.PID
	return true, nil
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

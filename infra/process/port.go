package process

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// errAddressInUse is found in the log of a server that lost its port to somebody else.
var errAddressInUse = errors.New("address already in use")

// choosePort returns the port asked for, the one that the server had before, or a free one.
func (s *server) choosePort() (int, error) {
	if s.Port != 0 {
		if err := free(s.Host, s.Port); err != nil {
			return 0, fmt.Errorf("start %s: %w: %w; choose another port, or 0 for any that is free", s.Engine, ErrPortTaken, err)
		}
		return s.Port, nil
	}
	if s.state.Port != 0 && free(s.Host, s.state.Port) == nil {
		return s.state.Port, nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(s.Host, "0"))
	if err != nil {
		return 0, fmt.Errorf("start %s: find a free port on %s: %w", s.Engine, s.Host, err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// free tells whether a port can be listened on.
func free(host string, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return listener.Close()
}

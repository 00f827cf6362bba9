package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// loopback is where the services that nobody outside talks to listen.
const loopback = "127.0.0.1"

// bindAddress turns the host a user gave into an address to bind. The server
// takes addresses only; "localhost" is common enough to be understood.
func bindAddress(host string) (string, error) {
	switch {
	case host == "", host == "localhost":
		return loopback, nil
	case net.ParseIP(host) == nil:
		return "", fmt.Errorf("host %q is not an IP address", host)
	}
	return host, nil
}

// reachable is the address at which a listener bound to host can be dialled
// from this machine.
func reachable(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if ip.To4() == nil {
			return "::1"
		}
		return loopback
	}
	return host
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// listen binds a port; what says whose it is, for the error.
func listen(host string, port int, what string) (net.Listener, error) {
	l, err := net.Listen("tcp", hostPort(host, port))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s port %d is already in use on %s: %w", what, port, host, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s port %d may not be bound on %s by this user: %w", what, port, host, err)
	}
	return nil, fmt.Errorf("bind %s port %d on %s: %w", what, port, host, err)
}

// pickPorts settles the ports that the server binds by itself: a wanted port is
// checked to be free, zero becomes a free one. All are held until all are found,
// so that no two are the same. The server binds them a moment later and takes no
// listener, so another process can still snatch one; the start then fails with
// the address in its error.
func pickPorts(wanted ...wantedPort) ([]int, error) {
	ports := make([]int, 0, len(wanted))
	for _, w := range wanted {
		l, err := listen(w.host, w.port, w.what)
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("bind %s port %d on %s: listener has no TCP address", w.what, w.port, w.host)
		}
		ports = append(ports, addr.Port)
	}
	return ports, nil
}

type wantedPort struct {
	what string
	host string
	port int
}

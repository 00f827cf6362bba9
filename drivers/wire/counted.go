package wire

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// Count returns the connection as one more in open, until it is closed.
func Count(conn net.Conn, open *atomic.Int64) *Counted {
	open.Add(1)
	return &Counted{Conn: conn, open: open}
}

// Counted is a connection that is counted while it is open.
type Counted struct {
	net.Conn
	open    *atomic.Int64
	closing sync.Once
}

// SyscallConn gives Direct and Pipe the socket, if the connection is nothing but one.
func (c *Counted) SyscallConn() (syscall.RawConn, error) {
	if plain, ok := c.Conn.(syscall.Conn); ok {
		return plain.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Close closes the connection.
func (c *Counted) Close() error {
	c.closing.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

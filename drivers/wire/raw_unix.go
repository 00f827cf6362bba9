//go:build unix

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
)

// rawConn returns the socket of a connection that is nothing but a socket; nil for others, such as TLS.
func rawConn(conn net.Conn) syscall.RawConn {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// receiveRaw reads as receive does, but tries to read only when there is something: net.Conn.Read always tries first and then waits, which
// costs a system call in vain for every round of operations. The runtime's poller tells of data once, when it comes. So a socket that gave
// less than was asked for is empty, and whatever comes after is told of; one that gave all is read again.
func receiveRaw(raw syscall.RawConn, received *buffer, answer func(*buffer) error) (failed error) {
	err := raw.Read(func(fd uintptr) (done bool) {
		for {
			room := received.room()
			n, err := syscall.Read(int(fd), room)
			switch {
			case err == syscall.EINTR:
				continue
			case err == syscall.EAGAIN:
				return false
			case err != nil:
				failed = os.NewSyscallError("read", err)
				return true
			case n == 0:
				failed = io.EOF
				return true
			}
			received.add(n)
			if failed = answer(received); failed != nil {
				return true
			}
			if n < len(room) {
				return false
			}
		}
	})
	if failed == nil {
		failed = err
	}
	return failed
}

//go:build !unix

package wire

import (
	"net"
	"syscall"
)

func rawConn(net.Conn) syscall.RawConn { return nil }

func receiveRaw(syscall.RawConn, *buffer, func(*buffer) error) error { return nil }

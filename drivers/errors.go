package drivers

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// ErrorClassOf returns the class that an operation's error is counted in; "" for nil. A driver's own classification (Classify) comes
// first, then the errors that mean the same on every engine.
func ErrorClassOf(err error) ErrorClass {
	if err == nil {
		return ""
	}
	var classified *Classified
	var network net.Error
	switch {
	case errors.As(err, &classified):
		return classified.Class
	case errors.Is(err, ErrNotFound):
		return ClassMiss
	case errors.Is(err, ErrExists):
		return ClassExists
	// Before the network errors: a cancelled context often surfaces as a connection that was closed under the operation.
	case errors.Is(err, context.Canceled):
		return ClassCancelled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ClassTimeout
	case errors.As(err, &network) && network.Timeout():
		return ClassTimeout
	case errors.As(err, &network), broken(err):
		return ClassConnection
	}
	return ClassOther
}

// broken tells that the connection is gone or was never there.
func broken(err error) bool {
	for _, sign := range []error{
		ErrClosed, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ENOTCONN,
	} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

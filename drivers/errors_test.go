package drivers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestErrorClassOf(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	connection.SetReadDeadline(time.Now().Add(-time.Second))
	_, late := connection.Read(make([]byte, 1))
	connection.Close()
	_, closed := connection.Write([]byte("x"))
	listener.Close()
	_, refused := net.Dial("tcp", address)
	expired, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()

	for _, test := range []struct {
		name string
		err  error
		want ErrorClass
	}{
		{"nil", nil, ""},
		{"not found", ErrNotFound, ClassMiss},
		{"wrapped not found", fmt.Errorf("read: %w", ErrNotFound), ClassMiss},
		{"exists", errors.Join(ErrExists), ClassExists},
		{"cancelled", cancelled.Err(), ClassCancelled},
		{"expired", expired.Err(), ClassTimeout},
		{"cancelled, seen as a closed connection", fmt.Errorf("%w: %w", context.Canceled, net.ErrClosed), ClassCancelled},
		{"deadline of a connection", late, ClassTimeout},
		{"deadline of a file", os.ErrDeadlineExceeded, ClassTimeout},
		{"refused", refused, ClassConnection},
		{"closed", closed, ClassConnection},
		{"reset", fmt.Errorf("read: %w", syscall.ECONNRESET), ClassConnection},
		{"broken pipe", &os.SyscallError{Syscall: "write", Err: syscall.EPIPE}, ClassConnection},
		{"end", io.EOF, ClassConnection},
		{"sudden end", fmt.Errorf("reply: %w", io.ErrUnexpectedEOF), ClassConnection},
		{"no such host", &net.DNSError{Err: "no such host", Name: "db"}, ClassConnection},
		{"use after close", ErrClosed, ClassConnection},
		{"classified", fmt.Errorf("update: %w", Classify(ClassConflict, errors.New("serialization failure"))), ClassConflict},
		{"classified before anything else", Classify(ClassConflict, context.DeadlineExceeded), ClassConflict},
		{"unknown", errors.New("odd"), ClassOther},
		{"unsupported", Unsupported{"no such thing"}, ClassOther},
	} {
		if got := ErrorClassOf(test.err); got != test.want {
			t.Errorf("%s: class %q of %v, want %q", test.name, got, test.err, test.want)
		}
	}
}

func TestCredentialsDoNotPrint(t *testing.T) {
	c := Credentials{User: "root", Password: "secret"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %s", c, c, c), c.LogValue().String(), fmt.Sprintf("%v", Config{Credentials: c}), fmt.Sprintf("%#v", c)} {
		if strings.Contains(text, "secret") {
			t.Errorf("the password prints: %s", text)
		}
	}
}

func TestRequireNamesBothTiers(t *testing.T) {
	if err := (Settings{Tier: TierOS}).Require(TierOS); err != nil {
		t.Error(err)
	}
	err := (Settings{Tier: TierProcess}).Require(TierOS)
	if err == nil || !strings.Contains(err.Error(), `"os"`) || !strings.Contains(err.Error(), `"process"`) {
		t.Errorf("error %v", err)
	}
}

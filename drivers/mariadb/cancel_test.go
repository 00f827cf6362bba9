package mariadb_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// A context that is over while a lost connection is opened anew is why the operation failed, whatever the connection says.
func TestCancelledWhileConnecting(t *testing.T) {
	config := small(t, 1, 1, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	between := newMiddle(t, strings.Split(strings.TrimPrefix(config.Endpoint, "mysql://"), "/")[0])
	config.Endpoint = "mysql://" + between.listener.Addr().String() + "/durabench"
	client := drivertest.Clients(t, drivertest.Open(t, engine(t), config), config)[0]
	var key corpus.KeyBuffer
	var record drivers.Record
	for n := range 100 {
		_ = client.Read(t.Context(), config.Corpus.Key(&key, 3), &record)
		between.cut()
		_ = client.Read(t.Context(), config.Corpus.Key(&key, 3), &record) // finds the connection closed
		ctx, cancel := context.WithCancel(t.Context())
		between.cancel.Store(&cancel)
		err := client.Read(ctx, config.Corpus.Key(&key, 3), &record)
		if class := drivers.ErrorClassOf(err); class != drivers.ClassCancelled {
			t.Fatalf("read %d: class %s of %v", n, class, err)
		}
		between.cancel.Store(nil)
		cancel()
	}
	if err := client.Read(t.Context(), config.Corpus.Key(&key, 3), &record); drivers.ErrorClassOf(err) != drivers.ClassMiss {
		t.Error(err)
	}
}

// middle passes on what client and server say. When the client prepares its first statement it cancels and cuts the connection, if it is told to.
type middle struct {
	listener net.Listener
	cancel   atomic.Pointer[context.CancelFunc]
	mu       sync.Mutex
	open     []net.Conn
}

func newMiddle(t *testing.T, server string) *middle {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(t, err)
	m := &middle{listener: listener}
	t.Cleanup(func() { _ = listener.Close(); m.cut() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			m.mu.Lock()
			m.open = append(m.open, client, to)
			m.mu.Unlock()
			go func() { _, _ = io.Copy(client, to); _ = client.Close() }()
			go m.pass(client, to)
		}
	}()
	return m
}

func (m *middle) pass(client, to net.Conn) {
	defer to.Close()
	data := make([]byte, 64<<10)
	for {
		n, err := client.Read(data)
		if err != nil {
			return
		}
		if cancel := m.cancel.Load(); cancel != nil && bytes.Contains(data[:n], []byte("INSERT INTO")) {
			(*cancel)()
			_ = client.Close()
			return
		}
		if _, err := to.Write(data[:n]); err != nil {
			return
		}
	}
}

// cut closes all connections.
func (m *middle) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, conn := range m.open {
		_ = conn.Close()
	}
	m.open = nil
}

package store

import (
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy is a line to a server on which things go wrong, each at every so many bytes of a connection, or never when that is 0.
type proxy struct {
	listener net.Listener
	target   string

	cutAnswer, flipAnswer, flipRequest atomic.Int64
	// faults is how many more times it may go wrong.
	faults    atomic.Int64
	onRequest func(p *proxy, piece []byte) bool // says of each piece of a request whether it is passed on
}

func startProxy(t *testing.T, target string, onRequest func(p *proxy, piece []byte) bool) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, onRequest: onRequest}
	p.faults.Store(1 << 40)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return p
}

func (p *proxy) endpoint() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() {
		defer server.Close()
		p.pass(server, client, nil, &p.flipRequest, p.onRequest)
	})
	both.Go(func() {
		defer client.Close()
		p.pass(client, server, &p.cutAnswer, &p.flipAnswer, nil)
	})
	both.Wait()
}

func (p *proxy) pass(to io.Writer, from io.Reader, cut, flip *atomic.Int64, passes func(*proxy, []byte) bool) {
	buffer := make([]byte, 32<<10)
	for at := int64(0); ; {
		n, err := from.Read(buffer)
		piece := buffer[:n]
		if i := place(flip, at); i < n && p.faults.Add(-1) >= 0 {
			piece[i] ^= 1
		}
		if cut != nil {
			if i := place(cut, at); i < n && p.faults.Add(-1) >= 0 {
				_, _ = to.Write(piece[:i])
				return
			}
		}
		if passes != nil && !passes(p, piece) {
			return
		}
		if _, err := to.Write(piece); err != nil {
			return
		}
		at += int64(n)
		if err != nil {
			return
		}
	}
}

// place returns where in a piece that begins at a position of the connection the next fault is; it may lie behind the piece's end.
func place(every *atomic.Int64, at int64) int {
	n := every.Load()
	if n == 0 {
		return math.MaxInt
	}
	return int(n - 1 - at%n)
}

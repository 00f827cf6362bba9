package store

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy is a line to a server on which things go wrong. Positions are bytes from the beginning of a connection, 0 is never.
type proxy struct {
	listener net.Listener
	target   string

	cutAnswer, flipAnswer, flipRequest atomic.Int64
	// faults is how many more times it may go wrong.
	faults atomic.Int64
	// sent counts the bytes of requests, and onSent is told after each addition.
	sent   atomic.Int64
	onSent func(total int64)

	group sync.WaitGroup
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, onSent: func(int64) {}}
	p.faults.Store(1 << 40)
	p.group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.group.Go(func() { p.serve(client) })
		}
	})
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
		p.pass(server, client, nil, &p.flipRequest, func(n int) { p.onSent(p.sent.Add(int64(n))) })
	})
	both.Go(func() {
		defer client.Close()
		p.pass(client, server, &p.cutAnswer, &p.flipAnswer, func(int) {})
	})
	both.Wait()
}

func (p *proxy) pass(to io.Writer, from io.Reader, cut, flip *atomic.Int64, passed func(int)) {
	buffer := make([]byte, 32<<10)
	for at := int64(0); ; {
		n, err := from.Read(buffer)
		piece := buffer[:n]
		if place := flip.Load(); place > at && place <= at+int64(n) && p.faults.Add(-1) >= 0 {
			piece[place-at-1] ^= 1
		}
		if cut != nil {
			if place := cut.Load(); place > at && place <= at+int64(n) && p.faults.Add(-1) >= 0 {
				_, _ = to.Write(piece[:place-at])
				return
			}
		}
		if _, err := to.Write(piece); err != nil {
			return
		}
		at += int64(n)
		passed(n)
		if err != nil {
			return
		}
	}
}

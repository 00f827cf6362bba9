package wire

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/durabench/durabench/drivers"
)

// Pipe carries all operations on one connection.
type Pipe struct {
	protocol Protocol
	seats    seats

	current atomic.Pointer[stream] // nil when there is none; set with mu held

	mu      sync.Mutex
	closed  bool
	dialing chan struct{} // closed when the one who dials is through; nil when nobody does

	streams sync.WaitGroup // goroutines of all streams
}

// NewPipe opens a connection that carries up to n operations at once.
func NewPipe(ctx context.Context, protocol Protocol, n int) (*Pipe, error) {
	p := &Pipe{protocol: protocol}
	p.seats.init(n)
	for i := range p.seats.all {
		seat := &p.seats.all[i]
		seat.interrupt = func() { seat.Call.leave(abandoned) }
	}
	if _, err := p.stream(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// Take returns a free seat.
func (p *Pipe) Take(ctx context.Context) (*Seat, error) { return p.seats.take(ctx) }

// Give hands a seat back.
func (p *Pipe) Give(seat *Seat) { p.seats.give(seat) }

// Do sends the seat's request and waits for its answer. When the context is over before, the answer is dropped as it comes, and the
// connection stays as good as it was.
func (p *Pipe) Do(ctx context.Context, seat *Seat) error {
	s, err := p.stream(ctx)
	if err != nil {
		return err
	}
	seat.guard(ctx)
	call := seat.Call
	call.phase.Store(waiting)
	if ctx.Err() != nil {
		seat.unguard()
		if call.phase.Swap(resting) == abandoned {
			<-call.done
		}
		return overError(ctx)
	}
	s.send(call)
	<-call.done
	if call.phase.Swap(resting) == abandoned {
		seat.unguard()
		seat.Call = newCall() // the reader keeps the old one
		return overError(ctx)
	}
	if call.lost != nil {
		return call.lost
	}
	return call.Err
}

// stream returns the stream to use, opening one when there is none. Callers that come while it is being opened wait for it.
func (p *Pipe) stream(ctx context.Context) (*stream, error) {
	for {
		if s := p.current.Load(); s != nil {
			return s, nil
		}
		p.mu.Lock()
		switch s, dialing := p.current.Load(), p.dialing; {
		case p.closed:
			p.mu.Unlock()
			return nil, drivers.ErrClosed
		case s != nil:
			p.mu.Unlock()
			return s, nil
		case dialing != nil:
			p.mu.Unlock()
			select {
			case <-dialing:
			case <-ctx.Done():
				return nil, overError(ctx)
			}
		default:
			p.dialing = make(chan struct{})
			p.mu.Unlock()
			return p.dial(ctx)
		}
	}
}

// dial opens a stream on behalf of all who wait for one.
func (p *Pipe) dial(ctx context.Context) (*stream, error) {
	conn, err := p.protocol.Dial(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dialing)
	p.dialing = nil
	switch {
	case err != nil && over(ctx):
		return nil, overError(ctx)
	case err != nil:
		return nil, lostError(err)
	case p.closed:
		_ = conn.Close()
		return nil, drivers.ErrClosed
	}
	s := newStream(p, conn)
	p.current.Store(s)
	p.streams.Go(s.read)
	p.streams.Go(s.write)
	return s, nil
}

// forget drops a lost stream, so that the next operation opens another.
func (p *Pipe) forget(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current.CompareAndSwap(s, nil)
}

// Close closes the connection.
func (p *Pipe) Close() error {
	p.mu.Lock()
	p.closed = true
	s := p.current.Load()
	p.mu.Unlock()
	if s != nil {
		s.lose(drivers.ErrClosed)
	}
	p.streams.Wait()
	p.seats.close()
	return nil
}

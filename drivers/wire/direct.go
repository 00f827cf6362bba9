package wire

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/durabench/durabench/drivers"
)

// dialsAtOnce is how many connections a Direct opens at the same time: enough to hide the round trips of signing in, too few to overrun a
// server's queue of connections.
const dialsAtOnce = 8

// Direct carries each operation on a connection of its own.
type Direct struct {
	protocol Protocol
	seats    seats
	closed   atomic.Bool

	mu       sync.Mutex     // orders Close and the start of cleaning
	cleaning sync.WaitGroup // connections that are being abandoned
}

// line is a connection and what was received on it.
type line struct {
	conn  atomic.Pointer[net.Conn] // nil when there is none; the holder of the seat sets it, Close reads it
	begun bool                     // part of an answer is taken
	buffer
}

// NewDirect opens n connections.
func NewDirect(ctx context.Context, protocol Protocol, n int) (*Direct, error) {
	d := &Direct{protocol: protocol}
	d.seats.init(n)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(dialsAtOnce)
	for i := range d.seats.all {
		d.seats.all[i].interrupt = d.seats.all[i].line.interrupt
		group.Go(func() error {
			conn, err := protocol.Dial(groupCtx)
			if err == nil {
				d.seats.all[i].line.conn.Store(&conn)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Take returns a free seat.
func (d *Direct) Take(ctx context.Context) (*Seat, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	return d.seats.take(ctx)
}

// Give hands a seat back.
func (d *Direct) Give(seat *Seat) { d.seats.give(seat) }

// Do carries the seat's operation on the seat's connection.
func (d *Direct) Do(ctx context.Context, seat *Seat) error {
	conn := seat.line.conn.Load()
	if conn == nil {
		var err error
		if conn, err = d.reconnect(ctx, seat); err != nil {
			return err
		}
	}
	if ran := seat.guard(ctx); ran {
		_ = (*conn).SetDeadline(time.Time{})
	}
	if ctx.Err() != nil {
		// The interrupt may have come before this operation was under way; nothing is sent, and the connection stays good.
		seat.unguard()
		_ = (*conn).SetDeadline(time.Time{})
		return overError(ctx)
	}
	err := d.exchange(*conn, seat)
	if err == nil {
		return seat.Err
	}
	return d.lose(ctx, *conn, seat, err)
}

// exchange writes the request and reads its answer.
func (d *Direct) exchange(conn net.Conn, seat *Seat) error {
	// What came unasked since the last operation must not be taken for this one's answer.
	seat.line.begun = false
	if _, err := d.receive(conn, seat, nil); err != nil {
		return err
	}
	if _, err := conn.Write(seat.Request); err != nil {
		return err
	}
	for {
		if done, err := d.receive(conn, seat, seat.Call); done || err != nil {
			return err
		}
		if err := seat.line.fill(conn); err != nil {
			return err
		}
	}
}

// receive takes from what was received until the answer to call is complete or too little is there to go on. A nil call waits for no answer.
func (d *Direct) receive(conn net.Conn, seat *Seat, call *Call) (done bool, err error) {
	for len(seat.line.received()) > 0 {
		owner := call
		if !seat.line.begun {
			if taken, err := d.unasked(conn, seat); err != nil {
				return false, err
			} else if taken > 0 {
				continue
			}
			if d.protocol.Owner != nil {
				id, known, err := d.protocol.Owner(seat.line.received())
				if !known || err != nil {
					return false, err
				}
				if call != nil && id != call.ID {
					owner = nil
				}
			}
		}
		taken, done, err := d.protocol.Parse(owner, seat.line.received())
		seat.line.take(taken)
		if done || err != nil || taken == 0 {
			return done, err
		}
		seat.line.begun = owner != nil
	}
	return false, nil
}

// unasked takes what is no answer from the front of what was received, and replies to it.
func (d *Direct) unasked(conn net.Conn, seat *Seat) (taken int, err error) {
	if d.protocol.Unasked == nil {
		return 0, nil
	}
	taken, reply, err := d.protocol.Unasked(seat.line.received())
	seat.line.take(taken)
	if err == nil && len(reply) > 0 {
		_, err = conn.Write(reply)
	}
	return taken, err
}

// lose closes a connection that failed, or that still has the answer of a cancelled operation before it, and returns the operation's error.
func (d *Direct) lose(ctx context.Context, conn net.Conn, seat *Seat, err error) error {
	seat.unguard()
	seat.line.conn.Store(nil)
	seat.line.buffer = buffer{}
	interrupted := ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded)
	if !interrupted || !d.abandon(conn) {
		_ = conn.Close()
	}
	switch {
	case interrupted:
		return overError(ctx)
	case d.closed.Load():
		return drivers.ErrClosed
	}
	return lostError(err)
}

// abandon closes a connection behind the caller's back, when there is more to do than to close it.
func (d *Direct) abandon(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.protocol.Abandon == nil || d.closed.Load() {
		return false
	}
	d.cleaning.Go(func() {
		d.protocol.Abandon(conn)
		_ = conn.Close()
	})
	return true
}

// reconnect opens the seat's connection anew.
func (d *Direct) reconnect(ctx context.Context, seat *Seat) (*net.Conn, error) {
	conn, err := d.protocol.Dial(ctx)
	if err != nil {
		if over(ctx) {
			return nil, overError(ctx)
		}
		return nil, lostError(err)
	}
	seat.line.conn.Store(&conn)
	if d.closed.Load() {
		seat.line.conn.Store(nil)
		_ = conn.Close()
		return nil, drivers.ErrClosed
	}
	return &conn, nil
}

// interrupt makes an operation that waits on the line return at once.
func (l *line) interrupt() {
	if conn := l.conn.Load(); conn != nil {
		_ = (*conn).SetDeadline(time.Unix(1, 0))
	}
}

// Close closes all connections.
func (d *Direct) Close() error {
	d.mu.Lock()
	closed := d.closed.Swap(true)
	d.mu.Unlock()
	if closed {
		return nil
	}
	for i := range d.seats.all {
		seat := &d.seats.all[i]
		if !seat.taken.CompareAndSwap(false, true) {
			// An operation holds it: closing its connection makes it fail, and it cleans up behind itself.
			if conn := seat.line.conn.Load(); conn != nil {
				_ = (*conn).Close()
			}
			continue
		}
		seat.unguard()
		if conn := seat.line.conn.Swap(nil); conn != nil {
			_ = (*conn).Close()
		}
	}
	d.cleaning.Wait()
	return nil
}

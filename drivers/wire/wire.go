// Package wire carries operations over connections for drivers that speak their database's protocol themselves. A driver gives a
// Protocol: how to connect, and how to read an answer. The package gives two ways to have `threads` operations in flight per
// client, between which a driver chooses by an option:
//
//   - Direct: a connection per operation in flight. The caller itself writes its request and reads its answer; there is no other goroutine.
//   - Pipe: one connection. Requests go out as soon as they are there, several in one write when several are there, and a goroutine gives
//     each answer to its caller: in order, or in any order where the protocol says whose it is.
//
// Both hold no lock while anything is waited for. Both allocate nothing per operation: an operation has a Seat, with memory that is used
// again. Neither retries anything: a lost connection fails every operation on it with class connection, and the next operation
// opens a new one, within its own time.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/durabench/durabench/drivers"
)

// Protocol is what a driver knows of its database's protocol.
type Protocol struct {
	// Dial opens a connection that is ready for operations: authenticated, set up, statements prepared, nothing of an answer left to read.
	Dial func(ctx context.Context) (net.Conn, error)
	// Parse reads what it can of the answer to call from the front of data, which holds all that was received and not taken yet. It
	// returns how many bytes it took and whether the answer is complete. What the server says of the operation goes into the call,
	// errors too. A returned error tells that the connection is of no use any more. A nil call is nobody's: data came unasked.
	Parse func(call *Call, data []byte) (taken int, done bool, err error)
	// Owner is set by a protocol whose server answers in any order. It returns the ID of the call whose answer begins at the front of data, with
	// known false as long as too little of it has come to tell. Parse then gets the answer, in as many pieces as it likes.
	Owner func(data []byte) (id uint64, known bool, err error)
	// Unasked is set by a protocol in which something may come that is no answer. It is asked at the beginning of each answer, takes what
	// is none from the front of data, and returns what is to be sent in reply, if anything is.
	Unasked func(data []byte) (taken int, reply []byte, err error)
	// Abandon, if set, is called with a connection that is about to be closed while the server works on an operation that was cancelled.
	Abandon func(net.Conn)
}

// Call is a request and its answer.
type Call struct {
	// ID tells the call from all others of the client that are or were in flight; never 0. Protocols with Owner put it in the request.
	ID uint64
	// Request is what is sent.
	Request []byte
	// Kind is the driver's own name for the operation, for Parse.
	Kind int
	// Record receives a row.
	Record drivers.Record
	// Answer receives many: the caller's own, lent to the call. On a Pipe it stays with the call when the operation is over before its answer
	// has come.
	Answer drivers.Answer
	// Rows is how many rows the server says it concerned.
	Rows int64
	// Left is for Parse to remember how many bytes of the answer it has yet to take.
	Left int
	// Err is the server's refusal of the operation. The connection is as good as before.
	Err error

	lost error // why there is no answer
	state
}

// reset readies the call for another operation and keeps its memory.
func (c *Call) reset() {
	c.Request, c.Kind, c.Rows, c.Left, c.Err, c.lost = c.Request[:0], 0, 0, 0, nil, nil
	c.Record.Reset()
	c.Answer = drivers.Answer{}
}

// Lend gives the call an answer's memory to receive in.
func (c *Call) Lend(answer *drivers.Answer) {
	answer.Reset()
	c.Answer = *answer
}

// Recall takes back what was lent. Of an operation that was abandoned nothing comes back: the answer is then empty, and keeps what it was asked.
func (s *Seat) Recall(answer *drivers.Answer) {
	keep, each := answer.Keep, answer.Each
	*answer, s.Answer = s.Answer, drivers.Answer{}
	answer.Keep, answer.Each = keep, each
}

// Link carries the operations of one client.
type Link interface {
	// Take returns a free seat whose call is empty. There are as many as the client has threads; when all are taken it waits for one.
	Take(ctx context.Context) (*Seat, error)
	// Do sends the seat's request and waits for its answer, which is then in the seat's call. It returns the call's Err, or why there is
	// no answer.
	Do(ctx context.Context, seat *Seat) error
	// Give hands the seat back.
	Give(seat *Seat)
	// Close closes the connections; operations in flight fail.
	Close() error
}

// lostError tells that a connection broke under an operation. Its class is connection.
func lostError(err error) error {
	var classified *drivers.Classified
	if errors.As(err, &classified) {
		return err
	}
	return drivers.Classify(drivers.ClassConnection, fmt.Errorf("connection lost: %w", err))
}

// over tells whether the context is over. Dialling stops at a deadline by a timer of its own, which may run before the context's.
func over(ctx context.Context) bool {
	if deadline, set := ctx.Deadline(); set && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// overError is the error of an operation whose context is over.
func overError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

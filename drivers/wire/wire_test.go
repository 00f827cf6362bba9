package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durabench/durabench/drivers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The protocol of these tests: a message is its length in four bytes and so many bytes. A server answers each with the same.

func message(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func parseMessage(call *Call, data []byte) (taken int, done bool, err error) {
	if len(data) < 4 {
		return 0, false, nil
	}
	n := int(binary.BigEndian.Uint32(data))
	if len(data) < 4+n {
		return 0, false, nil
	}
	if call == nil {
		return 4 + n, false, errors.New("nobody asked")
	}
	if bytes.HasPrefix(data[4:4+n], []byte("refuse")) {
		call.Err = errors.New("refused")
	}
	call.Record.Bytes = append(call.Record.Bytes, data[4:4+n]...)
	return 4 + n, true, nil
}

// peer is a server whose connections run serve.
type peer struct {
	listener net.Listener
	dials    atomic.Int64
	mu       sync.Mutex
	conns    []net.Conn
	accepted sync.WaitGroup // the accepting goroutine
	group    sync.WaitGroup // those of the connections
}

func newPeer(t testing.TB, serve func(net.Conn) error) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{listener: listener}
	p.accepted.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, conn)
			p.mu.Unlock()
			p.group.Go(func() {
				_ = serve(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		p.stop()
		p.group.Wait()
	})
	return p
}

// stop closes all connections and takes no new ones.
func (p *peer) stop() {
	_ = p.listener.Close()
	p.accepted.Wait()
	p.cut()
}

// cut closes all connections.
func (p *peer) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

func (p *peer) protocol() Protocol {
	return Protocol{Parse: parseMessage, Dial: func(ctx context.Context) (net.Conn, error) {
		p.dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", p.listener.Addr().String())
	}}
}

// echo answers one message after another, as a server does that has no room for answers it cannot send: while it writes it does not read.
func echo(conn net.Conn) error {
	for {
		m, err := receive(conn)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(m[4:], []byte("slow")) {
			time.Sleep(100 * time.Millisecond)
		}
		if _, err := conn.Write(m); err != nil {
			return err
		}
	}
}

func receive(conn net.Conn) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	m := append(head[:], make([]byte, binary.BigEndian.Uint32(head[:]))...)
	_, err := io.ReadFull(conn, m[4:])
	return m, err
}

// links runs a test on both ways.
func links(t *testing.T, serve func(net.Conn) error, n int, test func(*testing.T, Link, *peer)) {
	t.Helper()
	for name, open := range map[string]func(context.Context, Protocol, int) (Link, error){
		"Direct": func(ctx context.Context, p Protocol, n int) (Link, error) { return NewDirect(ctx, p, n) },
		"Pipe":   func(ctx context.Context, p Protocol, n int) (Link, error) { return NewPipe(ctx, p, n) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, serve)
			link, err := open(t.Context(), p.protocol(), n)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := link.Close(); err != nil {
					t.Error(err)
				}
			}()
			test(t, link, p)
		})
	}
}

// ask does one operation and wants its payload back.
func ask(ctx context.Context, link Link, payload []byte) error {
	seat, err := link.Take(ctx)
	if err != nil {
		return err
	}
	defer link.Give(seat)
	seat.Request = append(seat.Request, message(payload)...)
	if err := link.Do(ctx, seat); err != nil {
		return err
	}
	if !bytes.Equal(seat.Record.Bytes, payload) {
		return fmt.Errorf("answer of %d bytes, %.20q…, to a question of %d bytes, %.20q…", len(seat.Record.Bytes), seat.Record.Bytes, len(payload), payload)
	}
	return nil
}

func TestEachCallerGetsItsOwnAnswer(t *testing.T) {
	const workers, each = 24, 60
	links(t, echo, workers, func(t *testing.T, link Link, _ *peer) {
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(worker)))
				for n := range each {
					size := random.IntN(50)
					if random.IntN(10) == 0 {
						size = random.IntN(300_000) // more than both ends have room for
					}
					payload := bytes.Repeat(fmt.Appendf(nil, "%d/%d ", worker, n), size/5+1)
					if err := ask(t.Context(), link, payload); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	})
}

func TestARefusalConcernsOneOperation(t *testing.T) {
	links(t, echo, 2, func(t *testing.T, link Link, p *peer) {
		dials := p.dials.Load()
		if err := ask(t.Context(), link, []byte("refuse me")); err == nil || err.Error() != "refused" {
			t.Errorf("error %v", err)
		}
		if err := ask(t.Context(), link, []byte("a")); err != nil {
			t.Error(err)
		}
		if p.dials.Load() != dials {
			t.Error("a refusal made a new connection")
		}
	})
}

func TestACancelledOperationReturnsAtOnceAndHarmsNoOther(t *testing.T) {
	links(t, echo, 3, func(t *testing.T, link Link, p *peer) {
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for n := range 20 {
					if err := ask(t.Context(), link, fmt.Appendf(nil, "other %d", n)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			begin := time.Now()
			err := ask(ctx, link, []byte("slow one"))
			cancel()
			if class := drivers.ErrorClassOf(err); class != drivers.ClassTimeout {
				t.Errorf("class %q of %v", class, err)
			}
			if took := time.Since(begin); took > 80*time.Millisecond {
				t.Errorf("came back after %v", took)
			}
		}
		group.Wait()
		if _, pipe := link.(*Pipe); pipe && p.dials.Load() != 1 {
			t.Errorf("a pipe dialled %d times", p.dials.Load())
		}
	})
}

// Contexts that are over between two operations must not spoil the next.
func TestAContextThatIsOverBetweenOperationsIsForgotten(t *testing.T) {
	links(t, echo, 1, func(t *testing.T, link Link, p *peer) {
		dials := p.dials.Load()
		for n := range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			if err := ask(ctx, link, fmt.Appendf(nil, "question %d", n)); err != nil {
				t.Fatal(err)
			}
			if n%2 == 0 {
				cancel()
				if class := drivers.ErrorClassOf(ask(ctx, link, nil)); class != drivers.ClassCancelled {
					t.Fatalf("class %q with a context that is over", class)
				}
			} else {
				time.AfterFunc(time.Duration(n)*time.Microsecond, cancel)
			}
		}
		if p.dials.Load() != dials {
			t.Error("connections were lost")
		}
	})
}

func TestALostConnectionFailsWhatIsInFlightAndIsReplaced(t *testing.T) {
	const workers = 8
	links(t, echo, workers, func(t *testing.T, link Link, p *peer) {
		var group sync.WaitGroup
		var failed atomic.Int64
		for range workers {
			group.Go(func() {
				err := ask(t.Context(), link, []byte("slow one"))
				if err == nil {
					return // the first of a pipe may have been answered
				}
				failed.Add(1)
				if class := drivers.ErrorClassOf(err); class != drivers.ClassConnection {
					t.Errorf("class %q of %v", class, err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		p.cut()
		group.Wait()
		if failed.Load() == 0 {
			t.Error("no operation failed")
		}
		// Connections that broke unnoticed fail one operation each at most.
		for range workers {
			_ = ask(t.Context(), link, []byte("x"))
		}
		if err := ask(t.Context(), link, []byte("and on")); err != nil {
			t.Error(err)
		}
	})
}

func TestAServerThatIsGoneIsAnErrorOfItsClass(t *testing.T) {
	links(t, echo, 2, func(t *testing.T, link Link, p *peer) {
		p.stop()
		for range 4 {
			begin := time.Now()
			err := ask(t.Context(), link, []byte("x"))
			if class := drivers.ErrorClassOf(err); class != drivers.ClassConnection || time.Since(begin) > time.Second {
				t.Errorf("class %q of %v after %v", class, err, time.Since(begin))
			}
		}
	})
}

func TestNonsenseFromTheServerEndsTheConnection(t *testing.T) {
	links(t, func(conn net.Conn) error {
		if _, err := receive(conn); err != nil {
			return err
		}
		_, err := conn.Write(append(message([]byte("answer")), message([]byte("one too many"))...))
		_, _ = receive(conn)
		return err
	}, 1, func(t *testing.T, link Link, _ *peer) {
		if err := ask(t.Context(), link, []byte("answer")); err != nil {
			t.Error(err)
		}
		// It must not be taken for the answer to the next question.
		if err := ask(t.Context(), link, []byte("one too many, is it?")); err == nil {
			t.Error("somebody else's answer was taken")
		}
	})
}

func TestCloseEndsOperationsInFlight(t *testing.T) {
	links(t, echo, 2, func(t *testing.T, link Link, _ *peer) {
		failed := make(chan error, 1)
		go func() { failed <- ask(t.Context(), link, []byte("slow one")) }()
		time.Sleep(20 * time.Millisecond)
		begin := time.Now()
		if err := link.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; !errors.Is(err, drivers.ErrClosed) || time.Since(begin) > 70*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if err := ask(t.Context(), link, nil); !errors.Is(err, drivers.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	})
}

func TestMoreCallersThanSeatsTakeTurns(t *testing.T) {
	links(t, echo, 2, func(t *testing.T, link Link, _ *peer) {
		var group sync.WaitGroup
		for worker := range 20 {
			group.Go(func() {
				for n := range 50 {
					if err := ask(t.Context(), link, fmt.Appendf(nil, "%d %d", worker, n)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		var taken []*Seat
		for range 2 {
			seat, err := link.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, seat)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := link.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("take of a third seat: %v", err)
		}
		for _, seat := range taken {
			link.Give(seat)
		}
	})
}

func TestAnAbandonedConnectionIsAnnounced(t *testing.T) {
	p := newPeer(t, echo)
	protocol := p.protocol()
	var abandoned atomic.Int64
	protocol.Abandon = func(net.Conn) { abandoned.Add(1) }
	link, err := NewDirect(t.Context(), protocol, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_ = ask(ctx, link, []byte("slow one"))
	_ = link.Close()
	if abandoned.Load() != 1 {
		t.Errorf("%d connections were abandoned", abandoned.Load())
	}
}

func TestADialThatFailsOpensNothing(t *testing.T) {
	p := newPeer(t, echo)
	protocol := p.protocol()
	dial, dials := protocol.Dial, atomic.Int64{}
	protocol.Dial = func(ctx context.Context) (net.Conn, error) {
		if dials.Add(1) == 3 {
			return nil, errors.New("no more")
		}
		return dial(ctx)
	}
	if _, err := NewDirect(t.Context(), protocol, 5); err == nil || err.Error() != "no more" {
		t.Errorf("error %v", err)
	}
}

func TestAnOperationAllocatesNothing(t *testing.T) {
	links(t, echo, 1, func(t *testing.T, link Link, _ *peer) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		request := message(bytes.Repeat([]byte("x"), 1000))
		var record drivers.Record
		operation := func() {
			seat, err := link.Take(ctx)
			if err != nil {
				t.Fatal(err)
			}
			seat.Request = append(seat.Request, request...)
			if err := link.Do(ctx, seat); err != nil {
				t.Fatal(err)
			}
			record, seat.Record = seat.Record, record
			link.Give(seat)
		}
		operation()
		// The peer in this process allocates three times per message.
		if allocations := testing.AllocsPerRun(200, operation); allocations > 3.5 {
			t.Errorf("%v allocations per operation, with those of the peer", allocations)
		}
	})
}

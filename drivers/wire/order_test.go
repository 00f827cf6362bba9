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
	"testing"
	"time"

	"github.com/durabench/durabench/drivers"
)

// The protocol of these tests: a message is its length and an ID, eight bytes each, and so many bytes. The ID 0 is the server's own: a ping,
// which wants a message of ID 0 in return. Answers come in any order.

func tagged(id uint64, payload []byte) []byte {
	m := binary.BigEndian.AppendUint64(nil, uint64(len(payload)))
	return append(binary.BigEndian.AppendUint64(m, id), payload...)
}

func anyOrder(p *peer) Protocol {
	protocol := p.protocol()
	protocol.Owner = func(data []byte) (id uint64, known bool, err error) {
		if len(data) < 16 {
			return 0, false, nil
		}
		return binary.BigEndian.Uint64(data[8:]), true, nil
	}
	protocol.Unasked = func(data []byte) (taken int, reply []byte, err error) {
		if len(data) < 16 || binary.BigEndian.Uint64(data[8:]) != 0 {
			return 0, nil, nil
		}
		return 16, tagged(0, nil), nil
	}
	protocol.Parse = func(call *Call, data []byte) (taken int, done bool, err error) {
		if call == nil {
			return 0, false, errors.New("nobody asked")
		}
		if call.Left == 0 {
			if len(data) < 16 {
				return 0, false, nil
			}
			if call.ID != binary.BigEndian.Uint64(data[8:]) {
				return 0, false, errors.New("another's answer")
			}
			call.Left, taken = int(binary.BigEndian.Uint64(data)), 16
		}
		piece := data[taken:min(len(data), taken+call.Left)]
		call.Record.Bytes = append(call.Record.Bytes, piece...)
		call.Left -= len(piece)
		return taken + len(piece), call.Left == 0, nil
	}
	return protocol
}

// shuffle answers each message after a random time, a slow one after 200 ms, with pings in between. It fails the test when they are not answered.
func shuffle(t *testing.T) func(net.Conn) error {
	return func(conn net.Conn) error {
		var out sync.Mutex
		var answers sync.WaitGroup
		defer answers.Wait()
		pings, pongs := 0, 0
		for {
			head := make([]byte, 16)
			if _, err := io.ReadFull(conn, head); err != nil {
				if pongs+1 < pings { // the last one may be on its way
					t.Errorf("%d of %d pings were answered", pongs, pings)
				}
				return err
			}
			id, payload := binary.BigEndian.Uint64(head[8:]), make([]byte, binary.BigEndian.Uint64(head))
			if _, err := io.ReadFull(conn, payload); err != nil {
				return err
			}
			if id == 0 {
				pongs++
				continue
			}
			ping := pings == pongs
			if ping {
				pings++
			}
			answers.Go(func() {
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				if bytes.HasPrefix(payload, []byte("slow")) {
					time.Sleep(200 * time.Millisecond)
				}
				out.Lock()
				defer out.Unlock()
				_, _ = conn.Write(tagged(id, payload))
				if ping {
					_, _ = conn.Write(tagged(0, nil))
				}
			})
		}
	}
}

func askTagged(ctx context.Context, link Link, payload []byte) error {
	seat, err := link.Take(ctx)
	if err != nil {
		return err
	}
	defer link.Give(seat)
	seat.Request = append(seat.Request, tagged(seat.ID, payload)...)
	if err := link.Do(ctx, seat); err != nil {
		return err
	}
	if !bytes.Equal(seat.Record.Bytes, payload) {
		return fmt.Errorf("answer %.20q… to question %.20q…", seat.Record.Bytes, payload)
	}
	return nil
}

// eitherOrder runs a test on both ways to carry a protocol without order.
func eitherOrder(t *testing.T, n int, serve func(net.Conn) error, test func(*testing.T, Link, *peer)) {
	for _, pipe := range []bool{true, false} {
		t.Run(map[bool]string{true: "Pipe", false: "Direct"}[pipe], func(t *testing.T) {
			p := newPeer(t, serve)
			var link Link
			var err error
			if pipe {
				link, err = NewPipe(t.Context(), anyOrder(p), n)
			} else {
				link, err = NewDirect(t.Context(), anyOrder(p), n)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer link.Close()
			test(t, link, p)
		})
	}
}

func TestAnswersInAnyOrderFindTheirCallers(t *testing.T) {
	const workers, each = 24, 40
	eitherOrder(t, workers, shuffle(t), func(t *testing.T, link Link, p *peer) {
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				for n := range each {
					size := 1 + rand.IntN(50)
					if n%10 == 0 {
						size += rand.IntN(200_000)
					}
					if err := askTagged(t.Context(), link, bytes.Repeat(fmt.Appendf(nil, "%d/%d ", worker, n), size/5+1)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		if _, pipe := link.(*Pipe); pipe && p.dials.Load() != 1 {
			t.Errorf("a pipe dialled %d times", p.dials.Load())
		}
	})
}

// Answers that come after their callers gave up must be dropped, and hold up nobody.
func TestLateAnswersAreDropped(t *testing.T) {
	const workers = 16
	eitherOrder(t, workers, shuffle(t), func(t *testing.T, link Link, p *peer) {
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				for n := range 60 {
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
					err := askTagged(ctx, link, fmt.Appendf(nil, "slow %d/%d", worker, n))
					cancel()
					if class := drivers.ErrorClassOf(err); class != drivers.ClassTimeout {
						t.Errorf("class %q of %v", class, err)
					}
					if n%20 == 0 {
						if err := askTagged(t.Context(), link, fmt.Appendf(nil, "quick %d/%d", worker, n)); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Wait()
		if _, pipe := link.(*Pipe); pipe && p.dials.Load() != 1 {
			t.Errorf("a pipe dialled %d times", p.dials.Load())
		}
	})
}

// Of a message that nobody asked for, half may be there when an operation begins, and the rest only before its answer.
func TestMessageCutByTheNextOperation(t *testing.T) {
	ping := tagged(0, nil)
	for cut := 1; cut < len(ping); cut += 5 {
		serve := func(conn net.Conn) error {
			for first := true; ; first = false {
				head := make([]byte, 16)
				if _, err := io.ReadFull(conn, head); err != nil {
					return err
				}
				id, payload := binary.BigEndian.Uint64(head[8:]), make([]byte, binary.BigEndian.Uint64(head))
				if _, err := io.ReadFull(conn, payload); err != nil {
					return err
				}
				if id == 0 {
					continue
				}
				var message []byte
				if !first {
					message = append(message, ping[cut:]...)
				}
				message = append(append(message, tagged(id, payload)...), ping[:cut]...)
				if _, err := conn.Write(message); err != nil {
					return err
				}
			}
		}
		eitherOrder(t, 1, serve, func(t *testing.T, link Link, p *peer) {
			for n := range 5 {
				if err := askTagged(t.Context(), link, fmt.Appendf(nil, "question %d", n)); err != nil {
					t.Fatalf("cut after %d bytes: %v", cut, err)
				}
			}
			if p.dials.Load() != 1 {
				t.Errorf("cut after %d bytes: %d connections", cut, p.dials.Load())
			}
		})
	}
}

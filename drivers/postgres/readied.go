package postgres

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"

	"github.com/durabench/durabench/drivers/wire"
)

// parsed is a statement that every connection of a client prepares beside the operations'.
type parsed struct {
	name  string // given by readied
	what  string // for errors
	sql   string
	types []uint32 // of the parameters; 0 where the server tells
	bind  []byte   // the message that binds its literals; nil when it is not to be settled so
}

// customPlans is how often PostgreSQL plans a prepared statement for its literals before it thinks of a plan for any (choose_custom_plan in plancache.c).
const customPlans = 5

// readied are those of a client: a connection that is opened anew prepares them too.
type readied struct {
	mu   sync.Mutex
	list []*parsed
	made int
}

func (r *readied) all() []*parsed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// add names the statement and lists it.
func (r *readied) add(one *parsed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	one.name = "s" + strconv.Itoa(r.made)
	r.list = append(r.list, one)
}

func (r *readied) forget(one *parsed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(other *parsed) bool { return other == one })
}

// duplicateStatement is the code of a statement that a connection has prepared already, when it was opened.
const duplicateStatement = "42P05"

// prepare sends the statement over each connection for operations and scans. Where it has literals it is planned there as often as PostgreSQL does it before it
// settles on a plan, which it does when parameters are bound, so that all executions have one plan and none is run for that.
func (c *client) prepare(ctx context.Context, s *parsed) error {
	return c.prepareOn(ctx, c.link, s)
}

func (c *client) prepareOn(ctx context.Context, link wire.Link, s *parsed) error {
	parse := binary.BigEndian.AppendUint16([]byte(s.name+"\x00"+s.sql+"\x00"), uint16(len(s.types)))
	for _, oid := range s.types {
		parse = binary.BigEndian.AppendUint32(parse, oid)
	}
	return c.everySeat(ctx, link, func(seat *wire.Seat) error {
		seat.Request = appendMessage(seat.Request, 'P', string(parse))
		seat.Request = appendMessage(seat.Request, 'S', "")
		if err := link.Do(ctx, seat); err != nil && codeOf(err) != duplicateStatement {
			return err
		}
		if s.bind == nil {
			return nil
		}
		seat.Request, seat.Err = seat.Request[:0], nil
		for range customPlans {
			seat.Request = append(seat.Request, s.bind...)
		}
		seat.Request = appendMessage(seat.Request, 'S', "")
		return link.Do(ctx, seat)
	})
}

// everySeat runs f with a seat of each connection of the link. It waits for those that are in use.
func (c *client) everySeat(ctx context.Context, link wire.Link, f func(*wire.Seat) error) error {
	c.preparing.Lock() // two that gather seats at the same time would wait for each other
	defer c.preparing.Unlock()
	seats := 1
	if !c.piped {
		seats = max(1, c.database.load.Threads)
	}
	var taken []*wire.Seat
	defer func() {
		for _, seat := range taken {
			link.Give(seat)
		}
	}()
	for range seats {
		seat, err := link.Take(ctx)
		if err != nil {
			return err
		}
		taken = append(taken, seat)
	}
	for _, seat := range taken {
		if err := f(seat); err != nil {
			return err
		}
	}
	return nil
}

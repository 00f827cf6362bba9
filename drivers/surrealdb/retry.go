package surrealdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// The option that says how often an operation is tried again.
const (
	optionRetries = "retries"
	mostRetries   = 1000
)

// retriesOption is its declaration. Transactions are optimistic: of two that write one record, or one page of an index, at the same time, the
// server refuses one and says that it can be retried, which every program on SurrealDB has to do.
var retriesOption = drivers.Option{
	Name:   optionRetries,
	Values: []string{"16", "0"},
	Check: func(value string) error {
		if n, err := strconv.Atoi(value); err != nil || n < 0 || n > mostRetries {
			return fmt.Errorf("it is a number from 0 to %d", mostRetries)
		}
		return nil
	},
	Help: "how often a write is sent again, within its own service time, when the server refuses its transaction as conflicting with another; " +
		"0 makes each conflict a failed operation. What was sent again is counted in the result",
}

// retries reads the option, which was checked.
func retries(options map[string]string) int {
	n, _ := strconv.Atoi(engine.Option(options, optionRetries))
	return n
}

// firstPause bounds the pause before the first repetition; each further one may be twice as long, up to longestPause. Pauses are of random length, so that
// those who met do not meet again.
const firstPause, longestPause = 100 * time.Microsecond, 20 * time.Millisecond

// again tells whether the seat's request is to be sent once more, after so many tries, and readies the seat for it.
func (c *client) again(ctx context.Context, seat *wire.Seat, try int, err error) bool {
	if err == nil || try >= c.database.retries || drivers.ErrorClassOf(err) != drivers.ClassConflict {
		return false
	}
	pause := time.NewTimer(rand.N(min(firstPause<<min(try, 16), longestPause)))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return false
	}
	seat.Record.Bytes = seat.Record.Bytes[:0]
	c.database.repeated.Add(1)
	return true
}

// Retries returns how many requests were sent again.
func (d *database) Retries() int64 { return d.repeated.Load() }

var _ drivers.Retrier = (*database)(nil)

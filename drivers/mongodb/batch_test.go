package mongodb_test

import (
	"sync"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/drivers/mongodb"
)

// commands counts the commands of a client by their names.
type commands struct {
	sync.Mutex
	names map[string]int
}

func (c *commands) add(name string) {
	c.Lock()
	defer c.Unlock()
	c.names[name]++
}

// during returns the commands of f.
func (c *commands) during(f func()) map[string]int {
	c.Lock()
	c.names = make(map[string]int)
	c.Unlock()
	f()
	c.Lock()
	defer c.Unlock()
	return c.names
}

// A batch or a range that finds all rows has them and the end of the cursor in the first answer. A request for more is counted also when there is no more.
func TestRequestsAreWhatTheServerIsAsked(t *testing.T) {
	config := small(t, 1, 1, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	seen := &commands{names: make(map[string]int)}
	mongodb.Monitor(database, seen.add)
	client := drivertest.Clients(t, database, config)[0]
	const rows = 20
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, config.Corpus, 0, rows, 0))
	var keys []corpus.Key
	for index := range uint64(rows) {
		var buffer corpus.KeyBuffer
		keys = append(keys, config.Corpus.Key(&buffer, index))
	}
	var answer drivers.Answer
	for _, test := range []struct {
		name string
		more int // requests for more
		run  func() (requests int, err error)
	}{
		{"batch", 0, func() (int, error) { return client.(drivers.Batcher).ReadBatch(t.Context(), keys, &answer) }},
		{"batch of one", 0, func() (int, error) { return client.(drivers.Batcher).ReadBatch(t.Context(), keys[:1], &answer) }},
		{"range", 0, func() (int, error) { return 1, client.(drivers.Ranger).Range(t.Context(), keys[0], 5, &answer) }},
		{"range of all", 0, func() (int, error) { return 1, client.(drivers.Ranger).Range(t.Context(), keys[0], rows, &answer) }},
		{"answers of all", 1, func() (int, error) { return mongodb.ReceiveAll(t.Context(), client, rows, &answer) }},
		{"answers of eight", 2, func() (int, error) { return mongodb.ReceiveAll(t.Context(), client, 8, &answer) }},
	} {
		answer.Reset()
		requests := 0
		got := seen.during(func() {
			var err error
			requests, err = test.run()
			drivertest.Must(t, err)
		})
		if got["find"] != 1 || got["getMore"] != test.more || requests != 1+test.more {
			t.Errorf("%s: %d requests by the driver, commands %v, want 1 find and %d getMore", test.name, requests, got, test.more)
		}
	}
}

package mariadb_test

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/process"
)

// Tier process says that what was acknowledged survives kill -9 of the server. So the server is killed in the middle of writes, and every row
// that was acknowledged must be there when it is started again.
func TestAcknowledgedRowsSurviveKill9(t *testing.T) {
	for _, tier := range []drivers.Tier{drivers.TierProcess, drivers.TierOS} {
		t.Run(string(tier), func(t *testing.T) {
			dir := directory(t)
			tune := func(o *process.Options) { o.Tier = tier }
			running := start(t, dir, tune)
			defer func() { drivertest.Must(t, process.Stop(context.Background(), dir, false)) }()
			config := small(t, 4, 2, func(c *drivers.Config) {
				c.Endpoint, c.Credentials, c.Tier = running.Endpoint, running.Credentials, tier
			})
			database := drivertest.Open(t, engine(t), config)
			drivertest.Must(t, database.Prepare(t.Context()))
			all := drivertest.Clients(t, database, config)

			workers := config.Clients * config.Threads
			acknowledged := make([]atomic.Int64, workers)
			var group sync.WaitGroup
			for worker := range workers {
				group.Go(func() {
					var key corpus.KeyBuffer
					var row corpus.Row
					for n := uint64(0); ; n++ {
						index := n*uint64(workers) + uint64(worker)
						config.Corpus.Row(&row, index, 0)
						if err := all[worker%len(all)].Create(t.Context(), config.Corpus.Key(&key, index), &row); err != nil {
							return
						}
						acknowledged[worker].Add(1)
					}
				})
			}
			time.Sleep(time.Second)
			drivertest.Must(t, syscall.Kill(running.PID, syscall.SIGKILL))
			group.Wait()

			again := start(t, dir, tune)
			if !again.Restarted || again.Endpoint != running.Endpoint {
				t.Fatalf("restarted %v at %s", again.Restarted, again.Endpoint)
			}
			client := drivertest.Clients(t, drivertest.Open(t, engine(t), config), config)[0]
			var key corpus.KeyBuffer
			var record drivers.Record
			rows := int64(0)
			for worker := range workers {
				n := acknowledged[worker].Load()
				rows += n
				for i := range uint64(n) {
					index := i*uint64(workers) + uint64(worker)
					if err := client.Read(t.Context(), config.Corpus.Key(&key, index), &record); err != nil {
						t.Fatalf("row %d was acknowledged and is lost: %v", index, err)
					}
				}
			}
			if rows == 0 {
				t.Error("nothing was written before the kill")
			}
			t.Logf("%d acknowledged rows survived", rows)
		})
	}
}

package surrealdb_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/ci"
)

// TestDurability kills servers of every kind of datastore and looks for the rows that they had acknowledged: what the tiers process and os promise
// is kept, and where tier none is declared nothing is promised. (That tier os flushes each commit is seen with strace; docs/engines.md has the
// command.)
func TestDurability(t *testing.T) {
	for _, test := range []struct {
		datastore string // with %s for a path
		tier      drivers.Tier
		option    string
	}{
		{"rocksdb://%s?sync=every", drivers.TierOS, "rocksdb://?sync=every"},
		{"rocksdb://%s?sync=never", drivers.TierProcess, "rocksdb://?sync=never"},
		{"surrealkv://%s?sync=every", drivers.TierOS, "surrealkv://?sync=every"},
		{"surrealkv://%s?sync=never", drivers.TierProcess, "surrealkv://?sync=never"},
		{"rocksdb://%s?sync=1h", drivers.TierNone, "rocksdb://?sync=1h"},
	} {
		t.Run(test.option, func(t *testing.T) {
			t.Parallel()
			const rows = 20
			datastore := fmt.Sprintf(test.datastore, filepath.Join(t.TempDir(), "records"))
			template, err := corpus.ParseTemplate(rowValue)
			drivertest.Must(t, err)
			c, err := corpus.New(7, template, corpus.KeyInteger, true)
			drivertest.Must(t, err)
			ctx := t.Context()
			connect := func(endpoint string) drivers.Database {
				database, err := engine(t).Open(ctx, drivers.Config{
					Endpoint: endpoint, Credentials: drivers.Credentials{User: "root", Password: "root"}, Clients: 1, Threads: 1, Corpus: c,
					Logger: slog.New(slog.DiscardHandler), Options: map[string]string{"datastore": test.option},
				})
				drivertest.Must(t, err)
				return database
			}
			first := command(t, datastore)
			database := connect(first.endpoint)
			drivertest.Must(t, database.Prepare(ctx))
			settings, err := database.Settings(ctx)
			drivertest.Must(t, err)
			drivertest.Must(t, settings.Require(test.tier))
			client, err := database.Client(ctx, 0)
			drivertest.Must(t, err)
			var key corpus.KeyBuffer
			var row corpus.Row
			for i := range uint64(rows) {
				c.Row(&row, i, 0)
				drivertest.Must(t, client.Create(ctx, c.Key(&key, i), &row))
			}
			first.kill()
			_ = client.Close() // its server is gone
			drivertest.Must(t, database.Close())

			database = connect(command(t, datastore).endpoint)
			kept, err := database.(drivers.Counter).Count(ctx)
			if test.tier == drivers.TierNone {
				if err == nil && kept == rows {
					t.Errorf("all %d rows are there: the tier could be a better one", kept)
				}
			} else if drivertest.Must(t, err); kept != rows {
				t.Errorf("%d rows of %d are left", kept, rows)
			}
			drivertest.Must(t, database.Close())
		})
	}
}

// relayed is a server that a test starts and kills by itself.
type relayed struct {
	endpoint string
	kill     func()
}

// command starts the engine behind the relay on a datastore.
func command(t *testing.T, datastore string) relayed {
	t.Helper()
	if _, err := os.Stat(filepath.Join(modules(), "node_modules")); err != nil {
		ci.Need(t, fmt.Errorf("run scripts/test-deps.sh: %w", err))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(t, err)
	address := listener.Addr().String()
	drivertest.Must(t, listener.Close())
	cmd := exec.Command("node", "testdata/relay/relay.mjs", "--modules", modules(), "start", "--bind", address, datastore)
	cmd.Env = append(os.Environ(), "SURREAL_USER=root", "SURREAL_PASS=root")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	drivertest.Must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	kill := func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	t.Cleanup(kill)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health", nil)
		drivertest.Must(t, err)
		if response, err := http.DefaultClient.Do(request); err == nil {
			drivertest.Must(t, response.Body.Close())
			return relayed{"ws://" + address, kill}
		}
		select {
		case <-ended:
			t.Fatalf("the relay ended: %s", said.String())
		case <-ctx.Done():
			t.Fatalf("the relay does not answer: %v", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

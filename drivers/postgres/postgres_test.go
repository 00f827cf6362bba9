package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/drivertest"
	_ "github.com/durabench/durabench/drivers/postgres"
	"github.com/durabench/durabench/infra/process"
)

// servers are the servers of this test binary, one per tier and profile, started when they are first asked for.
var servers struct {
	sync.Mutex
	byKey map[string]*process.Running
	dir   string
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, running := range servers.byKey {
		if err := process.Stop(context.Background(), running.Dir, false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if servers.dir != "" {
		_ = os.RemoveAll(servers.dir)
	}
	os.Exit(code)
}

func engine(tb testing.TB) drivers.Engine {
	tb.Helper()
	return drivertest.Engine(tb, "postgres")
}

// ready connects as a run does.
func ready(ctx context.Context, running *process.Running) error {
	config, err := pgconn.ParseConfig(running.Endpoint)
	if err != nil {
		return err
	}
	config.User, config.Password = running.Credentials.User, running.Credentials.Password
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// directory makes a directory that the account of a server may pass through, which it may not through those of testing.
func directory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "durabench-postgres-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// private starts a server for one test alone.
func private(tb testing.TB, change func(*process.Options)) *process.Running {
	tb.Helper()
	dir := directory(tb)
	tb.Cleanup(func() {
		if err := process.Stop(context.Background(), dir, false); err != nil {
			tb.Error(err)
		}
	})
	return start(tb, dir, change)
}

// start starts a server in a directory of its own, or skips the test where PostgreSQL is not installed on a developer's machine.
func start(tb testing.TB, dir string, change func(*process.Options)) *process.Running {
	tb.Helper()
	options := process.Options{
		Engine: "PostgreSQL", Server: engine(tb).Server, RunID: "test", Dir: dir, Tier: drivers.TierOS, Connections: 150, Ready: ready,
		Resources: drivers.Resources{MemoryBytes: 1 << 30, CPUs: 2},
	}
	if change != nil {
		change(&options)
	}
	return drivertest.Start(tb, options)
}

// server returns the shared server of a tier and profile.
func server(tb testing.TB, tier drivers.Tier, profile drivers.Profile) *process.Running {
	tb.Helper()
	return shared(tb, fmt.Sprintf("%s-%v", tier, profile.Optimised), func(o *process.Options) { o.Tier, o.Profile = tier, profile })
}

// searchServer returns the shared server that has pgvector.
func searchServer(tb testing.TB) *process.Running {
	tb.Helper()
	return shared(tb, "searches", func(o *process.Options) { o.Binary = drivertest.Trixie(tb, "postgres") })
}

// shared returns the server of that name, which is started when it is first asked for.
func shared(tb testing.TB, key string, change func(*process.Options)) *process.Running {
	tb.Helper()
	servers.Lock()
	defer servers.Unlock()
	if running := servers.byKey[key]; running != nil {
		return running
	}
	if servers.dir == "" {
		servers.dir, servers.byKey = directory(tb), make(map[string]*process.Running)
	}
	running := start(tb, servers.dir+"/"+key, change)
	servers.byKey[key] = running
	return running
}

func TestConformance(t *testing.T) {
	for _, connections := range []string{"thread", "client"} {
		t.Run(connections, func(t *testing.T) {
			conformance.Run(t, conformance.Harness{
				Engine: engine(t),
				Configure: func(t *testing.T, config *drivers.Config) {
					running := server(t, config.Tier, config.Profile)
					if config.Searches {
						running = searchServer(t)
					}
					config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
					if config.Options == nil {
						config.Options = map[string]string{"connections": connections}
					}
				},
				Refuses: hasNUL,

				RefusesSearch: refusesSearch,
				NoNUL:         "PostgreSQL's text and jsonb cannot hold the character NUL",
				Stall:         stall,
				Splits:        map[string]int{conformance.BatchUpdate: 1000},
			})
		})
	}
}

// stall locks the table from a connection of its own.
func stall(t *testing.T, config drivers.Config) (release func()) {
	conn := control(t, config)
	run(t, conn, "BEGIN; LOCK TABLE durabench.record IN ACCESS EXCLUSIVE MODE")
	return func() {
		run(t, conn, "ROLLBACK")
		_ = conn.Close(context.Background())
	}
}

// control opens a connection beside the driver's.
func control(tb testing.TB, config drivers.Config) *pgconn.PgConn {
	tb.Helper()
	parsed, err := pgconn.ParseConfig(config.Endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	parsed.User, parsed.Password = config.Credentials.User, config.Credentials.Password
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, parsed)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// run runs statements and returns the rows of the last one.
func run(tb testing.TB, conn *pgconn.PgConn, sql string) (rows [][]string) {
	tb.Helper()
	results, err := conn.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	for _, cells := range results[len(results)-1].Rows {
		row := []string{}
		for _, cell := range cells {
			row = append(row, string(cell))
		}
		rows = append(rows, row)
	}
	return rows
}

// hasNUL tells that a literal of the scan's condition has the character that PostgreSQL's texts cannot hold.
func hasNUL(s *query.Scan) bool { return s.Where != nil && nulIn(s.Where) }

func nulIn(p *query.Predicate) bool {
	return slices.ContainsFunc(p.Values, func(l query.Literal) bool { return strings.Contains(l.Text, "\x00") }) || slices.ContainsFunc(p.Args, nulIn)
}

// refusesSearch tells what pgvector lacks.
func refusesSearch(s *query.Search) bool {
	if s.Index == nil {
		return false
	}
	v := s.Index.Vector
	switch v.Strategy {
	case query.HNSW:
		return v.Quantisation == query.Int8
	case query.IVFFlat:
		return v.Metric == query.Manhattan || v.Quantisation == query.Bits || v.Quantisation == query.Int8 || s.Iterative == query.IterativeStrict
	}
	return true
}

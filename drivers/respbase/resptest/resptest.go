// Package resptest starts servers of the family for tests, and runs the conformance suite against them.
package resptest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/drivers/kvscan"
	"github.com/durabench/durabench/infra/process"
)

// Servers are the servers of a test binary, one per tier and profile, started when they are first asked for.
type Servers struct {
	Engine string // the name of the engine
	// Binary is started instead of the engine's own, for an engine whose server cannot be had: a relative that speaks the same protocol.
	Binary string
	// Setup changes how servers are started; it may skip the test. Nil for the engine's own way.
	Setup func(testing.TB, *process.Options)
	// Splits are the sizes at which batches are cut, as conformance.Harness has them.
	Splits map[string]int

	mu    sync.Mutex
	byKey map[string]*process.Running
	dir   string
}

// Main runs the tests and stops what they started.
func (s *Servers) Main(m *testing.M) (code int) { return max(m.Run(), s.Stop()) }

// Stop stops the servers and returns the exit code of a test binary: 0 when all could be stopped.
func (s *Servers) Stop() (code int) {
	for _, running := range s.byKey {
		if err := process.Stop(context.Background(), running.Dir, false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	return code
}

// Registered returns the engine.
func (s *Servers) Registered(tb testing.TB) drivers.Engine {
	tb.Helper()
	engine, found := drivers.Lookup(s.Engine)
	if !found {
		tb.Fatalf("%s is not registered", s.Engine)
	}
	return engine
}

// Start starts a server in a directory of its own, or skips the test where it is not installed on a developer's machine.
func (s *Servers) Start(tb testing.TB, dir string, change func(*process.Options)) *process.Running {
	tb.Helper()
	engine := s.Registered(tb)
	options := process.Options{
		Engine: engine.Title, Server: engine.Server, Binary: s.Binary, RunID: "test", Dir: dir, Tier: drivers.TierNone, Connections: 150,
		Resources: drivers.Resources{MemoryBytes: 1 << 30, CPUs: 4},
		Ready: func(ctx context.Context, running *process.Running) error {
			c, err := Connect(running.Endpoint, running.Credentials)
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Do(ctx, c.B().Ping().Build()).Error()
		},
	}
	if s.Setup != nil {
		s.Setup(tb, &options)
	}
	if change != nil {
		change(&options)
	}
	return drivertest.Start(tb, options)
}

// Of returns the shared server of a tier and profile.
func (s *Servers) Of(tb testing.TB, tier drivers.Tier, profile drivers.Profile) *process.Running {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s-%v", tier, profile.Optimised)
	if running := s.byKey[key]; running != nil {
		return running
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "durabench-"+s.Engine+"-")
		if err != nil {
			tb.Fatal(err)
		}
		s.dir, s.byKey = dir, make(map[string]*process.Running)
	}
	running := s.Start(tb, filepath.Join(s.dir, key), func(o *process.Options) { o.Tier, o.Profile = tier, profile })
	s.byKey[key] = running
	return running
}

// Config is a configuration on the shared server of tier none.
func (s *Servers) Config(tb testing.TB, clients, threads int, change func(*drivers.Config)) drivers.Config {
	tb.Helper()
	running := s.Of(tb, drivers.TierNone, drivers.Profile{})
	config := drivers.Config{Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: clients, Threads: threads, Tier: drivers.TierNone}
	return drivertest.Small(tb, config, change)
}

// Version is what the driver says of the shared server.
func (s *Servers) Version(tb testing.TB) string {
	tb.Helper()
	database, err := s.Registered(tb).Open(tb.Context(), s.Config(tb, 1, 1, nil))
	if err != nil {
		tb.Fatal(err)
	}
	defer database.Close()
	version, err := database.Version(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return version
}

// Conformance runs the suite with one way of pipelining; change, which may be nil, changes what it needs to know.
func (servers *Servers) Conformance(t *testing.T, pipelining string, change func(*conformance.Harness)) {
	harness := conformance.Harness{
		Engine: servers.Registered(t),
		Configure: func(t *testing.T, config *drivers.Config) {
			running := servers.Of(t, config.Tier, config.Profile)
			config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
			if config.Options == nil {
				config.Options = map[string]string{"pipelining": pipelining}
			}
		},
		Refuses: func(s *query.Scan) bool { return kvscan.Can("", s) != nil },
		Trees:   600, // conditions are evaluated in the agent, by the same code as the expected answers
		Stall:   stall,
		Splits:  servers.Splits,
	}
	if change != nil {
		change(&harness)
	}
	conformance.Run(t, harness)
}

// stall pauses all writes on the server.
func stall(t *testing.T, config drivers.Config) (release func()) {
	c := Control(t, config)
	Run(t, c, "CLIENT", "PAUSE", "60000", "WRITE")
	return func() {
		Run(t, c, "CLIENT", "UNPAUSE")
		c.Close()
	}
}

// Connect opens a connection beside any driver's.
func Connect(endpoint string, credentials drivers.Credentials) (rueidis.Client, error) {
	option, err := rueidis.ParseURL(endpoint)
	if err != nil {
		return nil, err
	}
	option.Username, option.Password = credentials.User, credentials.Password
	option.DisableCache, option.ForceSingleClient, option.PipelineMultiplex = true, true, -1
	return rueidis.NewClient(option)
}

// Control opens a connection beside the driver's.
func Control(tb testing.TB, config drivers.Config) rueidis.Client {
	tb.Helper()
	c, err := Connect(config.Endpoint, config.Credentials)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Run runs a command.
func Run(tb testing.TB, c rueidis.Client, words ...string) rueidis.RedisResult {
	tb.Helper()
	result := c.Do(context.Background(), c.B().Arbitrary(words...).Build())
	if err := result.Error(); err != nil && !rueidis.IsRedisNil(err) {
		tb.Fatalf("%v: %v", words, err)
	}
	return result
}

// StandIn returns the program, in the package's testdata, that takes the place of a server that cannot be had.
func StandIn(name string) string {
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		panic(err) // a test binary without a working directory
	}
	return path
}

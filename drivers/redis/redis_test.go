package redis_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	_ "github.com/durabench/durabench/drivers/redis"
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
	engine, found := drivers.Lookup("redis")
	if !found {
		tb.Fatal("redis is not registered")
	}
	return engine
}

// start starts a server in a directory of its own, or skips the test where Redis is not installed on a developer's machine.
func start(tb testing.TB, dir string, change func(*process.Options)) *process.Running {
	tb.Helper()
	options := process.Options{
		Engine: "Redis", Server: engine(tb).Server, RunID: "test", Dir: dir, Tier: drivers.TierNone, Connections: 150,
		Resources: drivers.Resources{MemoryBytes: 1 << 30, CPUs: 4},
		Ready: func(ctx context.Context, running *process.Running) error {
			c, err := connect(running.Endpoint, running.Credentials)
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Do(ctx, c.B().Ping().Build()).Error()
		},
	}
	if change != nil {
		change(&options)
	}
	running, err := process.Start(context.Background(), options)
	if errors.Is(err, process.ErrNotInstalled) && os.Getenv("CI") == "" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return running
}

// server returns the shared server of a tier and profile.
func server(tb testing.TB, tier drivers.Tier, profile drivers.Profile) *process.Running {
	tb.Helper()
	servers.Lock()
	defer servers.Unlock()
	key := fmt.Sprintf("%s-%v", tier, profile.Optimised)
	if running := servers.byKey[key]; running != nil {
		return running
	}
	if servers.dir == "" {
		dir, err := os.MkdirTemp("", "durabench-redis-")
		if err != nil {
			tb.Fatal(err)
		}
		servers.dir, servers.byKey = dir, make(map[string]*process.Running)
	}
	running := start(tb, servers.dir+"/"+key, func(o *process.Options) { o.Tier, o.Profile = tier, profile })
	servers.byKey[key] = running
	return running
}

func TestConformance(t *testing.T) {
	for _, pipelining := range []string{"auto", "off"} {
		t.Run(pipelining, func(t *testing.T) {
			conformance.Run(t, conformance.Harness{
				Engine: engine(t),
				Configure: func(t *testing.T, config *drivers.Config) {
					running := server(t, config.Tier, config.Profile)
					config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
					if config.Options == nil {
						config.Options = map[string]string{"pipelining": pipelining}
					}
				},
				Stall: stall,
			})
		})
	}
}

// stall pauses all writes on the server.
func stall(t *testing.T, config drivers.Config) (release func()) {
	c := control(t, config)
	run(t, c, "CLIENT", "PAUSE", "60000", "WRITE")
	return func() {
		run(t, c, "CLIENT", "UNPAUSE")
		c.Close()
	}
}

func connect(endpoint string, credentials drivers.Credentials) (rueidis.Client, error) {
	option, err := rueidis.ParseURL(endpoint)
	if err != nil {
		return nil, err
	}
	option.Username, option.Password = credentials.User, credentials.Password
	option.DisableCache, option.ForceSingleClient, option.PipelineMultiplex = true, true, -1
	return rueidis.NewClient(option)
}

// control opens a connection beside the driver's.
func control(tb testing.TB, config drivers.Config) rueidis.Client {
	tb.Helper()
	c, err := connect(config.Endpoint, config.Credentials)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// run runs a command.
func run(tb testing.TB, c rueidis.Client, words ...string) rueidis.RedisResult {
	tb.Helper()
	result := c.Do(context.Background(), c.B().Arbitrary(words...).Build())
	if err := result.Error(); err != nil && !rueidis.IsRedisNil(err) {
		tb.Fatalf("%v: %v", words, err)
	}
	return result
}

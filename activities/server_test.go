package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
)

// uninstalledEngine can be had as a server's process, a container or someone else's server, and nothing of it is on this machine.
const uninstalledEngine = "uninstalled"

func init() {
	base, ok := drivers.Lookup("map")
	if !ok {
		panic("the map engine is not registered")
	}
	base.Name, base.Title = uninstalledEngine, "Uninstalled"
	base.Modes = []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint}
	base.Connections = func(c drivers.Config) int { return c.Clients }
	base.Server = &drivers.Server{
		Binaries: []string{"no-such-server"}, Install: "install the uninstallable", Image: "none:1", Port: 1,
		Command:  func(l drivers.Launch) []string { return []string{l.Binary} },
		Endpoint: func(drivers.Launch) string { return "" },
	}
	drivers.Register(base)
}

func TestStartServer(t *testing.T) {
	for name, test := range map[string]struct {
		engine string
		change func(*spec.Spec)
		want   StartedServer
	}{
		"embedded":              {"map", nil, StartedServer{Mode: drivers.Embedded}},
		"endpoint by its place": {uninstalledEngine, func(s *spec.Spec) { s.Endpoint = "db:1" }, StartedServer{Mode: drivers.Endpoint, Endpoint: "db:1"}},
		"endpoint as asked": {uninstalledEngine, func(s *spec.Spec) { s.Server, s.Endpoint = "endpoint", "db:1" },
			StartedServer{Mode: drivers.Endpoint, Endpoint: "db:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.engine, test.change)
			started := b.start()
			require.Equal(t, test.want.Mode, started.Mode)
			require.Equal(t, test.want.Endpoint, started.Endpoint)
			_, err := do[any](b, (*Server)(nil).StopServer, StopServerInput{Run: b.run})
			require.NoError(t, err)
		})
	}
}

func TestStartServerRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*spec.Spec)
		kind, text string
	}{
		"nothing that works here":       {nil, TypeMissingBinary, "install the uninstallable"},
		"and every way says why":        {nil, TypeMissingBinary, "--server endpoint"},
		"an image that is not here":     {func(s *spec.Spec) { s.Server = "docker" }, TypeMissingBinary, "Uninstalled"},
		"a mode the engine has not":     {func(s *spec.Spec) { s.Server = "embedded" }, TypeSpec, "it has process, docker, endpoint"},
		"an engine that is not there":   {func(s *spec.Spec) { s.Database = "gone" }, TypeSpec, `"gone"`},
		"a durability that it has not":  {func(s *spec.Spec) { s.Server, s.Sync = "process", true }, TypeSpec, "durability"},
		"a server without its address":  {func(s *spec.Spec) { s.Server = "endpoint" }, TypeMissingBinary, "-e"},
		"a binary that is not anywhere": {func(s *spec.Spec) { s.Server = "process" }, TypeMissingBinary, "install"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, uninstalledEngine, func(s *spec.Spec) { s.Pull = "never" })
			if test.change != nil {
				test.change(&b.run.Spec)
			}
			_, err := do[StartedServer](b, (*Server)(nil).StartServer, b.run)
			requirePermanent(t, err, test.kind, test.text)
		})
	}
}

package dragonfly_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	_ "github.com/durabench/durabench/drivers/dragonfly"
	"github.com/durabench/durabench/drivers/respbase/resptest"
)

// No Dragonfly can be had for tests: Redis, whose protocol it speaks, stands in for it, behind a script that takes Dragonfly's flags. Redis would take
// larger batches than Dragonfly, which has up to 65,536 words in a command: one for its name, two for each row of a create, one for each key.
var servers = resptest.Servers{
	Engine: "dragonfly", Binary: resptest.StandIn("stand-in.sh"),
	Splits: map[string]int{conformance.BatchCreate: 32_767, conformance.BatchRead: 65_535, conformance.BatchDelete: 65_535},
}

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

func TestConformance(t *testing.T) { servers.Conformance(t, "auto", nil) }

func TestDurabilityIsRefused(t *testing.T) {
	for _, profile := range []drivers.Profile{{Sync: true}, {Persisted: true}} {
		if tier, err := servers.Registered(t).Tier(profile); err == nil || !strings.Contains(err.Error(), "no log of its writes") {
			t.Errorf("%+v: tier %q, %v", profile, tier, err)
		}
	}
}

func TestTheServerGetsFlagsWithoutThePasswordOnItsCommandLine(t *testing.T) {
	server := servers.Registered(t).Server
	l := drivers.Launch{Binary: "dragonfly", Dir: "/d", Data: "/d/data", Host: "127.0.0.1", Port: 7001, Password: "secret", Connections: 70_000}
	l.Settings = server.Settings(drivers.Profile{Optimised: true}, drivers.TierNone, drivers.Resources{CPUs: 16, MemoryBytes: 1 << 30})
	if command := server.Command(l); !slices.Equal(command, []string{"dragonfly", "--flagfile=/d/server.flags"}) {
		t.Errorf("command is %v", command)
	}
	flags := strings.Split(server.Files(l)["server.flags"], "\n")
	for _, want := range []string{
		"--bind=127.0.0.1", "--port=7001", "--requirepass=secret", "--dir=/d/data", "--dbfilename=", "--maxclients=70032",
		"--proactor_threads=3", // it wants 256 MiB for each, and three quarters of the memory are for it
		"--maxmemory=805306368",
	} {
		if !slices.Contains(flags, want) {
			t.Errorf("no %s in %q", want, flags)
		}
	}
	for _, s := range l.Settings {
		if s.Why == "" {
			t.Errorf("%s is set without a reason", s.Name)
		}
	}
}

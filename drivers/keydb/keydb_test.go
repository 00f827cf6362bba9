package keydb_test

import (
	"os"
	"strings"
	"testing"

	"github.com/durabench/durabench/drivers"
	_ "github.com/durabench/durabench/drivers/keydb"
	"github.com/durabench/durabench/drivers/respbase/resptest"
)

// No KeyDB can be had for tests: Redis, which it came from, stands in for it. It reads the same file but for what only KeyDB knows.
var servers = resptest.Servers{Engine: "keydb", Binary: resptest.StandIn("stand-in.sh")}

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

func TestConformance(t *testing.T) { servers.Conformance(t, "auto", nil) }

func TestARelativeIsNamed(t *testing.T) {
	if version := servers.Version(t); !strings.HasPrefix(version, "Redis ") {
		t.Errorf("version of a Redis is %q", version)
	}
}

func TestThreads(t *testing.T) {
	for _, test := range []struct {
		name      string
		optimised bool
		cpus      int
		want      string
	}{
		{"as the vendor ships it, whatever the host", false, 32, "2"},
		{"a small host still has the vendor's two", true, 2, "2"},
		{"half of the CPUs", true, 6, "3"},
		{"no more than the vendor recommends", true, 32, "4"},
	} {
		got := ""
		for _, s := range servers.Registered(t).Server.Settings(drivers.Profile{Optimised: test.optimised}, drivers.TierNone, drivers.Resources{CPUs: test.cpus}) {
			if s.Why == "" {
				t.Errorf("%s: %s is set without a reason", test.name, s.Name)
			}
			if s.Name == "server-threads" {
				got = s.Value
			}
		}
		if got != test.want {
			t.Errorf("%s: server-threads is %q, want %q", test.name, got, test.want)
		}
	}
}

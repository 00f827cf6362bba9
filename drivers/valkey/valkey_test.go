package valkey_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/durabench/durabench/drivers/respbase/resptest"
	_ "github.com/durabench/durabench/drivers/valkey"
)

var servers = resptest.Servers{Engine: "valkey"}

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

func TestConformance(t *testing.T) { servers.Conformance(t, "auto", nil) }

// Valkey tells a version of Redis too, 7.2.4, which is not its own.
func TestVersionIsItsOwn(t *testing.T) {
	if version := servers.Version(t); !regexp.MustCompile(`^(8|9)\.[0-9]+\.[0-9]+$`).MatchString(version) {
		t.Errorf("version is %q", version)
	}
}

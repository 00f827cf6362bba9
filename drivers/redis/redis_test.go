package redis_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/durabench/durabench/drivers/redis"
	"github.com/durabench/durabench/drivers/respbase/resptest"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/process"
)

var servers = resptest.Servers{Engine: "redis"}

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

func TestConformance(t *testing.T) {
	for _, pipelining := range []string{"auto", "off"} {
		t.Run(pipelining, func(t *testing.T) { servers.Conformance(t, pipelining) })
	}
}

func TestValkeyIsNotTakenForRedis(t *testing.T) {
	valkey, err := exec.LookPath("valkey-server")
	ci.Need(t, err)
	folder := t.TempDir()
	if err := os.Symlink(valkey, filepath.Join(folder, "redis-server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	server := *servers.Registered(t).Server
	server.Folders = nil
	if found, err := process.Installed(&server); !errors.Is(err, process.ErrNotInstalled) || !strings.Contains(err.Error(), "that is Valkey") || !strings.Contains(err.Error(), "-d valkey") {
		t.Errorf("found %q, %v", found, err)
	}
}

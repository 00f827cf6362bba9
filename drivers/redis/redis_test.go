package redis_test

import (
	"os"
	"testing"

	_ "github.com/durabench/durabench/drivers/redis"
	"github.com/durabench/durabench/drivers/respbase/resptest"
)

var servers = resptest.Servers{Engine: "redis"}

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

func TestConformance(t *testing.T) {
	for _, pipelining := range []string{"auto", "off"} {
		t.Run(pipelining, func(t *testing.T) { servers.Conformance(t, pipelining) })
	}
}

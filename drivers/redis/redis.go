// Package redis benchmarks Redis. All that it shares with its relatives is in drivers/respbase.
package redis

import (
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/respbase"
)

func init() {
	drivers.Register(respbase.Product{
		Name:  "redis",
		Title: "Redis",
		Modes: []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
		// Valkey where Redis is not: it serves the same protocol and reads the same file. The result names what answered.
		Server: respbase.Server([]string{"redis-server", "valkey-server"}, "install Redis: apt-get install redis-server, dnf install redis or brew install redis", "redis:8.0.3"),
	}.Engine())
}

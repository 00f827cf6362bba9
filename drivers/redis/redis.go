// Package redis benchmarks Redis. All that it shares with its relatives is in drivers/respbase.
package redis

import (
	"strings"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/respbase"
)

func init() {
	server := respbase.Server([]string{"redis-server"},
		"install Redis: apt-get install redis-server or brew install redis; where a system has Valkey in its place, measure that: -d valkey", "redis:8.0.3")
	server.Other, server.Command = other, modules(server.Command)
	drivers.Register(respbase.Product{
		Name:    "redis",
		Title:   "Redis",
		Modes:   []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
		Server:  server,
		Vectors: true,
	}.Engine())
}

// other tells of Valkey, which systems that replaced Redis by it let go by Redis's name.
func other(version string) string {
	if strings.HasPrefix(version, "Valkey ") {
		return "Valkey"
	}
	return ""
}

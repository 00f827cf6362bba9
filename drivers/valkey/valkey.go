// Package valkey benchmarks Valkey. All that it shares with its relatives is in drivers/respbase.
package valkey

import (
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/respbase"
)

func init() {
	drivers.Register(respbase.Product{
		Name:  "valkey",
		Title: "Valkey",
		Modes: []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
		Server: respbase.Server([]string{"valkey-server"},
			"install Valkey: apt-get install valkey-server (from Debian 13 and Ubuntu 24.04 on), dnf install valkey or brew install valkey", "valkey/valkey:8.1.4"),
	}.Engine())
}

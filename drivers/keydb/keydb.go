// Package keydb benchmarks KeyDB. All that it shares with its relatives is in drivers/respbase.
package keydb

import (
	"strconv"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/respbase"
)

func init() {
	server := respbase.Server([]string{"keydb-server"}, "install KeyDB: see docs.keydb.dev, or use its container image with --server docker", "eqalpha/keydb:x86_64_v6.3.4")
	server.Settings = settings
	drivers.Register(respbase.Product{
		Name:   "keydb",
		Title:  "KeyDB",
		Modes:  []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
		Server: server,
	}.Engine())
}

const (
	// usualThreads is what the vendor's configuration file sets, which its packages and its image start with; the program's own default is 1.
	usualThreads = 2
	// mostThreads is the most that the vendor recommends: the threads take turns at one lock.
	mostThreads = 4
)

// settings is the profile: what the tier asks for, and with --optimised what fits the host. All else is the vendor's default.
func settings(profile drivers.Profile, tier drivers.Tier, host drivers.Resources) []drivers.Setting {
	s := respbase.TierSettings(tier)
	threads := drivers.Setting{Name: "server-threads", Value: strconv.Itoa(usualThreads), Why: "as in the vendor's configuration file; without one it would be 1"}
	if !profile.Optimised {
		return append(s, threads)
	}
	threads.Value = strconv.Itoa(min(max(usualThreads, host.CPUs/2), mostThreads))
	threads.Why = "half of the CPUs, the other half are for the load; the vendor recommends no more than 4, as they take turns at one lock"
	s = append(s, threads,
		drivers.Setting{Name: "min-clients-per-thread", Value: "1", Why: "clients are spread over the threads from the first on; the default gives a thread 50 before the next gets any"})
	return append(s, respbase.MemorySettings(host)...)
}

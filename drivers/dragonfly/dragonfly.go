// Package dragonfly benchmarks Dragonfly. The driver is that of its relatives, drivers/respbase; its server is started with flags of its own.
package dragonfly

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/respbase"
)

const (
	flagFile = "server.flags"
	port     = 6379
	// vendorClients is the vendor's default of maxclients; extraClients are added to what a run needs.
	vendorClients, extraClients = 64_000, 32
	// threadBytes is the memory that the server asks for each of its threads, or it does not start.
	threadBytes = 256 << 20
)

func init() {
	drivers.Register(respbase.Product{
		Name:     "dragonfly",
		Title:    "Dragonfly",
		Modes:    []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
		InMemory: true,
		// Its default of max_multi_bulk_len.
		MostWords: 1 << 16,
		Server: &drivers.Server{
			Binaries: []string{"dragonfly", "dragonfly-x86_64", "dragonfly-aarch64"},
			Folders:  []string{"/usr/local/bin"},
			Install:  "install Dragonfly: see dragonflydb.io/docs, or use its container image with --server docker",
			Image:    "docker.dragonflydb.io/dragonflydb/dragonfly:v1.39.0",
			Port:     port,
			Command: func(l drivers.Launch) []string {
				return []string{l.Binary, "--flagfile=" + filepath.Join(l.Dir, flagFile)}
			},
			Files:    func(l drivers.Launch) map[string]string { return map[string]string{flagFile: flags(l)} },
			Settings: settings,
			Endpoint: func(l drivers.Launch) string {
				return "redis://" + net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) + "/0"
			},
			// Where it uses io_uring, it locks the memory of its queues.
			Limits: map[string]int64{"memlock": -1},
		},
	}.Engine())
}

// flags is the server's file of flags. The password is in it, and so on no command line.
func flags(l drivers.Launch) string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "--%s=%s\n", name, value) }
	set("bind", l.Host)
	set("port", strconv.Itoa(l.Port))
	set("requirepass", l.Password)
	set("dir", l.Data)
	set("logtostderr", "true")
	set("maxclients", strconv.Itoa(max(vendorClients, l.Connections+extraClients)))
	for _, s := range l.Settings {
		set(s.Name, s.Value)
	}
	return b.String()
}

// settings is the profile. There is no tier but none. All that is not set is the vendor's default: a thread for every CPU, no schedule of snapshots,
// and writes that are refused when memory is full.
func settings(profile drivers.Profile, _ drivers.Tier, host drivers.Resources) []drivers.Setting {
	s := []drivers.Setting{{Name: "dbfilename", Value: "", Why: "no snapshot when it stops: nobody would read it"}}
	if !profile.Optimised {
		return s
	}
	memory := host.MemoryBytes / 4 * 3
	threads := max(1, host.CPUs/2)
	if memory > 0 {
		threads = max(1, min(threads, int(memory/threadBytes)))
	}
	s = append(s, drivers.Setting{Name: "proactor_threads", Value: strconv.Itoa(threads), Why: "half of the CPUs; the other half are for the load"})
	if memory > 0 {
		s = append(s, drivers.Setting{Name: "maxmemory", Value: strconv.FormatInt(memory, 10), Why: "three quarters of the host's memory: past it writes are refused, before the host swaps"})
	}
	return append(s, drivers.Setting{Name: "cache_mode", Value: "false", Why: "no row is dropped silently"})
}

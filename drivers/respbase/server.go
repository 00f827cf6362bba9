package respbase

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/durabench/durabench/drivers"
)

const (
	configFile = "server.conf"
	// vendorClients is the vendor's default of maxclients; extraClients are added to what a run needs.
	vendorClients, extraClients = 10_000, 32
)

// Server describes how to run a server of the family that reads a configuration file of Redis's form.
func Server(binaries []string, install, image string) *drivers.Server {
	return &drivers.Server{
		Binaries: binaries,
		Folders:  []string{"/opt/homebrew/bin", "/usr/local/bin"},
		Install:  install,
		Image:    image,
		Port:     6379,
		Command:  func(l drivers.Launch) []string { return []string{l.Binary, filepath.Join(l.Dir, configFile)} },
		Files:    func(l drivers.Launch) map[string]string { return map[string]string{configFile: configuration(l)} },
		Settings: settings,
		Endpoint: func(l drivers.Launch) string {
			return "redis://" + net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) + "/0"
		},
	}
}

// configuration is the server's configuration file. The password is in it, and so on no command line.
func configuration(l drivers.Launch) string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "%s %s\n", name, value) }
	set("bind", l.Host)
	set("port", strconv.Itoa(l.Port))
	set("protected-mode", "yes")
	set("requirepass", strconv.Quote(l.Password))
	set("dir", strconv.Quote(l.Data))
	set("daemonize", "no")
	set("logfile", `""`)
	set("maxclients", strconv.Itoa(max(vendorClients, l.Connections+extraClients)))
	for _, s := range l.Settings {
		value := s.Value
		if value == "" {
			value = `""`
		}
		set(s.Name, value)
	}
	return b.String()
}

// settings is the profile: what the tier asks for, and with --optimised what fits the host. All else is the vendor's default.
func settings(profile drivers.Profile, tier drivers.Tier, host drivers.Resources) []drivers.Setting {
	s := TierSettings(tier)
	if !profile.Optimised {
		return s
	}
	if threads := min(host.CPUs/2, 8); threads > 1 {
		s = append(s, drivers.Setting{Name: "io-threads", Value: strconv.Itoa(threads), Why: "half of the CPUs read and write sockets; the other half are for the load"})
	}
	return append(s, MemorySettings(host)...)
}

// TierSettings are the settings of a server that logs commands as Redis does, for a tier.
func TierSettings(tier drivers.Tier) []drivers.Setting {
	s := []drivers.Setting{{Name: "save", Value: "", Why: "no snapshots: a fork in the middle of a leg would stand in its numbers, and no tier rests on them"}}
	switch tier {
	case drivers.TierOS:
		return append(s,
			drivers.Setting{Name: "appendonly", Value: "yes", Why: "tier os: commands are logged"},
			drivers.Setting{Name: "appendfsync", Value: "always", Why: "tier os: and flushed to the device before they are answered"})
	case drivers.TierProcess:
		return append(s,
			drivers.Setting{Name: "appendonly", Value: "yes", Why: "tier process: commands are logged, and handed to the operating system before they are answered"},
			drivers.Setting{Name: "appendfsync", Value: "no", Why: "tier process: it flushes when it likes; with everysec the handing over is put off during each flush"})
	}
	return append(s, drivers.Setting{Name: "appendonly", Value: "no", Why: "tier none: rows are in memory only"})
}

// MemorySettings bound the server's memory by the host's.
func MemorySettings(host drivers.Resources) (s []drivers.Setting) {
	if host.MemoryBytes > 0 {
		s = append(s, drivers.Setting{Name: "maxmemory", Value: strconv.FormatInt(host.MemoryBytes/4*3, 10), Why: "three quarters of the host's memory: past it writes are refused, before the host swaps"})
	}
	return append(s, drivers.Setting{Name: "maxmemory-policy", Value: "noeviction", Why: "no row is dropped silently"})
}

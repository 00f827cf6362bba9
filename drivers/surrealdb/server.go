package surrealdb

import (
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/durabench/durabench/drivers"
)

const (
	// serverUser is the root user of servers that we start.
	serverUser = "durabench"
	// environmentFile has the environment of a server that we start as a process, the password in it. importFile is run by the server as it
	// starts. Both are below the launch directory.
	environmentFile, importFile = "environment", "start.surql"
	// launchParameter is what the import file writes down, for Settings to read back.
	launchParameter = "durabench_launch"
	// settingDatastore is the setting that becomes the server's PATH argument; all others are its environment.
	settingDatastore = "datastore"
	settingRequests  = "SURREAL_WEBSOCKET_MAX_CONCURRENT_REQUESTS"
	// memory is the datastore of the vendor's default.
	memory = "memory"
	// launchRequests is how many requests of one connection a server that we start works on at once.
	launchRequests = 1024
)

var server = &drivers.Server{
	Binaries: []string{"surreal"},
	Folders:  []string{"/usr/local/bin", "/opt/homebrew/bin"},
	Install:  "install SurrealDB 3: brew install surrealdb/tap/surreal, or see surrealdb.com/install",
	Image:    "surrealdb/surrealdb:v3.0.5",
	Port:     8000,
	Command:  command,
	Files: func(l drivers.Launch) map[string]string {
		files := map[string]string{importFile: imported(l)}
		if !l.Container {
			files[environmentFile] = environment(l)
		}
		return files
	},
	Settings: settings,
	Endpoint: func(l drivers.Launch) string { return "ws://" + net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) },
	User:     serverUser,
	Env:      variables,
}

// command starts the server with the environment of its file, where the password is, and so on no command line. In a container the image's
// entrypoint is the binary, and the environment is the container's.
func command(l drivers.Launch) []string {
	start := []string{"start", "--no-banner", "--log", "warn", "--bind", net.JoinHostPort(l.Host, strconv.Itoa(l.Port)), "--import-file", path.Join(l.Dir, importFile), datastore(l)}
	if l.Container {
		return start
	}
	return append([]string{"/bin/sh", "-c", `set -a; . "$0"; set +a; exec "$@"`, path.Join(l.Dir, environmentFile), l.Binary}, start...)
}

// datastore is what the server keeps the data in, below its data directory.
func datastore(l drivers.Launch) string {
	for _, s := range l.Settings {
		scheme, query, persistent := strings.Cut(s.Value, "://?")
		if s.Name == settingDatastore && persistent {
			return scheme + "://" + path.Join(l.Data, "records") + "?" + query
		}
	}
	return memory
}

// variables are the server's environment.
func variables(l drivers.Launch) map[string]string {
	v := map[string]string{"SURREAL_USER": serverUser, "SURREAL_PASS": l.Password}
	for _, s := range l.Settings {
		if s.Name != settingDatastore {
			v[s.Name] = s.Value
		}
	}
	return v
}

// environment is the same as a file that a shell reads. The values need no quotes.
func environment(l drivers.Launch) string {
	var b strings.Builder
	v := variables(l)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		fmt.Fprintf(&b, "%s=%s\n", name, v[name])
	}
	return b.String()
}

// imported writes the launch's settings down in the database itself, because the server lets nobody read back what it was started with. It runs
// at every start.
func imported(l drivers.Launch) string {
	var members []string
	for _, s := range l.Settings {
		members = append(members, fmt.Sprintf("%s: '%s'", s.Name, s.Value))
	}
	return fmt.Sprintf("DEFINE NAMESPACE IF NOT EXISTS %[1]s;\nUSE NS %[1]s;\nDEFINE DATABASE IF NOT EXISTS %[1]s;\nUSE DB %[1]s;\n"+
		"DEFINE PARAM OVERWRITE $%s VALUE { %s };\n", space, launchParameter, strings.Join(members, ", "))
}

// settings is the profile: what the tier asks for, and with --optimised what fits the host. All else is the vendor's default.
func settings(profile drivers.Profile, tier drivers.Tier, host drivers.Resources) []drivers.Setting {
	s := []drivers.Setting{{
		Name: settingRequests, Value: strconv.Itoa(launchRequests),
		Why: fmt.Sprintf("of %d by default: requests of one connection that are worked on at once, so that no thread waits behind another", vendorRequests),
	}}
	switch tier {
	case drivers.TierOS:
		s = append(s, drivers.Setting{Name: settingDatastore, Value: "rocksdb://?sync=every", Why: "tier os: each commit is flushed to the device before it is acknowledged"})
	case drivers.TierProcess:
		s = append(s, drivers.Setting{Name: settingDatastore, Value: "rocksdb://?sync=never", Why: "tier process: each commit is handed to the operating system before it is acknowledged"})
	default:
		s = append(s, drivers.Setting{Name: settingDatastore, Value: memory, Why: "tier none: rows are in memory only, as the vendor starts it"})
	}
	if profile.Optimised && host.MemoryBytes > 0 && tier != drivers.TierNone {
		s = append(s, drivers.Setting{Name: "SURREAL_ROCKSDB_BLOCK_CACHE_SIZE", Value: strconv.FormatInt(host.MemoryBytes/2, 10), Why: "half of the host's memory holds blocks of the tables"})
	}
	return s
}

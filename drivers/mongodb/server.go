package mongodb

import (
	"fmt"
	"net"
	"path"
	"strconv"

	"github.com/durabench/durabench/drivers"
)

const (
	// serverUser is the account of servers that we start.
	serverUser = "durabench"
	// passwordFile is read by the image's entrypoint, below the launch directory.
	passwordFile = "root.password"
)

// server runs in a container only: outside of one, a fresh data directory has no account, and making one takes a server that runs without any first.
var server = &drivers.Server{
	Binaries: []string{"mongod"},
	Install:  "use --server docker, or -e with a server of your own",
	Image:    "mongo:8.0.15",
	Port:     27017,
	Command: func(l drivers.Launch) []string {
		command := []string{l.Binary, "--bind_ip", l.Host, "--port", strconv.Itoa(l.Port), "--dbpath", l.Data, "--auth"}
		for _, s := range l.Settings {
			command = append(command, "--"+s.Name, s.Value)
		}
		return command
	},
	Files: func(l drivers.Launch) map[string]string { return map[string]string{passwordFile: l.Password} },
	Settings: func(profile drivers.Profile, _ drivers.Tier, host drivers.Resources) []drivers.Setting {
		if !profile.Optimised || host.MemoryBytes <= 0 {
			return nil
		}
		// The tier is the write concern's, which belongs to the connections.
		gigabytes := float64(max(host.MemoryBytes*6/10, 1<<30)) / (1 << 30)
		return []drivers.Setting{{Name: "wiredTigerCacheSizeGB", Value: strconv.FormatFloat(gigabytes, 'f', 2, 64), Why: "six tenths of the host's memory; the rest is the page cache's"}}
	},
	Endpoint: func(l drivers.Launch) string {
		return fmt.Sprintf("mongodb://%s/%s?authSource=admin", net.JoinHostPort(l.Host, strconv.Itoa(l.Port)), defaultDatabase)
	},
	User: serverUser,
	Env: func(l drivers.Launch) map[string]string {
		return map[string]string{"MONGO_INITDB_ROOT_USERNAME": serverUser, "MONGO_INITDB_ROOT_PASSWORD_FILE": path.Join(l.Dir, passwordFile)}
	},
}

package postgres

import (
	"fmt"
	"net"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/durabench/durabench/drivers"
)

const (
	// serverUser is the superuser of servers that we start.
	serverUser = "durabench"
	// serverDatabase is there in every fresh cluster.
	serverDatabase = "postgres"
	// passwordFile is read by initdb, below the launch directory.
	passwordFile = "initdb.password"
	// vendorConnections is the vendor's default of max_connections; extraConnections are added to what a run needs: those reserved for
	// superusers, and ours to control.
	vendorConnections, extraConnections = 100, 20
	// longestSocket is the longest path of a directory for Unix-domain sockets: the whole path of a socket has at most 103 bytes on macOS.
	longestSocket = 103 - len("/.s.PGSQL.65535.lock")
)

// vectorImage is an image that has pgvector too.
const vectorImage = "pgvector/pgvector:0.8.1-pg17"

var server = &drivers.Server{
	Binaries: []string{"postgres"},
	Folders: []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	},
	Install:    "install PostgreSQL: apt-get install postgresql, dnf install postgresql-server or brew install postgresql@17",
	Image:      "postgres:17.6",
	Port:       5432,
	Init:       initCommand,
	Command:    serverCommand,
	Files:      func(l drivers.Launch) map[string]string { return map[string]string{passwordFile: l.Password + "\n"} },
	Settings:   serverSettings,
	Endpoint:   serverEndpoint,
	User:       serverUser,
	NotRoot:    true,
	StopSignal: int(syscall.SIGINT), // the fast shutdown; SIGTERM would wait for clients to leave
	Env:        containerEnvironment,

	SharedMemory: sharedMemory,
}

// initCommand makes a cluster. Encoding and locale are fixed, because initdb would take those of whoever starts it; checksums are as the
// vendor has them.
func initCommand(l drivers.Launch) []string {
	binary := l.Binary
	if real, err := filepath.EvalSymlinks(binary); err == nil {
		binary = real // where initdb is, too
	}
	return []string{
		filepath.Join(filepath.Dir(binary), "initdb"), "--pgdata=" + l.Data, "--username=" + serverUser, "--pwfile=" + filepath.Join(l.Dir, passwordFile),
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
	}
}

// containerEnvironment has the image's entrypoint make the cluster that initCommand makes.
func containerEnvironment(l drivers.Launch) map[string]string {
	return map[string]string{
		"POSTGRES_USER": serverUser, "POSTGRES_DB": serverDatabase, "POSTGRES_PASSWORD_FILE": path.Join(l.Dir, passwordFile),
		"POSTGRES_INITDB_ARGS": "--auth=scram-sha-256 --encoding=UTF8 --locale=C", "POSTGRES_HOST_AUTH_METHOD": "scram-sha-256", "PGDATA": l.Data,
	}
}

func serverCommand(l drivers.Launch) []string {
	command := []string{l.Binary, "-D", l.Data}
	set := func(name, value string) { command = append(command, "-c", name+"="+value) }
	set("listen_addresses", l.Host)
	set("port", strconv.Itoa(l.Port))
	if !l.Container { // there the entrypoint looks for the socket where the vendor has it
		sockets := l.Dir
		if len(sockets) > longestSocket {
			sockets = "" // TCP carries everything; the socket is for people
		}
		set("unix_socket_directories", sockets)
	}
	set("max_connections", strconv.Itoa(max(vendorConnections, l.Connections+extraConnections)))
	for _, s := range l.Settings {
		set(s.Name, s.Value)
	}
	return command
}

// sharedMemory bounds what parallel plans share, which is all that PostgreSQL has in /dev/shm (its cache is anonymous memory): each connection may
// run a hash join whose leader and two workers, the vendor's max_parallel_workers_per_gather, put work_mem × hash_mem_multiplier = 2 each into one
// table; and one parallel index build or vacuum takes maintenance_work_mem.
func sharedMemory(l drivers.Launch) int64 {
	const mb, least, processes, multiplier = int64(1) << 20, int64(256) << 20, 3, 2
	megabytes := map[string]int64{"work_mem": 4, "maintenance_work_mem": 64} // the vendor's defaults
	for _, s := range l.Settings {
		if n, err := strconv.ParseInt(strings.TrimSuffix(s.Value, "MB"), 10, 64); err == nil {
			megabytes[s.Name] = n
		}
	}
	return max(least, int64(l.Connections)*processes*multiplier*megabytes["work_mem"]*mb+megabytes["maintenance_work_mem"]*mb)
}

func serverEndpoint(l drivers.Launch) string {
	return fmt.Sprintf("postgres://%s/%s?sslmode=disable", net.JoinHostPort(l.Host, strconv.Itoa(l.Port)), serverDatabase)
}

// serverSettings is the profile: what the tier asks for, and with --optimised what fits the host. All else is the vendor's default.
func serverSettings(profile drivers.Profile, tier drivers.Tier, host drivers.Resources) []drivers.Setting {
	settings := tierSettings(tier)
	if profile.Optimised {
		settings = append(settings, optimised(host)...)
	}
	return settings
}

func tierSettings(tier drivers.Tier) []drivers.Setting {
	switch tier {
	case drivers.TierOS:
		return []drivers.Setting{
			{Name: "fsync", Value: "on", Why: "tier os: the log is flushed to the device"},
			{Name: "synchronous_commit", Value: "on", Why: "tier os: before the commit is acknowledged"},
			{Name: "full_page_writes", Value: "on", Why: "tier os: pages torn by a crash can be mended"},
		}
	case drivers.TierProcess:
		return []drivers.Setting{
			{Name: "fsync", Value: "off", Why: "tier process: the log is handed to the operating system, which flushes it when it likes"},
			{Name: "synchronous_commit", Value: "on", Why: "tier process: before the commit is acknowledged"},
		}
	case drivers.TierNone:
		return []drivers.Setting{
			{Name: "fsync", Value: "off", Why: "tier none: nothing waits for the device"},
			{Name: "synchronous_commit", Value: "off", Why: "tier none: a commit is acknowledged while its log is in the server's memory"},
		}
	}
	return nil
}

// optimised tunes for a host that the server has nearly for itself, by the usual rules: a quarter of the memory as the server's own cache, three
// quarters as what the planner counts on, and few checkpoints. Memory of single operations stays small enough for many connections.
func optimised(host drivers.Resources) []drivers.Setting {
	const mb, gb = int64(1) << 20, int64(1) << 30
	size := func(n int64) string { return strconv.FormatInt(n/mb, 10) + "MB" }
	memory := max(host.MemoryBytes, gb)
	maxWAL := min(max(memory/8, 2*gb), 16*gb)
	return []drivers.Setting{
		{Name: "shared_buffers", Value: size(memory / 4), Why: "a quarter of the host's memory"},
		{Name: "effective_cache_size", Value: size(memory * 3 / 4), Why: "three quarters of the host's memory hold pages, in one cache or the other"},
		{Name: "work_mem", Value: size(min(max(memory/1024, 4*mb), 64*mb)), Why: "sorts in memory, with room for many connections at once"},
		{Name: "maintenance_work_mem", Value: size(min(max(memory/16, 64*mb), 2*gb)), Why: "index builds in memory"},
		{Name: "wal_buffers", Value: "16MB", Why: "one segment of log, so that large transactions do not wait"},
		{Name: "max_wal_size", Value: size(maxWAL), Why: "checkpoints by time, not by volume"},
		{Name: "min_wal_size", Value: size(maxWAL / 4), Why: "segments are used again"},
		{Name: "checkpoint_timeout", Value: "15min", Why: "fewer checkpoints, so fewer whole pages in the log"},
		{Name: "checkpoint_completion_target", Value: "0.9", Why: "checkpoints are spread out"},
		{Name: "random_page_cost", Value: "1.1", Why: "solid-state disks seek for free"},
	}
}

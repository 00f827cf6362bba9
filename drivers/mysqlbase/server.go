package mysqlbase

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/durabench/durabench/drivers"
)

const (
	// serverUser is the account of servers that we start.
	serverUser = "durabench"
	// accountsFile makes our account, below the launch directory: the server reads it at each start before it listens. rootFile is the bare password of
	// root, which a container's entrypoint reads.
	accountsFile, rootFile = "accounts.sql", "root.password"
	socketFile             = "server.sock"
	// vendorConnections is the vendors' default of max_connections; extraConnections are added to what a run needs.
	vendorConnections, extraConnections = 151, 20
	// statementsPerConnection is how many prepared statements each connection may come to have; vendorStatements is the default in all.
	statementsPerConnection, vendorStatements = 64, 16382
	// minToken and maxToken are the lengths in characters of the words that full-text indexes keep on servers that we start: the longest is the vendors'.
	minToken, maxToken = 1, 84
)

// Server describes the server of a product: its binaries and image, how to install it, and the command that makes a fresh data directory.
func Server(binaries []string, install, image string, mariaDB bool) *drivers.Server {
	return &drivers.Server{
		Binaries: binaries,
		Folders:  []string{"/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/opt/homebrew/bin", "/usr/local/bin"},
		Other:    other(mariaDB),
		Install:  install,
		Image:    image,
		Port:     3306,
		Init: func(l drivers.Launch) []string {
			if mariaDB {
				command := []string{installer(l.Binary), "--no-defaults", "--datadir=" + l.Data, "--auth-root-authentication-method=normal", "--skip-test-db"}
				return append(command, elsewhere(l.Binary)...)
			}
			return []string{l.Binary, "--no-defaults", "--initialize-insecure", "--datadir=" + l.Data}
		},
		Command: func(l drivers.Launch) []string {
			command := serverCommand(l)
			if mariaDB && !l.Container {
				command = append(command, elsewhere(l.Binary)...)
			}
			if !mariaDB {
				// No second protocol on a port of its own, open to the network; and no directory of the package's for files that the server writes.
				command = append(command, "--loose-mysqlx=OFF", "--secure-file-priv=NULL")
			}
			return command
		},
		Files:    serverFiles,
		Settings: serverSettings(mariaDB),
		Endpoint: func(l drivers.Launch) string {
			return fmt.Sprintf("mysql://%s/%s", net.JoinHostPort(l.Host, strconv.Itoa(l.Port)), defaultDatabase)
		},
		User:    serverUser,
		NotRoot: true,
		Env: func(l drivers.Launch) map[string]string {
			prefix := "MYSQL_"
			if mariaDB {
				prefix = "MARIADB_"
			}
			return map[string]string{prefix + "ROOT_PASSWORD_FILE": filepath.Join(l.Dir, rootFile), prefix + "ROOT_HOST": "localhost"}
		},
	}
}

// other tells the two products' servers apart: MariaDB installs its own under the name of MySQL's too.
func other(mariaDB bool) func(version string) string {
	return func(version string) string {
		switch isMariaDB := strings.Contains(version, "MariaDB"); {
		case isMariaDB && !mariaDB:
			return "MariaDB"
		case !isMariaDB && mariaDB:
			return "MySQL"
		default:
			return ""
		}
	}
}

// elsewhere tells MariaDB's programs where their files are when the server was unpacked and not installed: they look where they were built for.
func elsewhere(binary string) []string {
	real, err := filepath.EvalSymlinks(binary)
	if err != nil {
		return nil
	}
	base := filepath.Dir(filepath.Dir(real))
	if _, err := os.Stat(filepath.Join(base, "share", "mariadb")); err != nil || base == "/usr" {
		return nil
	}
	return []string{"--basedir=" + base}
}

// installer is the program that makes MariaDB's system tables, wherever the server's binary lies.
func installer(binary string) string {
	if real, err := filepath.EvalSymlinks(binary); err == nil {
		binary = real
	}
	for _, place := range []string{filepath.Join(filepath.Dir(binary), "mariadb-install-db"), filepath.Join(filepath.Dir(binary), "../bin/mariadb-install-db")} {
		if found, err := filepath.EvalSymlinks(place); err == nil {
			return found
		}
	}
	return "mariadb-install-db"
}

// serverFiles has the SQL that makes our account and database. In a process it also closes the account that a fresh data directory leaves open; in a
// container the entrypoint needs that until it has closed it by itself. The password is of letters and digits.
func serverFiles(l drivers.Launch) map[string]string {
	sql := fmt.Sprintf("CREATE USER IF NOT EXISTS '%[1]s'@'%%' IDENTIFIED BY '%[2]s';\n"+
		"ALTER USER '%[1]s'@'%%' IDENTIFIED BY '%[2]s';\n"+
		"GRANT ALL ON *.* TO '%[1]s'@'%%' WITH GRANT OPTION;\n"+
		"CREATE DATABASE IF NOT EXISTS `%[3]s` CHARACTER SET utf8mb4;\n", serverUser, l.Password, defaultDatabase)
	if l.Container {
		return map[string]string{accountsFile: sql, rootFile: l.Password}
	}
	return map[string]string{accountsFile: sql + fmt.Sprintf("ALTER USER 'root'@'localhost' IDENTIFIED BY '%s';\n", l.Password)}
}

func serverCommand(l drivers.Launch) []string {
	command := []string{l.Binary}
	if !l.Container {
		command = append(command, "--no-defaults",
			// Below the data directory, by a path that is short wherever that is: a socket's path has little room.
			"--socket="+socketFile, "--pid-file="+filepath.Join(l.Dir, "server.pid"))
	}
	set := func(name, value string) { command = append(command, "--"+name+"="+value) }
	set("datadir", l.Data)
	set("init-file", filepath.Join(l.Dir, accountsFile))
	set("bind-address", l.Host)
	set("port", strconv.Itoa(l.Port))
	set("max-connections", strconv.Itoa(max(vendorConnections, l.Connections+extraConnections)))
	set("max-prepared-stmt-count", strconv.Itoa(max(vendorStatements, l.Connections*statementsPerConnection)))
	for _, s := range l.Settings {
		set(s.Name, s.Value)
	}
	return command
}

// serverSettings is the profile: what the tier and full-text search ask for, and with --optimised what fits the host. All else is the vendor's
// default.
func serverSettings(mariaDB bool) func(drivers.Profile, drivers.Tier, drivers.Resources) []drivers.Setting {
	return func(profile drivers.Profile, tier drivers.Tier, host drivers.Resources) []drivers.Setting {
		settings := append(tierSettings(tier), drivers.Setting{
			Name: "innodb_ft_min_token_size", Value: strconv.Itoa(minToken), Why: "full-text indexes keep every word, however short, so that their answers can be checked",
		})
		if profile.Optimised {
			settings = append(settings, optimised(mariaDB, host)...)
		}
		return settings
	}
}

func tierSettings(tier drivers.Tier) []drivers.Setting {
	const flush, doublewrite = "innodb_flush_log_at_trx_commit", "innodb_doublewrite"
	switch tier {
	case drivers.TierOS:
		return []drivers.Setting{
			{Name: flush, Value: "1", Why: "tier os: the log is flushed to the device before a commit is acknowledged"},
			{Name: doublewrite, Value: "ON", Why: "tier os: pages torn by a crash can be mended"},
			{Name: "sync_binlog", Value: "1", Why: "tier os: where there is a binary log, it is flushed as well"},
		}
	case drivers.TierProcess:
		return []drivers.Setting{
			{Name: flush, Value: "2", Why: "tier process: the log is handed to the operating system before a commit is acknowledged"},
			{Name: "sync_binlog", Value: "0", Why: "tier process: so is the binary log, where there is one"},
		}
	}
	return nil
}

// optimised tunes for a host that the server has nearly for itself, by the usual rules: half of the memory as the server's own cache, a log
// large enough that checkpoints do not press, and no second cache of the same pages in the operating system.
func optimised(mariaDB bool, host drivers.Resources) []drivers.Setting {
	const mb, gb = int64(1) << 20, int64(1) << 30
	size := func(n int64) string { return strconv.FormatInt(n/mb, 10) + "M" }
	memory := max(host.MemoryBytes, gb)
	log := drivers.Setting{Name: "innodb_redo_log_capacity", Why: "checkpoints by time, not by volume"}
	if mariaDB {
		log.Name = "innodb_log_file_size"
	}
	log.Value = size(min(max(memory/8, gb), 8*gb))
	settings := []drivers.Setting{
		{Name: "innodb_buffer_pool_size", Value: size(memory / 2), Why: "half of the host's memory"},
		log,
		{Name: "innodb_log_buffer_size", Value: "64M", Why: "large transactions do not wait for the log"},
		{Name: "innodb_flush_method", Value: "O_DIRECT", Why: "pages are not cached twice"},
		{Name: "innodb_io_capacity", Value: "2000", Why: "solid-state disks take more writes in the background than the default"},
		{Name: "innodb_io_capacity_max", Value: "4000", Why: "and more still when the server is behind"},
		{Name: "table_open_cache", Value: "4000", Why: "each connection has its own handle of the table"},
	}
	if mariaDB { // loose: servers before 11.7 do not know it
		settings = append(settings, drivers.Setting{Name: "loose-mhnsw_max_cache_size", Value: size(memory / 4), Why: "the graph of a vector index in memory: a quarter of the host's"})
	}
	return settings
}

package testimage

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const accounts = "root:x:0:0:root:/:/bin/sh\npostgres:x:999:999::/:/bin/sh\nredis:x:998:998::/:/bin/sh\nmysql:x:997:997::/:/bin/sh\n"
const groups = "root:x:0:\npostgres:x:999:\nredis:x:998:\nmysql:x:997:\n"

const redisEntrypoint = `#!/bin/sh
set -e
exec setpriv --reuid=redis --regid=redis --clear-groups "$@"
`

const postgresEntrypoint = `#!/bin/sh
set -e
if [ "$1" != postgres ]; then exec "$@"; fi
mkdir -p "$PGDATA" /var/run/postgresql
chown -R postgres:postgres "$PGDATA" /var/run/postgresql
chmod 700 "$PGDATA"
as="setpriv --reuid=postgres --regid=postgres --clear-groups"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	$as initdb -D "$PGDATA" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" $POSTGRES_INITDB_ARGS
	echo "host all all all $POSTGRES_HOST_AUTH_METHOD" >>"$PGDATA/pg_hba.conf"
	shift
	# Scripts of the user's run now, on a server that only the container can reach.
	$as pg_ctl -D "$PGDATA" -o "$* -c listen_addresses=''" -w start
	PGPASSWORD="$(cat "$POSTGRES_PASSWORD_FILE")" psql -U "$POSTGRES_USER" -d postgres -c 'CREATE TABLE entrypoint_was_here ()'
	$as pg_ctl -D "$PGDATA" -m fast -w stop
	set -- postgres "$@"
fi
exec $as "$@"
`

const mariaDBEntrypoint = `#!/bin/sh
set -e
if [ "$1" != mariadbd ]; then exec "$@"; fi
for argument; do case "$argument" in --datadir=*) data="${argument#--datadir=}" ;; esac; done
socket=/run/mysqld/mysqld.sock
mkdir -p "$data" /run/mysqld
chown -R mysql:mysql "$data" /run/mysqld
as="setpriv --reuid=mysql --regid=mysql --clear-groups"
if [ ! -d "$data/mysql" ]; then
	cd /usr/share/mysql
	{
		printf '%s\n' "CREATE DATABASE mysql;" "USE mysql;" "SET @auth_root_socket = NULL;"
		cat mysql_system_tables.sql mysql_performance_tables.sql mysql_system_tables_data.sql
	} | $as mariadbd --no-defaults --bootstrap --datadir="$data"
	# Root has no password yet: it is given one now, on a server that only the container can reach.
	$as "$@" --skip-networking &
	until mariadb -uroot -S $socket -e "SELECT 1" >/dev/null 2>&1; do sleep 0.2; done
	echo "CREATE DATABASE entrypoint_was_here; ALTER USER root@$MARIADB_ROOT_HOST IDENTIFIED BY '$(cat "$MARIADB_ROOT_PASSWORD_FILE")'" | mariadb -uroot -S $socket
	kill $!
	wait $!
	cd /
fi
exec $as "$@"
`

// RedisFiles returns the file system of an image of this machine's Redis as a tar archive. Such archives differ by a mark: of files that it has
// already, an engine pulls nothing.
func RedisFiles(mark string) ([]byte, error) {
	root := newRootfs(redisEntrypoint)
	root.write(tar.Header{Name: "mark", Mode: 0o644}, []byte(mark))
	server, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server is not installed: apt-get install redis-server: %w", err)
	}
	root.add(server, "/usr/bin/redis-server")
	return root.finish()
}

func postgresFiles() ([]byte, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_config")
	if len(found) == 0 {
		return nil, errors.New("PostgreSQL is not installed: apt-get install postgresql")
	}
	config := found[len(found)-1]
	root := newRootfs(postgresEntrypoint)
	for _, name := range []string{"postgres", "initdb", "pg_ctl", "psql"} {
		path := filepath.Join(filepath.Dir(config), name)
		root.add(path, path)
		root.link(path, "/usr/bin/"+name)
	}
	for _, tool := range []string{"/bin/mkdir", "/bin/chown", "/bin/chmod", "/bin/cat"} {
		root.add(tool, tool)
	}
	directories, err := exec.Command(config, "--pkglibdir", "--sharedir").Output()
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(string(directories))
	libraries, err := filepath.Glob(filepath.Join(lines[0], "*.so"))
	if err != nil {
		return nil, err
	}
	for _, path := range libraries {
		if strings.HasPrefix(filepath.Base(path), "llvm") {
			continue // and the compiler that it would bring
		}
		root.file(path, path)
	}
	root.libraries(filepath.Join(lines[0], "plpgsql.so"), filepath.Join(lines[0], "dict_snowball.so"))
	err = filepath.WalkDir(lines[1], func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			root.file(path, path)
		}
		return err
	})
	return must(root, err)
}

func mariaDBFiles() ([]byte, error) {
	root := newRootfs(mariaDBEntrypoint)
	for _, name := range []string{"mariadbd", "mariadb"} {
		path, err := exec.LookPath(name)
		if err != nil {
			path, err = exec.LookPath(filepath.Join("/usr/sbin", name))
		}
		if err != nil {
			return nil, fmt.Errorf("MariaDB is not installed: apt-get install mariadb-server: %w", err)
		}
		root.add(path, "/usr/bin/"+name)
	}
	for _, tool := range []string{"/bin/mkdir", "/bin/chown", "/bin/cat", "/bin/sleep"} {
		root.add(tool, tool)
	}
	const share = "/usr/share/mysql/"
	files := []string{share + "english/errmsg.sys"}
	for _, pattern := range []string{"*.sql", "charsets/*"} {
		found, err := filepath.Glob(share + pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	for _, path := range files {
		root.file(path, path)
	}
	return root.finish()
}

func must(root *rootfs, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return root.finish()
}

// rootfs is the file system of an image in the making, as a tar archive.
type rootfs struct {
	archive bytes.Buffer
	w       *tar.Writer
	has     map[string]bool
	err     error
}

// newRootfs has a shell, accounts and an entrypoint.
func newRootfs(entrypoint string) *rootfs {
	r := &rootfs{has: make(map[string]bool)}
	r.w = tar.NewWriter(&r.archive)
	r.write(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, nil)
	r.write(tar.Header{Name: "etc/passwd", Mode: 0o644}, []byte(accounts))
	r.write(tar.Header{Name: "etc/group", Mode: 0o644}, []byte(groups))
	r.write(tar.Header{Name: "entrypoint", Mode: 0o755}, []byte(entrypoint))
	r.add("/bin/sh", "/bin/sh")
	r.add("/usr/bin/setpriv", "/usr/bin/setpriv")
	return r
}

func (r *rootfs) write(header tar.Header, content []byte) {
	if r.err != nil || r.has[header.Name] {
		return
	}
	r.has[header.Name] = true
	header.Size = int64(len(content))
	if r.err = r.w.WriteHeader(&header); r.err == nil {
		_, r.err = r.w.Write(content)
	}
}

// add copies a program with the libraries that it needs.
func (r *rootfs) add(from, to string) {
	r.file(from, to)
	r.libraries(from)
}

// file copies what a path leads to.
func (r *rootfs) file(from, to string) {
	info, err := os.Stat(from)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	content, err := os.ReadFile(from)
	r.err = errors.Join(r.err, err)
	r.write(tar.Header{Name: strings.TrimPrefix(to, "/"), Mode: int64(info.Mode().Perm())}, content)
}

func (r *rootfs) link(to, at string) {
	r.write(tar.Header{Typeflag: tar.TypeSymlink, Name: strings.TrimPrefix(at, "/"), Linkname: to}, nil)
}

var libraryPath = regexp.MustCompile(`/[^ )]+`)

func (r *rootfs) libraries(of ...string) {
	for _, path := range of {
		listed, err := exec.Command("ldd", path).Output()
		if err != nil {
			r.err = errors.Join(r.err, fmt.Errorf("list the libraries of %s: %w", path, err))
			return
		}
		for _, library := range libraryPath.FindAllString(string(listed), -1) {
			r.file(library, library)
		}
	}
}

func (r *rootfs) finish() ([]byte, error) {
	return r.archive.Bytes(), errors.Join(r.err, r.w.Close())
}

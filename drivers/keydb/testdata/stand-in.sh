#!/bin/sh
# Redis in the place of KeyDB, which it is the origin of: the same file, without what only KeyDB knows.
set -eu
grep -vE '^(server-threads|min-clients-per-thread) ' "$1" >"$1.redis"
exec redis-server "$1.redis"

#!/bin/sh
# Redis in the place of Dragonfly: its flags become Redis's file, and those that Redis has no word for are left out.
set -eu
file=${1#--flagfile=}
sed -nE -e 's/^--(bind|port|requirepass|dir|maxclients|maxmemory)=(.*)$/\1 "\2"/p' "$file" >"$file.redis"
printf 'save ""\nappendonly no\n' >>"$file.redis"
exec redis-server "$file.redis"

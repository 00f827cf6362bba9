// Package all registers every engine: import it for its effect, in programs that are to know them all.
package all

import (
	_ "github.com/durabench/durabench/drivers/dragonfly"
	_ "github.com/durabench/durabench/drivers/dry"
	_ "github.com/durabench/durabench/drivers/keydb"
	_ "github.com/durabench/durabench/drivers/map"
	_ "github.com/durabench/durabench/drivers/mariadb"
	_ "github.com/durabench/durabench/drivers/mongodb"
	_ "github.com/durabench/durabench/drivers/mysql"
	_ "github.com/durabench/durabench/drivers/postgres"
	_ "github.com/durabench/durabench/drivers/redis"
	_ "github.com/durabench/durabench/drivers/sqlite"
	_ "github.com/durabench/durabench/drivers/surrealdb"
	_ "github.com/durabench/durabench/drivers/valkey"
)

// Package mariadb benchmarks MariaDB. All that it shares with MySQL is in drivers/mysqlbase.
package mariadb

import (
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/mysqlbase"
)

func init() {
	drivers.Register(mysqlbase.Product{
		Name:    "mariadb",
		Title:   "MariaDB",
		Modes:   []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
		MariaDB: true,
		Server: mysqlbase.Server([]string{"mariadbd"}, "install MariaDB: apt-get install mariadb-server, dnf install mariadb-server or brew install mariadb",
			"mariadb:11.8.5", true),
	}.Engine())
}

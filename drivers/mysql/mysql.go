// Package mysql benchmarks MySQL. All that it shares with MariaDB is in drivers/mysqlbase.
package mysql

import (
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/mysqlbase"
)

func init() {
	drivers.Register(mysqlbase.Product{
		Name:  "mysql",
		Title: "MySQL",
		Modes: []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
		Server: mysqlbase.Server([]string{"mysqld"}, "install MySQL: apt-get install mysql-server (from MySQL's own repository), dnf install mysql-server or brew install mysql",
			"mysql:8.4.7", false),
	}.Engine())
}

package mariadb_test

import (
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

const scannedRows = 10_000

// scanned is a table of such rows.
func scanned(b *testing.B) (drivers.Config, drivers.Client) {
	b.Helper()
	template, err := corpus.ParseTemplate(drivertest.WideRow)
	drivertest.Must(b, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(b, err)
	config := small(b, 1, 1, func(config *drivers.Config) { config.Corpus = c })
	database := drivertest.Open(b, engine(b), config)
	drivertest.Must(b, database.Prepare(b.Context()))
	client := drivertest.Clients(b, database, config)[0]
	drivertest.Must(b, drivers.LoadRows(b.Context(), client, c, 0, scannedRows, 0))
	return config, client
}

// BenchmarkScan receives all columns of all rows; it is to be seen against BenchmarkBareScan.
func BenchmarkScan(b *testing.B) {
	config, client := scanned(b)
	drivertest.BenchmarkFullScan(b, client, config.Corpus, scannedRows)
}

// BenchmarkBareScan is the same by the library that speaks the protocol, with nothing around it: a prepared statement whose rows are received and forgotten.
func BenchmarkBareScan(b *testing.B) {
	config, _ := scanned(b)
	address, database, _ := strings.Cut(strings.TrimPrefix(config.Endpoint, "mysql://"), "/")
	library := mysql.NewConfig()
	library.Net, library.Addr, library.DBName = "tcp", address, database
	library.User, library.Passwd = config.Credentials.User, config.Credentials.Password
	connector, err := mysql.NewConnector(library)
	drivertest.Must(b, err)
	conn, err := connector.Connect(b.Context())
	drivertest.Must(b, err)
	defer conn.Close()
	statement, err := conn.Prepare("SELECT * FROM record")
	drivertest.Must(b, err)
	drivertest.BenchmarkRows(b, scannedRows, func() (n int64) {
		//lint:ignore SA1019 as the driver does it
		rows, err := statement.Query(nil)
		drivertest.Must(b, err)
		cells := make([]driver.Value, len(rows.Columns()))
		for err = rows.Next(cells); err == nil; err = rows.Next(cells) {
			n++
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		drivertest.Must(b, rows.Close())
		return n
	})
}

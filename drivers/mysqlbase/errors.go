package mysqlbase

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/durabench/durabench/drivers"
)

// Error numbers of the servers, the same in both branches.
const (
	errorDuplicate      = 1062
	errorAccess         = 1045 // wrong user or password
	errorDatabaseAccess = 1044
	errorNoDatabase     = 1049
	errorConnections    = 1040
)

// classify gives an error its class.
func classify(err error) error {
	var refusal *mysql.MySQLError
	switch {
	case errors.As(err, &refusal):
		switch refusal.Number {
		case 1205, 1213, 1020, 3572: // lock wait timeout, deadlock, record has changed since the last read, lock not available (NOWAIT)
			return drivers.Classify(drivers.ClassConflict, err)
		case 3024, 1969, 1317: // execution time exceeded (MySQL, MariaDB), query interrupted
			return drivers.Classify(drivers.ClassTimeout, err)
		case errorConnections, 1203, 1226, 1053, 1927, 4031, 1158, 1159, 1160, 1161: // too many connections, shutdown, killed, idle, network
			return drivers.Classify(drivers.ClassConnection, err)
		}
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn):
		return drivers.Classify(drivers.ClassConnection, err)
	}
	return err
}

// numberOf returns the number of an error from the server; 0 for others.
func numberOf(err error) uint16 {
	var refusal *mysql.MySQLError
	if errors.As(err, &refusal) {
		return refusal.Number
	}
	return 0
}

// explain says where a connection was tried, what came back and what to do. No credentials are in it.
func (d *database) explain(err error) error {
	advice := ""
	switch number := numberOf(err); {
	case number == errorAccess:
		advice = "; check the user and the password, and from where the user may connect"
	case number == errorDatabaseAccess, number == errorNoDatabase:
		advice = fmt.Sprintf("; make the database %s and let the user have it, or name another one in the endpoint", d.endpoint.database)
	case number == errorConnections:
		advice = "; raise max_connections, or use fewer clients or threads"
	case drivers.ErrorClassOf(err) == drivers.ClassConnection:
		advice = "; check that the server runs and listens there"
	case drivers.ErrorClassOf(err) == drivers.ClassTimeout:
		advice = "; check the address, and that no firewall drops the packets"
	}
	return fmt.Errorf("connect to %s at %s (user %q): %w%s", d.product.Title, d.endpoint.address, d.endpoint.user, classify(err), advice)
}
